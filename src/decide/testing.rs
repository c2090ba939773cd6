//! Literal rules for tests.

use super::draft::RuleDraft;
use crate::model::{
    DeviceSelector, DeviceTaintRule, Effect, FieldManager, ManagerOperation, RuleMetadata, Taint,
};
use crate::naming::keys;

pub const KEY: &str = "example.com/maintenance";

pub fn selector(device: &str) -> DeviceSelector {
    DeviceSelector {
        driver: Some("gpu.example.com".into()),
        pool: Some("node-7".into()),
        device: Some(device.into()),
        ..DeviceSelector::default()
    }
}

pub fn taint(effect: &str) -> Taint {
    Taint {
        key: KEY.to_owned(),
        effect: Effect::from(effect),
        ..Taint::default()
    }
}

/// A draft of the rule `drain`, without labels and notes.
pub fn draft(selector: DeviceSelector, effect: &str) -> RuleDraft {
    RuleDraft {
        name: "drain".to_owned(),
        selector,
        taint: taint(effect),
        labels: [].into(),
        annotations: [].into(),
        manifest: None,
    }
}

/// A rule that this plugin has made, as the server has it.
pub fn rule(effect: &str) -> DeviceTaintRule {
    named("drain", effect)
}

pub fn named(name: &str, effect: &str) -> DeviceTaintRule {
    DeviceTaintRule {
        name: name.into(),
        uid: format!("uid-of-{name}").as_str().into(),
        resource_version: "7".to_owned(),
        generation: 1,
        selector: Some(selector("gpu-0")),
        taint: taint(effect),
        condition: None,
        metadata: RuleMetadata {
            labels: [(keys::MANAGED_BY, keys::THIS_PROGRAM)]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..RuleMetadata::default()
        },
        managers: vec![manager(keys::THIS_PROGRAM, "2026-11-21T01:00:00Z")],
    }
}

/// A rule that another client made with `program`.
pub fn foreign(name: &str, program: &str) -> DeviceTaintRule {
    let mut rule = named(name, "None");
    rule.metadata.labels.clear();
    rule.managers = vec![manager(program, "2026-11-21T01:00:00Z")];
    rule
}

/// A program that has written to the spec.
pub fn manager(name: &str, time: &str) -> FieldManager {
    FieldManager {
        name: name.to_owned(),
        operation: ManagerOperation::Update,
        subresource: None,
        time: Some(time.parse().unwrap()),
        owns_spec: true,
    }
}
