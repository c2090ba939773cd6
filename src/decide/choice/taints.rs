//! The taints a command proposes, from its arguments or by default, and warnings about them.

use jiff::Timestamp;

use super::arguments::{Choice, ChoiceBasis, wrong_name};
use crate::engine::ProposedTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, Snapshot, Warning, in_group};
use crate::naming::taint;

/// The taint that is assumed when none is named.
const DEFAULT_TAINT: &str = in_group!("preview:NoExecute");

impl Choice {
    /// The taints that this means in `snapshot` at `now`. `manifests` are what stands in the files, and
    /// `rule` finds the rule of a name.
    ///
    /// # Errors
    ///
    /// When `rule` does not find one.
    pub fn proposed<'a>(
        &self,
        manifests: &[DeviceTaintRule],
        rule: impl Fn(&str) -> Result<&'a DeviceTaintRule, Failure>,
        snapshot: &Snapshot,
        now: Timestamp,
    ) -> Result<Vec<ProposedTaint>, Failure> {
        match &self.by {
            // No taint would mean that no pod is evicted, which was not checked.
            ChoiceBasis::Selectors(_) if self.needs_cluster() => Err(Failure::new(
                ExitStatus::Failed,
                "internal error, please report it: the devices that the command line selects were not determined",
            )),
            ChoiceBasis::Selectors(selectors) => {
                let taint = match &self.taint {
                    Some(taint) => taint.clone(),
                    None => taint::parse(DEFAULT_TAINT).map_err(wrong_name)?,
                };
                let selectors = selectors.iter().cloned();
                Ok(ProposedTaint::hypothetical_for(selectors, &taint, now))
            }
            ChoiceBasis::Rules(names) => names
                .iter()
                .map(|name| Ok(ProposedTaint::of_rule(rule(name)?, now)))
                .collect(),
            ChoiceBasis::Manifests(_) => Ok(manifests
                .iter()
                .map(|rule| ProposedTaint::of_manifest(rule, snapshot, now))
                .collect()),
        }
    }

    /// Warning about an assumed taint, or about one whose effect does nothing by itself.
    #[must_use]
    pub fn warning(&self, proposed: &[ProposedTaint]) -> Option<Warning> {
        if let (ChoiceBasis::Selectors(_), None) = (&self.by, &self.taint) {
            return Some(unnamed());
        }
        let mut effects = proposed.iter().map(|proposed| &proposed.taint.effect);
        effects
            .any(|effect| *effect == Effect::None)
            .then(looked_at_as_no_execute)
    }
}

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
        return Err(failure.hint("set a driver, a pool or a device in spec.deviceSelector"));
    }
    Ok(())
}

/// No taint was named, so that only blanket tolerations can cover it.
fn unnamed() -> Warning {
    Warning {
        code: "unnamed-taint",
        message: "no taint specified: this command assumes a taint that only wildcard tolerations \
            match"
            .to_owned(),
        fix: Some(
            "specify the taint, so that pods that tolerate it are not counted as evicted"
                .to_owned(),
        ),
    }
}

/// The controller previews effect None as NoExecute, and so does this plugin.
fn looked_at_as_no_execute() -> Warning {
    Warning {
        code: "previewed-as-no-execute",
        message:
            "a rule with effect None, or without an effect, evicts no pods; the pods shown are those \
            that the rule would evict with effect NoExecute"
                .to_owned(),
        fix: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::model::{DeviceSelector, RuleMetadata};
    use crate::naming::device;

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
