//! Rules that another run for the same pod has left.

use super::terms::kept_for;
use crate::model::{DeviceTaintRule, Uid};
use crate::naming::phrase::counted;

/// The rules for the pod with this UID, by name.
#[must_use]
pub fn left_of(rules: &[DeviceTaintRule], uid: &Uid) -> Vec<DeviceTaintRule> {
    let is_for_pod = |rule: &&DeviceTaintRule| kept_for(rule) == Some(uid.as_str());
    let mut left: Vec<DeviceTaintRule> = rules.iter().filter(is_for_pod).cloned().collect();
    left.sort_by(|one, other| one.name.cmp(&other.name));
    left
}

/// That a run takes over what others have made for the same pod; nothing where there is nothing.
#[must_use]
pub fn taken_over_line(left: &[DeviceTaintRule]) -> Option<String> {
    let names: Vec<String> = left.iter().map(|rule| rule.name.to_string()).collect();
    let until = left.iter().filter_map(|rule| rule.metadata.expires()).max();
    let until = until.map_or_else(String::new, |until| match left {
        [_] => format!(" (expires at {until})"),
        _ => format!(" (the last one expires at {until})"),
    });
    (!names.is_empty()).then(|| {
        format!(
            "this run takes over {} that another `make-room` for this pod has created: {}{until}; the other run may \
            still be in progress",
            counted(names.len(), "rule"),
            names.join(", ")
        )
    })
}
