//! Rules of making room that are left.

use jiff::Timestamp;

use super::terms::kept_for;
use crate::model::{DeviceTaintRule, RuleMetadata, Uid};
use crate::naming::phrase::counted;

/// The rules that this plugin has made to keep devices for pods, each kind by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftRules {
    /// Those that should be gone by now: no run needs them any more.
    pub expired: Vec<DeviceTaintRule>,
    /// Those whose run may still be going on; also where the expiry cannot be read.
    pub unexpired: Vec<DeviceTaintRule>,
}

/// How somebody has agreed that rules are removed which earlier runs have left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CleanupApproval {
    /// By `--yes`: to the removal of those that have expired.
    Expired,
    /// By `--yes --include-unexpired`: to the removal of all.
    All,
    /// Not by a flag. A question is asked; whoever answers it has seen which runs may still be in progress, and agrees to
    /// the removal of all.
    Answer,
}

impl CleanupApproval {
    /// What `--yes` and `--include-unexpired` agree to.
    #[must_use]
    pub fn of_flags(yes: bool, include_unexpired: bool) -> Self {
        match (yes, include_unexpired) {
            (true, true) => Self::All,
            (true, false) => Self::Expired,
            (false, _) => Self::Answer,
        }
    }
}

/// All rules of making room, as `--cleanup` takes them.
#[must_use]
pub fn left_rules(rules: &[DeviceTaintRule], now: Timestamp) -> LeftRules {
    let all = of(rules, |_| true).into_iter();
    let (expired, unexpired) = all.partition(|rule| rule.metadata.is_expired(now));
    LeftRules { expired, unexpired }
}

/// Those for the pod with this UID.
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

impl LeftRules {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.expired.is_empty() && self.unexpired.is_empty()
    }

    /// Those that are removed, then those that are kept, where somebody has agreed in this way.
    #[must_use]
    pub fn agreed(
        &self,
        approval: CleanupApproval,
    ) -> (Vec<DeviceTaintRule>, Vec<DeviceTaintRule>) {
        let (expired, unexpired) = (self.expired.clone(), self.unexpired.clone());
        match approval {
            CleanupApproval::Expired => (expired, unexpired),
            CleanupApproval::All | CleanupApproval::Answer => {
                ([expired, unexpired].concat(), Vec::new())
            }
        }
    }

    /// What is asked, as a question without its mark.
    #[must_use]
    pub fn action(&self) -> String {
        let count = self.expired.len().saturating_add(self.unexpired.len());
        let action = format!("Remove {} of make-room", counted(count, "rule"));
        match self.unexpired.len() {
            0 => action,
            some if some == count => format!("{action} (which may still be in use)"),
            some => format!("{action} ({some} of which may still be in use)"),
        }
    }

    /// A line for each rule.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let expired = self.expired.iter().map(|rule| line(rule, "expired"));
        expired.chain(unexpired_lines(&self.unexpired)).collect()
    }
}

/// A line for each of these rules, whose run may still be going on.
#[must_use]
pub fn unexpired_lines(rules: &[DeviceTaintRule]) -> Vec<String> {
    let lines = rules.iter().map(|rule| {
        let until = rule.metadata.expires();
        let until = until.map_or_else(
            || "expiry unknown".to_owned(),
            |until| format!("expires at {until}"),
        );
        line(
            rule,
            &format!("{until}; the run that created it may still be in progress"),
        )
    });
    lines.collect()
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

fn line(rule: &DeviceTaintRule, state: &str) -> String {
    let reason = rule.metadata.annotation(RuleMetadata::REASON);
    let reason = reason.unwrap_or("no reason");
    format!("rule {}: {reason} ({state})", rule.name)
}
