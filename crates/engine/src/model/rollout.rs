//! Rollouts of Deployments.

use jiff::Timestamp;

use super::budget::Amount;

/// Strategy and progress of a Deployment's rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollout {
    /// Version of the Deployment; opaque.
    pub resource_version: String,
    /// Pods that there may be beyond the wanted ones; absent if all old pods go first, or the strategy is of a
    /// newer API.
    pub max_surge: Option<Amount>,
    /// True if changes of the template are not rolled out.
    pub is_paused: bool,
    /// Raised by every change of the spec.
    pub generation: i64,
    /// The generation that the numbers are of; older than the Deployment's means that they are too.
    pub observed_generation: i64,
    /// Pods of any template that are not terminating.
    pub total: i32,
    /// Pods of the current template.
    pub updated: i32,
    /// Pods that have been ready for `minReadySeconds`.
    pub available: i32,
    /// Time of the last restart, as `kubectl rollout restart` notes it; absent where that is no time.
    pub restarted: Option<Timestamp>,
}

impl Rollout {
    /// The annotation of the template by which a Deployment is restarted.
    ///
    /// Upstream: `defaultObjectRestarter` of kubectl.
    pub const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

    /// True if all of `replicas` pods are of the current template and available, and there are no others.
    ///
    /// Upstream: `DeploymentStatusViewer.Status` of kubectl.
    pub fn is_complete(&self, replicas: i32) -> bool {
        self.observed_generation >= self.generation
            && self.updated >= replicas
            && self.total <= self.updated
            && self.available >= replicas
    }
}

impl Amount {
    /// Number of pods out of `replicas`, rounded up; absent where it is not understood.
    ///
    /// Upstream: `intstr.GetScaledValueFromIntOrPercent`.
    pub fn rounded_up(&self, replicas: i32) -> Option<i32> {
        match self {
            Self::Pods(pods) => Some(*pods),
            Self::Part(text) => {
                let percent: i32 = text.strip_suffix('%')?.parse().ok()?;
                let hundredths = i64::from(percent).checked_mul(i64::from(replicas))?;
                i32::try_from(hundredths.checked_add(99)?.div_euclid(100)).ok()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_pod_counts_for_a_surge() {
        let part = |text: &str| Amount::Part(text.to_owned());
        for (amount, replicas, up) in [
            (part("25%"), 4, Some(1)),
            (part("25%"), 3, Some(1)),
            (part("25%"), 5, Some(2)),
            (part("25%"), 1, Some(1)),
            (part("0%"), 4, Some(0)),
            (part("100%"), 4, Some(4)),
            (Amount::Pods(2), 4, Some(2)),
            (part("25"), 4, None),
            (part("many%"), 4, None),
        ] {
            assert_eq!(amount.rounded_up(replicas), up, "{amount:?} of {replicas}");
        }
    }

    #[test]
    fn a_rollout_is_complete_when_only_new_pods_are_there_and_all_are_available() {
        let complete = Rollout {
            resource_version: "7".to_owned(),
            max_surge: None,
            is_paused: false,
            generation: 2,
            observed_generation: 2,
            total: 3,
            updated: 3,
            available: 3,
            restarted: None,
        };
        assert!(complete.is_complete(3));
        let with = |change: fn(&mut Rollout)| {
            let mut rollout = complete.clone();
            change(&mut rollout);
            rollout.is_complete(3)
        };
        for (name, is_complete) in [
            ("unseen", with(|rollout| rollout.observed_generation = 1)),
            ("old pods", with(|rollout| rollout.total = 4)),
            (
                "too few new ones",
                with(|rollout| (rollout.updated, rollout.total) = (2, 2)),
            ),
            ("not available", with(|rollout| rollout.available = 2)),
        ] {
            assert!(!is_complete, "{name}");
        }
    }
}
