//! Refusal of selectors that match every device.

use crate::error::Failure;
use crate::model::DeviceTaintRule;

/// Refuses a manifest that taints every device.
///
/// # Errors
///
/// When one of `manifests` is such a one.
pub fn refuse_wide(manifests: &[DeviceTaintRule]) -> Result<(), Failure> {
    for manifest in manifests {
        let problem = match &manifest.selector {
            // Schedulers up to 1.37.0 take a missing selector for every device, and eviction controllers for
            // none.
            None => "has no spec.deviceSelector",
            Some(selector) if selector.selects_every_device() => {
                "sets no driver, pool or device in spec.deviceSelector: it would taint every device"
            }
            Some(_) => continue,
        };
        let failure = Failure::usage(format!("rule {} {problem}", manifest.name));
        return Err(failure
            .hint("set a driver, a pool or a device in spec.deviceSelector")
            .hint("to preview a taint on every device: --all-devices"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceSelector, RuleMetadata};
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
        let unknown = DeviceSelector {
            unknown_fields: vec!["deviceClassName".to_owned()],
            ..DeviceSelector::default()
        };
        let named = device::parse("gpu.example.com").unwrap();
        for (name, selector, refused) in [
            ("none", None, true),
            ("empty", Some(DeviceSelector::default()), true),
            ("an unknown field alone", Some(unknown), true),
            ("a driver", Some(named), false),
        ] {
            let outcome = refuse_wide(&[manifest(selector)]);
            assert_eq!(outcome.is_err(), refused, "{name}");
        }
    }
}
