//! The objects and patches sent to the server for a rule.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::engine::Semantics;
use crate::model::{DeviceSelector, DeviceTaintRule, Effect, RuleMetadata, Taint};

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
            uid: "".into(),
            resource_version: String::new(),
            generation: 0,
            selector: Some(self.selector.clone()),
            taint: self.taint.clone(),
            condition: None,
            metadata: RuleMetadata {
                labels: self.labels.clone(),
                annotations: self.annotations.clone(),
                ..RuleMetadata::default()
            },
            managers: Vec::new(),
        }
    }

    /// The rule as it is asked for from an existing one: the creator is noted only for new rules, and a rule of another
    /// creator has its own note.
    pub fn without_maker(&self) -> Self {
        let mut draft = self.clone();
        draft.annotations.remove(RuleMetadata::CREATED_BY);
        draft.annotations.remove(RuleMetadata::CREATED_BY_RUN);
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
    let mut fields = Map::new();
    let names = [
        ("driver", selector.driver.as_ref().map(|name| name.as_str())),
        ("pool", selector.pool.as_ref().map(|name| name.as_str())),
        ("device", selector.device.as_ref().map(|name| name.as_str())),
    ];
    for (field, name) in names {
        if let Some(name) = name {
            fields.insert(field.to_owned(), json!(name));
        }
    }
    Value::Object(fields)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing;
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
}
