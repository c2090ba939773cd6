//! Taint, label and expiry of the rules that keep devices for a pod.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::decide::RuleDraft;
use crate::decide::choice::{Choice, ChoiceBasis};
use crate::decide::drafts::RuleAnnotations;
use crate::engine::allocator::room::RoomSet;
use crate::error::Failure;
use crate::model::{
    DeviceId, DeviceSelector, DeviceTaintRule, Effect, NamespacedName, RuleMetadata, Taint, Uid,
    in_group,
};

/// The key of the taint on devices that are kept for a pod; the value is the pod's UID.
pub const TAINT_KEY: &str = in_group!("make-room");

/// How much longer than the command may take its rules are good for.
const MARGIN: SignedDuration = SignedDuration::from_mins(2);

/// For whom rules keep devices, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomTerms {
    /// The pod.
    pub pod: NamespacedName,
    /// Its UID: a label of the rules, and the value of their taint.
    pub uid: Uid,
    /// When the rules should be gone, whatever became of the command that made them.
    pub expires: Timestamp,
}

impl RoomTerms {
    /// Rules for the pod, made `now` by a command that takes at most `timeout`.
    #[must_use]
    pub fn new(pod: &NamespacedName, uid: &Uid, now: Timestamp, timeout: Duration) -> Self {
        let length = SignedDuration::try_from(timeout).unwrap_or(SignedDuration::MAX);
        let length = length.saturating_add(MARGIN);
        let expires = now.saturating_add(length).unwrap_or(Timestamp::MAX);
        // The API has times to the second.
        let expires = Timestamp::from_second(expires.as_second()).unwrap_or(expires);
        Self {
            pod: pod.clone(),
            uid: uid.clone(),
            expires,
        }
    }

    /// The taint of the rules.
    #[must_use]
    pub fn taint(&self, effect: Effect) -> Taint {
        taint(&self.uid, effect)
    }

    /// The rules: with effect NoExecute on devices that pods have to leave, with NoSchedule on those that are kept free.
    ///
    /// # Errors
    ///
    /// When a device cannot be named by a rule.
    pub fn drafts(&self, set: &RoomSet) -> Result<Vec<RuleDraft>, Failure> {
        let emptied = self.drafts_of(&set.emptied, Effect::NoExecute)?;
        let kept_free = self.drafts_of(&set.kept_free, Effect::NoSchedule)?;
        Ok(emptied.into_iter().chain(kept_free).collect())
    }

    fn drafts_of<'d>(
        &self,
        devices: impl IntoIterator<Item = &'d DeviceId>,
        effect: Effect,
    ) -> Result<Vec<RuleDraft>, Failure> {
        let selectors = devices.into_iter().cloned().map(DeviceSelector::from);
        let choice = Choice {
            by: ChoiceBasis::Selectors(selectors.collect()),
            taint: Some(self.taint(effect)),
        };
        let notes = RuleAnnotations {
            reason: Some(format!("room for pod {}", self.pod)),
            labels: vec![(RuleMetadata::MAKE_ROOM.to_owned(), self.uid.to_string())],
            ..RuleAnnotations::default()
        };
        let mut drafts = notes.drafts(&choice, Vec::new())?;
        for draft in &mut drafts {
            let expires = (RuleMetadata::EXPIRES.to_owned(), self.expires.to_string());
            draft.annotations.extend([expires]);
        }
        Ok(drafts)
    }
}

/// The taint that keeps a device for the pod with this UID.
#[must_use]
pub fn taint(uid: &Uid, effect: Effect) -> Taint {
    Taint {
        key: TAINT_KEY.to_owned(),
        value: uid.to_string(),
        effect,
        time_added: None,
    }
}

/// The UID of the pod for which this plugin has made the rule; absent for every other rule.
//
// The label, the key and the program that has made it: a rule that somebody wrote with the same key is none.
#[must_use]
pub fn kept_for(rule: &DeviceTaintRule) -> Option<&str> {
    let labels = &rule.metadata.labels;
    let is_ours = labels.get(RuleMetadata::MANAGED_BY).map(String::as_str)
        == Some(RuleMetadata::THIS_PROGRAM);
    let uid = labels.get(RuleMetadata::MAKE_ROOM)?;
    (is_ours && rule.taint.key == TAINT_KEY).then_some(uid)
}
