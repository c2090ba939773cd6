//! The taints a command proposes, from its arguments or by default, and warnings about them.

use jiff::Timestamp;

use super::misspelt_name::wrong_name;
use super::parse::{Choice, ChoiceBasis};
use crate::engine::ProposedTaint;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, Snapshot, Warning, in_group};
use crate::naming::taint;

/// The taint that is looked at when nobody has named one.
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
            ChoiceBasis::Selectors(selectors) => {
                let taint = match &self.taint {
                    Some(taint) => taint.clone(),
                    None => taint::parse(DEFAULT_TAINT).map_err(wrong_name)?,
                };
                let selectors = selectors.iter().cloned();
                Ok(ProposedTaint::hypothetical_for(selectors, &taint, now))
            }
            // No taint would mean that no pod is hit, which nobody has looked at.
            ChoiceBasis::Filtered(..) => Err(Failure::new(
                ExitStatus::Failed,
                "internal error, please report it: the devices that the command line selects were not determined",
            )),
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

    /// What to know about how this is looked at: a taint that nobody has named, or whose effect does
    /// nothing by itself.
    #[must_use]
    pub fn warning(&self) -> Option<Warning> {
        match (&self.by, &self.taint) {
            (ChoiceBasis::Selectors(_), None) => Some(unnamed()),
            (ChoiceBasis::Selectors(_), Some(taint)) => {
                (taint.effect == Effect::None).then(looked_at_as_no_execute)
            }
            (ChoiceBasis::Filtered(..) | ChoiceBasis::Rules(_) | ChoiceBasis::Manifests(_), _) => {
                None
            }
        }
    }
}

/// Nobody has named the taint, so that only blanket tolerations can cover it.
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
    use crate::decide::choice::{DeviceArguments, Purpose};

    #[test]
    fn a_taint_that_nobody_named_or_that_does_nothing_is_told() {
        let warned = |arguments: &[&str]| {
            let choice = Choice::parse(
                &DeviceArguments {
                    arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
                    ..DeviceArguments::default()
                },
                Purpose::Assess,
            )
            .unwrap();
            choice.warning().map(|warning| warning.code)
        };
        assert_eq!(warned(&["gpu.example.com"]), Some("unnamed-taint"));
        let none = warned(&["gpu.example.com", "a.example.com/k:None"]);
        assert_eq!(none, Some("previewed-as-no-execute"));
        assert_eq!(
            warned(&["gpu.example.com", "a.example.com/k:NoExecute"]),
            None
        );
    }
}
