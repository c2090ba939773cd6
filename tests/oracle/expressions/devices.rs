//! Devices for expressions, for both sides.

use kubectl_devicetaint::model::{AttributeValue, Device, DeviceName, DriverName};
use serde_json::{Value, json};

/// A device, as the oracle and as the engine take it.
pub struct Subject {
    pub driver: DriverName,
    pub device: Device,
    /// As it is written.
    pub object: Value,
    /// True if lists may be attributes, which takes a feature gate.
    pub lists: bool,
}

/// All devices.
pub fn subjects() -> Vec<Subject> {
    let files = [
        include_str!("../../../crates/engine/tests/data/cel/devices.json"),
        include_str!("../../../crates/engine/tests/data/cel/more-devices.json"),
    ];
    let mut subjects = Vec::new();
    for file in files {
        let devices: Value = serde_json::from_str(file).expect("JSON");
        for (name, device) in devices.as_object().expect("an object") {
            subjects.push(subject(name, device));
        }
    }
    subjects
}

fn subject(name: &str, written: &Value) -> Subject {
    let entries = |field: &str| written[field].as_object().into_iter().flatten();
    let attributes =
        entries("attributes").map(|(name, value)| (name.as_str().into(), attribute(value)));
    let capacity = entries("capacity").map(|(name, capacity)| {
        let value = capacity["value"].as_str().expect("a quantity");
        (name.as_str().into(), value.into())
    });
    let driver = written["driver"].as_str().expect("a driver");
    let mut object = written.clone();
    let fields = object.as_object_mut().expect("an object");
    fields.remove("driver");
    fields.insert("name".to_owned(), json!(name));
    Subject {
        driver: driver.into(),
        lists: name == "lists",
        device: Device {
            name: DeviceName::from(name),
            attributes: attributes.collect(),
            capacity: capacity.collect(),
            allow_multiple_allocations: written["allowMultipleAllocations"] == json!(true),
            ..bare()
        },
        object,
    }
}

fn bare() -> Device {
    Device {
        name: "bare".into(),
        attributes: Default::default(),
        capacity: Default::default(),
        ..Device::default()
    }
}

fn attribute(written: &Value) -> AttributeValue {
    let (kind, value) = written
        .as_object()
        .expect("an object")
        .iter()
        .next()
        .expect("a value");
    let text = |value: &Value| value.as_str().expect("a text").into();
    let all = |value: &Value| value.as_array().expect("a list").clone();
    match kind.as_str() {
        "int" => AttributeValue::Int(value.as_i64().expect("a number")),
        "bool" => AttributeValue::Bool(value == &json!(true)),
        "string" => AttributeValue::String(text(value)),
        "version" => AttributeValue::Version(text(value)),
        "ints" => {
            let numbers = all(value)
                .into_iter()
                .map(|number| number.as_i64().expect("a number"));
            AttributeValue::Ints(numbers.collect())
        }
        "bools" => AttributeValue::Bools(
            all(value)
                .iter()
                .map(|value| value == &json!(true))
                .collect(),
        ),
        "strings" => AttributeValue::Strings(all(value).iter().map(text).collect()),
        "versions" => AttributeValue::Versions(all(value).iter().map(text).collect()),
        other => panic!("no type of attributes: {other}"),
    }
}
