//! The objects and patches sent to the server for a rule.

use super::choice::{Choice, ChoiceBasis, refuse_wide, wrong_name};
use crate::engine::Semantics;
use crate::error::Failure;
use crate::model::{DeviceSelector, DeviceTaintRule, Effect, RuleMetadata, Taint};
use crate::naming::keys;
use crate::naming::labels::parse_label;
use crate::naming::{Expiry, device, rule};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A rule to be created.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleDraft {
    /// Its name.
    pub name: String,
    /// Selected devices; never absent, since the meaning of that depends on the version.
    pub selector: DeviceSelector,
    /// The taint; without a time, the server sets it.
    pub taint: Taint,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// The manifest that it is from, if it is from one: fields that nothing above speaks of are sent
    /// as they stand there, such as finalizers and owner references.
    pub manifest: Option<Value>,
}

/// Fields that the server sets, and that manifests printed by it still have.
const SERVERS_OWN: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

impl RuleDraft {
    /// The object as it is sent, at this version.
    pub fn object(&self, api_version: &str) -> Value {
        let mut object = self.as_in_manifest().unwrap_or_default();
        let metadata = object.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("name".to_owned(), json!(self.name));
            for (field, entries) in [("labels", &self.labels), ("annotations", &self.annotations)] {
                if !entries.is_empty() {
                    metadata.insert(field.to_owned(), json!(entries));
                }
            }
        }
        // The spec of a manifest goes as it was written, with what this plugin does not model.
        object.entry("spec").or_insert_with(
            || json!({"deviceSelector": selector(&self.selector), "taint": taint(&self.taint)}),
        );
        // The version that this server serves, whichever the manifest was written for.
        object.insert("apiVersion".to_owned(), json!(api_version));
        object.insert("kind".to_owned(), json!("DeviceTaintRule"));
        Value::Object(object)
    }

    /// The rule that it is to become, before any server has seen it.
    pub fn rule(&self) -> DeviceTaintRule {
        DeviceTaintRule {
            name: self.name.as_str().into(),
            selector: Some(self.selector.clone()),
            taint: self.taint.clone(),
            metadata: RuleMetadata {
                labels: self.labels.clone(),
                annotations: self.annotations.clone(),
                ..RuleMetadata::default()
            },
            ..DeviceTaintRule::default()
        }
    }

    /// The rule as it is asked for from an existing one: the creator is noted only for new rules, and a rule of another
    /// creator has its own note.
    pub fn without_maker(&self) -> Self {
        let mut draft = self.clone();
        draft.annotations.remove(keys::CREATED_BY);
        draft.annotations.remove(keys::CREATED_BY_RUN);
        draft
    }

    fn as_in_manifest(&self) -> Option<Map<String, Value>> {
        let mut object = self.manifest.as_ref()?.as_object()?.clone();
        object.remove("status");
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in SERVERS_OWN {
                metadata.remove(field);
            }
        }
        Some(object)
    }

    /// The entries of a list in the manifest's metadata.
    pub(super) fn listed(&self, field: &str) -> &[Value] {
        let list = self
            .manifest
            .as_ref()
            .map(|object| &object["metadata"][field]);
        list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// True if `rule` taints the same devices in the same way, whenever it was made.
    pub fn is_spec_of(&self, rule: &DeviceTaintRule) -> bool {
        rule.selector.as_ref() == Some(&self.selector)
            && rule.taint.key == self.taint.key
            && rule.taint.value == self.taint.value
            && rule.taint.effect == self.taint.effect
    }
}

fn selector(selector: &DeviceSelector) -> Value {
    let DeviceSelector {
        driver,
        pool,
        device,
        ..
    } = selector;
    let names = [
        ("driver", driver.as_ref().map(|name| name.as_str())),
        ("pool", pool.as_ref().map(|name| name.as_str())),
        ("device", device.as_ref().map(|name| name.as_str())),
    ];
    let fields = names.into_iter();
    let fields = fields.filter_map(|(field, name)| Some((field.to_owned(), json!(name?))));
    Value::Object(fields.collect())
}

fn taint(taint: &Taint) -> Value {
    let mut fields = Map::new();
    fields.insert("key".to_owned(), json!(taint.key));
    if !taint.value.is_empty() {
        fields.insert("value".to_owned(), json!(taint.value));
    }
    fields.insert("effect".to_owned(), json!(taint.effect.as_str()));
    if let Some(time) = taint.time_added {
        fields.insert("timeAdded".to_owned(), json!(time.to_string()));
    }
    Value::Object(fields)
}

/// A change of a rule that exists; what is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulePatch {
    /// New effect of the taint.
    pub effect: Option<Effect>,
    /// The taint's new value.
    pub value: Option<String>,
    /// Since when; only for servers that do not set it themselves.
    pub time_added: Option<Timestamp>,
    /// Labels to set.
    pub labels: BTreeMap<String, String>,
    /// Annotations to set.
    pub annotations: BTreeMap<String, String>,
}

impl RulePatch {
    /// The change of the effect alone, at `now` by the server's clock if that is known.
    ///
    /// A server that does not renew `timeAdded` by itself (before 1.36) would count tolerations from
    /// when the rule was made, so that the time is sent to it.
    pub fn effect(to: &Effect, semantics: &Semantics, now: Option<Timestamp>) -> Self {
        Self {
            effect: Some(to.clone()),
            time_added: now.filter(|_| !semantics.server_renews_time_added),
            ..Self::default()
        }
    }

    /// True if there is nothing to change.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// True if `rule` has all that the patch asks for.
    pub fn is_in(&self, rule: &DeviceTaintRule) -> bool {
        let has = |wanted: &BTreeMap<String, String>, present: &BTreeMap<String, String>| {
            wanted
                .iter()
                .all(|(key, value)| present.get(key) == Some(value))
        };
        self.effect
            .as_ref()
            .is_none_or(|effect| *effect == rule.taint.effect)
            && self
                .value
                .as_ref()
                .is_none_or(|value| *value == rule.taint.value)
            && has(&self.labels, &rule.metadata.labels)
            && has(&self.annotations, &rule.metadata.annotations)
    }

    /// The merge patch that is sent, without the state of the object that it applies to.
    pub fn body(&self) -> Value {
        let mut body = Map::new();
        let mut metadata = Map::new();
        // A merge patch keeps the entries that it does not name: those of others stay.
        for (field, entries) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !entries.is_empty() {
                metadata.insert(field.to_owned(), json!(entries));
            }
        }
        if !metadata.is_empty() {
            body.insert("metadata".to_owned(), Value::Object(metadata));
        }
        let mut taint = Map::new();
        if let Some(effect) = &self.effect {
            taint.insert("effect".to_owned(), json!(effect.as_str()));
        }
        if let Some(value) = &self.value {
            taint.insert("value".to_owned(), json!(value));
        }
        if let Some(time) = self.time_added {
            taint.insert("timeAdded".to_owned(), json!(time.to_string()));
        }
        if !taint.is_empty() {
            body.insert("spec".to_owned(), json!({"taint": taint}));
        }
        Value::Object(body)
    }
}

/// Name, reason and labels of requested rules.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct RuleAnnotations {
    /// Name of the rule, if only one is created; default: derived from device and taint
    #[arg(long, help_heading = "Rule", hide_short_help = true)]
    pub name: Option<String>,

    /// Why the devices are tainted
    #[arg(long, value_name = "TEXT", help_heading = "Rule")]
    pub reason: Option<String>,

    /// Labels of the rules, comma-separated; repeatable
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_label, value_delimiter = ',', help_heading = "Rule", hide_short_help = true)]
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
            device::check_rule(name).map_err(wrong_name)?;
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
            .map(|reason| (keys::REASON.to_owned(), reason))
            .collect()
    }
}

/// The labels of a rule that this plugin makes, by which those of one command are found.
pub fn of_batch(batch: &str) -> BTreeMap<String, String> {
    let labels = [(keys::MANAGED_BY, keys::THIS_PROGRAM), (keys::BATCH, batch)];
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
        let key = keys::EXPIRES.to_owned();
        draft.annotations.insert(key, at.to_string());
        draft
    };
    Ok(drafts.into_iter().map(dated).collect())
}

/// Author of changes to rules, as far as known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    /// Name of the user on the server.
    pub user: Option<String>,
    /// The UID of this run; none where nothing is stored.
    pub run: Option<String>,
}

impl Writer {
    /// The draft with who makes the rule.
    pub fn sign(&self, mut draft: RuleDraft) -> RuleDraft {
        let notes = [
            (keys::CREATED_BY, &self.user),
            (keys::CREATED_BY_RUN, &self.run),
        ];
        for (key, note) in notes {
            let note = note.iter().map(|note| (key.to_owned(), note.clone()));
            draft.annotations.extend(note);
        }
        draft
    }

    /// The patch with who makes the change.
    pub fn sign_patch(&self, mut patch: RulePatch) -> RulePatch {
        let notes = [
            (keys::CHANGED_BY, &self.user),
            (keys::CHANGED_BY_RUN, &self.run),
        ];
        for (key, note) in notes {
            let note = note.iter().map(|note| (key.to_owned(), note.clone()));
            patch.annotations.extend(note);
        }
        patch
    }

    /// True if this run has made the rule.
    pub fn has_made(&self, rule: &DeviceTaintRule) -> bool {
        self.is_noted(rule, keys::CREATED_BY_RUN)
    }

    /// True if this run was the last that changed the rule with this program.
    pub fn has_changed(&self, rule: &DeviceTaintRule) -> bool {
        self.is_noted(rule, keys::CHANGED_BY_RUN)
    }

    fn is_noted(&self, rule: &DeviceTaintRule, key: &str) -> bool {
        // A rule without a note and a run without a UID are equal, and prove nothing.
        let noted = rule.metadata.annotation(key);
        noted.is_some() && noted == self.run.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::choice::{DeviceArguments, Purpose};
    use crate::decide::testing;
    use crate::decide::testing::rule;
    use crate::model::Minor;

    fn draft(selector: DeviceSelector) -> RuleDraft {
        testing::draft(selector, "None")
    }

    #[test]
    fn everything_is_selected_by_an_empty_selector_and_never_by_none() {
        insta::assert_snapshot!(draft(DeviceSelector::default()).object("resource.k8s.io/v1"), @r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"drain"},"spec":{"deviceSelector":{},"taint":{"effect":"None","key":"example.com/maintenance"}}}"#);
    }

    #[test]
    fn a_manifest_is_sent_as_it_stands_but_for_what_the_server_sets() {
        let mut draft = draft(testing::selector("gpu-0"));
        draft.labels = [("team".to_owned(), "ml".to_owned())].into();
        draft.manifest = Some(json!({
            "apiVersion": "resource.k8s.io/v1alpha3",
            "kind": "DeviceTaintRule",
            "metadata": {"name": "drain", "uid": "1", "resourceVersion": "7", "managedFields": [], "finalizers": ["example.com/hold"],
                "ownerReferences": [{"uid": "2"}], "labels": {"team": "ml"}},
            "spec": {"deviceSelector": {"device": "gpu-0", "new": 1}, "taint": {"key": "a", "effect": "None"}},
            "status": {"conditions": []},
        }));
        insta::assert_snapshot!(draft.object("resource.k8s.io/v1"), @r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"finalizers":["example.com/hold"],"labels":{"team":"ml"},"name":"drain","ownerReferences":[{"uid":"2"}]},"spec":{"deviceSelector":{"device":"gpu-0","new":1},"taint":{"effect":"None","key":"a"}}}"#);
    }

    #[test]
    fn the_time_of_a_changed_effect_is_sent_where_the_server_does_not_renew_it() {
        let semantics = |minor| Semantics::of(Minor { minor, patch: None }).unwrap();
        let now = Some(Timestamp::UNIX_EPOCH);
        let patch = |minor| RulePatch::effect(&Effect::NoExecute, &semantics(minor), now);
        insta::assert_snapshot!(patch(35).body(), @r#"{"spec":{"taint":{"effect":"NoExecute","timeAdded":"1970-01-01T00:00:00Z"}}}"#);
        insta::assert_snapshot!(patch(36).body(), @r#"{"spec":{"taint":{"effect":"NoExecute"}}}"#);
        assert!(RulePatch::default().is_empty() && !patch(36).is_empty());
    }

    #[test]
    fn a_rule_has_the_spec_of_a_draft_only_with_the_same_devices_and_the_same_taint() {
        let draft = draft(testing::selector("gpu-0"));
        assert!(draft.is_spec_of(&testing::rule("None")));
        type Change = fn(&mut DeviceTaintRule);
        let changes: [Change; 4] = [
            |rule| rule.selector = Some(testing::selector("gpu-1")),
            |rule| rule.taint.key.push('x'),
            |rule| rule.taint.value.push('x'),
            |rule| rule.taint.effect = Effect::NoExecute,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut rule = testing::rule("None");
            change(&mut rule);
            assert!(!draft.is_spec_of(&rule), "{number}");
        }
    }

    #[test]
    fn a_patch_is_in_a_rule_only_as_a_whole() {
        let note = || ("note".to_owned(), "text".to_owned());
        let mut rule = testing::rule("NoSchedule");
        rule.metadata.annotations.extend([note()]);
        rule.metadata.labels.extend([note()]);
        let patch = RulePatch {
            effect: Some(Effect::NoSchedule),
            value: Some(String::new()),
            labels: [note()].into(),
            annotations: [note()].into(),
            ..RulePatch::default()
        };
        assert!(patch.is_in(&rule));
        type Change = fn(&mut DeviceTaintRule);
        let changes: [Change; 4] = [
            |rule| rule.taint.effect = Effect::None,
            |rule| rule.taint.value.push('x'),
            |rule| rule.metadata.labels.clear(),
            |rule| rule.metadata.annotations.clear(),
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let mut other = rule.clone();
            change(&mut other);
            assert!(!patch.is_in(&other), "{number}");
        }
    }

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
            selector,
            taint: draft.taint,
            metadata: RuleMetadata {
                labels: [("team", "ml"), (keys::BATCH, "older")]
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .into(),
                ..RuleMetadata::default()
            },
            ..crate::decide::testing::named("written", "NoSchedule")
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
        assert_ne!(made[0].labels[keys::BATCH], "older");
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
        let expires = &dated[0].annotations[keys::EXPIRES];
        assert_eq!(expires, "2026-11-21T05:00:00Z");
        assert_eq!(with_expiry(made.clone(), None, now).unwrap(), made);
    }

    fn writer(run: Option<&str>) -> Writer {
        Writer {
            user: Some("anna".to_owned()),
            run: run.map(str::to_owned),
        }
    }

    #[test]
    fn what_carries_the_uid_of_this_run_is_its_own_and_nothing_else_is() {
        let (ours, theirs, none) = (writer(Some("1")), writer(Some("2")), writer(None));
        let mut made = rule("None");
        assert!(!ours.has_made(&made) && !none.has_made(&made));
        made.metadata.annotations = [(keys::CREATED_BY_RUN.to_owned(), "1".to_owned())].into();
        assert!(ours.has_made(&made) && !ours.has_changed(&made));
        assert!(!theirs.has_made(&made) && !none.has_made(&made));
    }

    #[test]
    fn what_is_sent_says_which_run_sends_it() {
        let signed = writer(Some("1")).sign_patch(RulePatch::default());
        insta::assert_snapshot!(signed.body(), @r#"{"metadata":{"annotations":{"devicetaint.dev/changed-by":"anna","devicetaint.dev/changed-by-run":"1"}}}"#);
        let mut changed = rule("None");
        changed.metadata.annotations = signed.annotations.clone();
        assert!(writer(Some("1")).has_changed(&changed));
        assert!(signed.is_in(&changed) && !signed.is_in(&rule("None")));
    }
}
