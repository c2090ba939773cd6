//! Rules of making room that are left.

use super::terms::kept_for;
use crate::model::{DeviceTaintRule, Uid};

/// The rules that this plugin has made to keep devices for pods, by name: all that `--cleanup` removes.
#[must_use]
pub fn leftover(rules: &[DeviceTaintRule]) -> Vec<DeviceTaintRule> {
    of(rules, |_| true)
}

/// Those of them for the pod with this UID.
#[must_use]
pub fn left_of(rules: &[DeviceTaintRule], uid: &Uid) -> Vec<DeviceTaintRule> {
    of(rules, |kept_for| kept_for == uid.as_str())
}

fn of(rules: &[DeviceTaintRule], is_meant: impl Fn(&str) -> bool) -> Vec<DeviceTaintRule> {
    let meant = rules
        .iter()
        .filter(|rule| kept_for(rule).is_some_and(&is_meant));
    let mut left: Vec<DeviceTaintRule> = meant.cloned().collect();
    left.sort_by(|one, other| one.name.cmp(&other.name));
    left
}
