//! No text that is given as an expression makes the program panic, hang or take all memory.
//!
//! `corpus/expression` is where it begins; `expression::tests` runs a bounded part of it.

#![no_main]

use kubectl_devicetaint::engine::expression::DeviceExpression;
use kubectl_devicetaint::model::{AttributeValue, Device};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(expression) = DeviceExpression::compile(text) else {
        return;
    };
    let attributes = [
        ("model", AttributeValue::String("H100".into())),
        ("index", AttributeValue::Int(3)),
        ("firmware", AttributeValue::Version("580.12.0".into())),
        ("sizes", AttributeValue::Ints(vec![3, 1, 2])),
    ];
    let device = Device {
        name: "gpu-0".into(),
        node: None,
        taints: Vec::new(),
        attributes: attributes
            .map(|(name, value)| (name.into(), value))
            .into_iter()
            .collect(),
        capacity: [("memory".into(), "80Gi".into())].into_iter().collect(),
        terms: None,
        allow_multiple_allocations: false,
    };
    let _ = expression.matches(&"gpu.example.com".into(), &device);
});
