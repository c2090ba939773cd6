//! The rules requested by a command, before existing rules are known.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::RuleDraft;
use super::choice::{Choice, ChoiceBasis, refuse_wide, wrong_name};
use crate::error::Failure;
use crate::model::{DeviceSelector, DeviceTaintRule, RuleMetadata, Taint};
use crate::naming::{Expiry, labels, rule};

/// Metadata of new rules.
#[derive(Clone, Debug, Default)]
pub struct RuleAnnotations {
    /// `--name`
    pub name: Option<String>,
    /// `--reason`
    pub reason: Option<String>,
    /// `--labels`
    pub labels: Vec<(String, String)>,
}

impl RuleAnnotations {
    /// The rules that are asked for: one for each of the devices of `choice`, or those of the
    /// `manifests`, each with the object as it is written.
    ///
    /// # Errors
    ///
    /// A name that cannot be, or is for several; a manifest that taints every device.
    pub fn drafts(
        &self,
        choice: &Choice,
        manifests: Vec<(DeviceTaintRule, Value)>,
    ) -> Result<Vec<RuleDraft>, Failure> {
        let drafts = match (&choice.by, &choice.taint) {
            (ChoiceBasis::Selectors(selectors), Some(taint)) => {
                self.by_selectors(selectors, taint)?
            }
            (ChoiceBasis::Selectors(_), None)
            | (ChoiceBasis::Manifests(_) | ChoiceBasis::Rules(_), _) => {
                self.by_manifests(manifests)?
            }
        };
        // Before anything is sent: the second of two rules would be taken for a change of the first.
        let mut names = BTreeSet::new();
        if let Some(second) = drafts
            .iter()
            .find(|draft| !names.insert(draft.name.as_str()))
        {
            return Err(Failure::usage(format!(
                "two rules have the name {}",
                second.name
            )));
        }
        Ok(drafts)
    }

    fn by_selectors(
        &self,
        selectors: &[DeviceSelector],
        taint: &Taint,
    ) -> Result<Vec<RuleDraft>, Failure> {
        if self.name.is_some() && selectors.len() > 1 {
            return Err(Failure::usage(
                "--name names one rule, but several would be created",
            ));
        }
        if let Some(name) = &self.name {
            labels::rule(name).map_err(wrong_name)?;
        }
        let batch = rule::batch(selectors, taint);
        let drafts = selectors.iter().map(|selector| RuleDraft {
            name: self
                .name
                .clone()
                .unwrap_or_else(|| rule::name(selector, &taint.key)),
            selector: selector.clone(),
            taint: taint.clone(),
            labels: self.all_labels(&batch),
            annotations: self.annotations(),
            manifest: None,
        });
        Ok(drafts.collect())
    }

    fn by_manifests(
        &self,
        manifests: Vec<(DeviceTaintRule, Value)>,
    ) -> Result<Vec<RuleDraft>, Failure> {
        if self.name.is_some() {
            return Err(Failure::usage(
                "--name cannot be used together with --filename, which names its rules",
            ));
        }
        let manifests = manifests.into_iter();
        manifests
            .map(|(manifest, written)| self.by_manifest(manifest, written))
            .collect()
    }

    fn by_manifest(&self, manifest: DeviceTaintRule, written: Value) -> Result<RuleDraft, Failure> {
        refuse_wide(std::slice::from_ref(&manifest))?;
        let selector = manifest.selector.clone().unwrap_or_default();
        let batch = rule::batch(std::slice::from_ref(&selector), &manifest.taint);
        let mut labels = manifest.metadata.labels.clone();
        // Typed labels override those of the manifest.
        labels.extend(self.all_labels(&batch));
        let mut annotations = manifest.metadata.annotations.clone();
        annotations.extend(self.annotations());
        Ok(RuleDraft {
            name: manifest.name.to_string(),
            selector,
            taint: manifest.taint,
            labels,
            annotations,
            manifest: Some(written),
        })
    }

    fn all_labels(&self, batch: &str) -> BTreeMap<String, String> {
        let mut labels: BTreeMap<String, String> = self.labels.iter().cloned().collect();
        // Last, so that nothing typed can take the labels away by which the rules are found again.
        labels.extend(of_batch(batch));
        labels
    }

    fn annotations(&self) -> BTreeMap<String, String> {
        let reason = self.reason.iter().cloned();
        reason
            .map(|reason| (RuleMetadata::REASON.to_owned(), reason))
            .collect()
    }
}

/// The labels of a rule that this plugin makes, by which those of one command are found.
pub fn of_batch(batch: &str) -> BTreeMap<String, String> {
    let labels = [
        (RuleMetadata::MANAGED_BY, RuleMetadata::THIS_PROGRAM),
        (RuleMetadata::BATCH, batch),
    ];
    labels
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// The drafts with the time when they should be gone, if there is one, `now` being the server's clock.
///
/// # Errors
///
/// A time that is over.
pub fn with_expiry(
    drafts: Vec<RuleDraft>,
    expiry: Option<&Expiry>,
    now: Timestamp,
) -> Result<Vec<RuleDraft>, Failure> {
    let Some(expiry) = expiry else {
        return Ok(drafts);
    };
    let at = expiry.resolve(now).map_err(wrong_name)?;
    let dated = |mut draft: RuleDraft| {
        let key = RuleMetadata::EXPIRES.to_owned();
        draft.annotations.insert(key, at.to_string());
        draft
    };
    Ok(drafts.into_iter().map(dated).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::choice::{DeviceArguments, Purpose};

    fn drafts(words: &str, inscription: &RuleAnnotations) -> Result<Vec<RuleDraft>, Failure> {
        let typed = DeviceArguments {
            arguments: words.split_whitespace().map(str::to_owned).collect(),
            ..DeviceArguments::default()
        };
        inscription.drafts(&Choice::parse(&typed, Purpose::Add)?, Vec::new())
    }

    fn manifest(selector: &str) -> (DeviceTaintRule, Value) {
        let draft = drafts(
            "gpu.example.com a.example.com/k:NoSchedule",
            &RuleAnnotations::default(),
        );
        let draft = draft.unwrap().remove(0);
        let selector = match selector {
            "" => None,
            "*" => Some(DeviceSelector::default()),
            _ => Some(draft.selector),
        };
        let rule = DeviceTaintRule {
            name: "written".into(),
            uid: "".into(),
            resource_version: "".into(),
            generation: 0,
            selector,
            taint: draft.taint,
            condition: None,
            metadata: RuleMetadata {
                labels: [("team", "ml"), (RuleMetadata::BATCH, "older")]
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .into(),
                ..RuleMetadata::default()
            },
            managers: Vec::new(),
        };
        (rule, Value::Null)
    }

    #[test]
    fn a_name_is_for_one_rule() {
        let named = RuleAnnotations {
            name: Some("mine".to_owned()),
            ..RuleAnnotations::default()
        };
        let one = drafts("gpu.example.com a=b", &named).unwrap();
        assert_eq!(one[0].name, "mine");
        assert!(drafts("gpu.example.com nic.example.com a=b", &named).is_err());
        let wrong = RuleAnnotations {
            name: Some("Mine".to_owned()),
            ..RuleAnnotations::default()
        };
        assert!(drafts("gpu.example.com a=b", &wrong).is_err());
    }

    fn by_file(manifests: Vec<(DeviceTaintRule, Value)>) -> Result<Vec<RuleDraft>, Failure> {
        let choice = Choice {
            by: ChoiceBasis::Manifests(vec!["f".into()]),
            ..Choice::of_selectors(Vec::new(), None)
        };
        RuleAnnotations::default().drafts(&choice, manifests)
    }

    #[test]
    fn a_manifest_names_its_rule_and_never_every_device() {
        let made = by_file(vec![manifest("one")]).unwrap();
        assert_eq!(made[0].name, "written");
        assert_eq!(made[0].labels["team"], "ml");
        assert_ne!(made[0].labels[RuleMetadata::BATCH], "older");
        for (selector, problem) in [("", "has no spec.deviceSelector"), ("*", "every device")] {
            let refused = by_file(vec![manifest(selector)]).unwrap_err().to_string();
            assert!(refused.contains(problem), "{refused}");
        }
        let twice = by_file(vec![manifest("one"), manifest("one")]);
        assert_eq!(
            twice.unwrap_err().to_string(),
            "two rules have the name written"
        );
    }

    #[test]
    fn the_expiry_is_counted_from_the_servers_clock() {
        let made = drafts("gpu.example.com a=b", &RuleAnnotations::default()).unwrap();
        let now: Timestamp = "2026-11-21T01:00:00Z".parse().unwrap();
        let expiry: Expiry = "4h".parse().unwrap();
        let dated = with_expiry(made.clone(), Some(&expiry), now).unwrap();
        let expires = &dated[0].annotations[RuleMetadata::EXPIRES];
        assert_eq!(expires, "2026-11-21T05:00:00Z");
        assert_eq!(with_expiry(made.clone(), None, now).unwrap(), made);
    }
}
