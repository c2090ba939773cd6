//! Refusal of selectors that match every device.

use crate::engine::Semantics;
use crate::error::Failure;
use crate::model::DeviceTaintRule;

/// A manifest that taints every device, or would on a server that drops fields it does not know.
///
/// # Errors
///
/// When one of `manifests` is such a one.
pub fn refuse_wide(manifests: &[DeviceTaintRule], semantics: &Semantics) -> Result<(), Failure> {
    for manifest in manifests {
        // Schedulers up to 1.37.0 take a missing selector for every device, and eviction controllers since
        // 1.35 for none.
        let Some(selector) = &manifest.selector else {
            return Err(wide(manifest, "has no spec.deviceSelector"));
        };
        let by_name =
            selector.driver.is_some() || selector.pool.is_some() || selector.device.is_some();
        let narrowed = selector.is_narrowed();
        if by_name || (narrowed && semantics.selects_by_expression) {
            continue;
        }
        return Err(wide(
            manifest,
            if narrowed {
                "selects only by the fields deviceClassName or selectors, which Kubernetes 1.35 \
                and later drop: the rule would taint every device"
            } else {
                "has an empty spec.deviceSelector: it would taint every device"
            },
        ));
    }
    Ok(())
}

/// A manifest that taints every device, for what is the `problem` with it.
#[must_use]
pub fn wide(manifest: &DeviceTaintRule, problem: &str) -> Failure {
    Failure::usage(format!("rule {} {problem}", manifest.name))
        .hint("set a driver, a pool or a device in spec.deviceSelector")
        .hint("to preview a taint on every device: --all-devices")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceSelector, Minor, RuleMetadata};
    use crate::naming::{device, taint};

    #[test]
    fn a_manifest_for_every_device_is_refused() {
        let manifest = |selector: Option<DeviceSelector>| DeviceTaintRule {
            name: "wide".into(),
            uid: "".into(),
            resource_version: "".into(),
            generation: 0,
            selector,
            taint: taint::parse("example.com/k:NoExecute").unwrap(),
            condition: None,
            metadata: RuleMetadata::default(),
            managers: Vec::new(),
        };
        let by_class = DeviceSelector {
            device_class: Some("gpu".into()),
            ..DeviceSelector::default()
        };
        let by_expression = DeviceSelector {
            expressions: vec!["true".to_owned()],
            ..DeviceSelector::default()
        };
        for (name, selector, minor, refused) in [
            (
                "an expression that narrows",
                Some(by_expression.clone()),
                34,
                false,
            ),
            (
                "an expression that is dropped",
                Some(by_expression),
                35,
                true,
            ),
            ("none", None, 37, true),
            ("empty", Some(DeviceSelector::default()), 37, true),
            ("a class that is dropped", Some(by_class.clone()), 35, true),
            ("a class that narrows", Some(by_class), 34, false),
            (
                "a driver",
                Some(device::parse("gpu.example.com").unwrap()),
                37,
                false,
            ),
        ] {
            let semantics = Semantics::of(Minor { minor, patch: None }).unwrap();
            let outcome = refuse_wide(&[manifest(selector)], &semantics);
            assert_eq!(outcome.is_err(), refused, "{name}");
        }
    }
}
