//! What is sent to the server about a rule.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::model::{DeviceSelector, DeviceTaintRule, Effect, Taint};

/// Who changes rules: the name of the field manager.
pub const MANAGER: &str = "kubectl-devicetaint";

/// A rule to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleDraft {
    /// Its name.
    pub name: String,
    /// Which devices; never absent, for what that means depends on the version.
    pub selector: DeviceSelector,
    /// Which taint; without a time, the server sets it.
    pub taint: Taint,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

impl RuleDraft {
    /// The object as it is sent, at this version.
    #[must_use]
    pub fn object(&self, api_version: &str) -> Value {
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), json!(self.name));
        for (field, entries) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !entries.is_empty() {
                metadata.insert(field.to_owned(), json!(entries));
            }
        }
        json!({
            "apiVersion": api_version,
            "kind": "DeviceTaintRule",
            "metadata": metadata,
            "spec": {"deviceSelector": selector(&self.selector), "taint": taint(&self.taint)},
        })
    }

    /// Whether `rule` taints the same devices in the same way, whenever it was made.
    #[must_use]
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
        (
            "deviceClassName",
            selector.device_class.as_ref().map(|name| name.as_str()),
        ),
    ];
    for (field, name) in names {
        if let Some(name) = name {
            fields.insert(field.to_owned(), json!(name));
        }
    }
    if !selector.expressions.is_empty() {
        let expressions = selector.expressions.iter();
        let selectors: Vec<Value> = expressions
            .map(|expression| json!({"cel": {"expression": expression}}))
            .collect();
        fields.insert("selectors".to_owned(), json!(selectors));
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
    /// What the taint does from now on.
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
    /// Whether there is nothing to change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The merge patch that is sent: it applies to exactly the state of the object that `rule` is.
    #[must_use]
    pub fn body(&self, rule: &DeviceTaintRule) -> Value {
        let mut metadata = Map::new();
        metadata.insert("uid".to_owned(), json!(rule.uid.as_str()));
        metadata.insert("resourceVersion".to_owned(), json!(rule.resource_version));
        for (field, entries) in [("labels", &self.labels), ("annotations", &self.annotations)] {
            if !entries.is_empty() {
                metadata.insert(field.to_owned(), json!(entries));
            }
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
        let mut body = Map::new();
        body.insert("metadata".to_owned(), Value::Object(metadata));
        if !taint.is_empty() {
            body.insert("spec".to_owned(), json!({"taint": taint}));
        }
        Value::Object(body)
    }

    /// Whether `rule` is already as the patch would make it, as far as the taint goes.
    #[must_use]
    pub fn is_fulfilled_by(&self, rule: &DeviceTaintRule) -> bool {
        let effect = self.effect.as_ref();
        let value = self.value.as_ref();
        effect.is_none_or(|effect| *effect == rule.taint.effect)
            && value.is_none_or(|value| *value == rule.taint.value)
            && contains(&rule.metadata.labels, &self.labels)
            && contains(&rule.metadata.annotations, &self.annotations)
    }
}

fn contains(all: &BTreeMap<String, String>, some: &BTreeMap<String, String>) -> bool {
    some.iter().all(|(key, value)| all.get(key) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RuleMetadata;

    fn taint(effect: &str) -> Taint {
        Taint {
            key: "example.com/maintenance".to_owned(),
            value: String::new(),
            effect: effect.into(),
            time_added: None,
        }
    }

    #[test]
    fn everything_is_selected_by_an_empty_selector_and_never_by_none() {
        let draft = RuleDraft {
            name: "all".to_owned(),
            selector: DeviceSelector::default(),
            taint: taint("None"),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
        };
        insta::assert_snapshot!(draft.object("resource.k8s.io/v1"), @r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"all"},"spec":{"deviceSelector":{},"taint":{"effect":"None","key":"example.com/maintenance"}}}"#);
    }

    #[test]
    fn a_patch_names_the_state_that_it_was_decided_on() {
        let rule = DeviceTaintRule {
            name: "drain".into(),
            uid: "uid-1".into(),
            resource_version: "7".to_owned(),
            generation: 1,
            selector: Some(DeviceSelector::default()),
            taint: taint("None"),
            condition: None,
            metadata: RuleMetadata::default(),
            managers: Vec::new(),
        };
        let patch = RulePatch {
            effect: Some(Effect::NoExecute),
            time_added: Some(Timestamp::UNIX_EPOCH),
            ..RulePatch::default()
        };
        insta::assert_snapshot!(patch.body(&rule), @r#"{"metadata":{"resourceVersion":"7","uid":"uid-1"},"spec":{"taint":{"effect":"NoExecute","timeAdded":"1970-01-01T00:00:00Z"}}}"#);
        assert!(!patch.is_fulfilled_by(&rule));
        assert!(RulePatch::default().is_fulfilled_by(&rule));
    }
}
