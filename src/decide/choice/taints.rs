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

    /// Warning about an assumed taint, or about one whose effect does nothing by itself: that of the
    /// command line, of the rules that it names, or of `manifests`.
    pub fn warning(&self, manifests: &[DeviceTaintRule], snapshot: &Snapshot) -> Option<Warning> {
        let has_no_effect = |rule: &DeviceTaintRule| rule.taint.effect == Effect::None;
        let found = match (&self.by, &self.taint) {
            (ChoiceBasis::Selectors(_), None) => return Some(unnamed()),
            (ChoiceBasis::Selectors(_), Some(taint)) => taint.effect == Effect::None,
            (ChoiceBasis::Rules(names), _) => {
                let mut rules = snapshot.rules.iter();
                rules.any(|rule| {
                    names.iter().any(|name| *name == *rule.name.as_str()) && has_no_effect(rule)
                })
            }
            (ChoiceBasis::Manifests(_), _) => manifests.iter().any(has_no_effect),
        };
        found.then(looked_at_as_no_execute)
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

    fn manifest(selector: Option<DeviceSelector>, effect: &str) -> DeviceTaintRule {
        DeviceTaintRule {
            name: "drain".into(),
            uid: "".into(),
            resource_version: "".into(),
            generation: 0,
            selector,
            taint: taint::parse(&format!("a.b/k:{effect}")).unwrap(),
            condition: None,
            metadata: RuleMetadata::default(),
            managers: Vec::new(),
        }
    }

    #[test]
    fn taint_that_is_assumed_and_effect_none_have_a_warning() {
        let selectors = vec![device::parse("gpu.example.com").unwrap()];
        let of_taint = |text: Option<&str>| {
            let taint = text.map(|text| taint::parse(text).unwrap());
            Choice::of_selectors(selectors.clone(), taint)
        };
        let rule = |effect: &str| manifest(None, effect);
        let by = |by: ChoiceBasis| Choice {
            by,
            ..of_taint(None)
        };
        let code = |choice: &Choice, effect: &str| {
            let snapshot = Snapshot {
                rules: vec![rule(effect)],
                ..Snapshot::default()
            };
            let warning = choice.warning(&[rule(effect)], &snapshot);
            warning.map(|warning| warning.code)
        };
        let none = Some("previewed-as-no-execute");
        assert_eq!(code(&of_taint(None), "NoExecute"), Some("unnamed-taint"));
        assert_eq!(code(&of_taint(Some("a.b/k:None")), "NoExecute"), none);
        assert_eq!(code(&of_taint(Some("a.b/k:NoExecute")), "None"), None);
        for choice in [
            by(ChoiceBasis::Rules(vec!["drain".to_owned()])),
            by(ChoiceBasis::Manifests(vec!["-".into()])),
        ] {
            assert_eq!(code(&choice, "None"), none);
            assert_eq!(code(&choice, "NoExecute"), None);
        }
        let other = by(ChoiceBasis::Rules(vec!["other".to_owned()]));
        assert_eq!(code(&other, "None"), None);
    }

    #[test]
    fn a_manifest_for_every_device_is_refused() {
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
            let outcome = refuse_wide(&[manifest(selector, "NoExecute")]);
            assert_eq!(outcome.is_err(), refused, "{name}");
        }
    }
}
