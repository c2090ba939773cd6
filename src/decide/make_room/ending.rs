//! How making room ended: the exit status, and what there is to say.

use std::time::Duration;

use super::run::StageEnd;
use crate::decide::pending_pods::explain_pod;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, NamespacedName};
use crate::naming::phrase::few;

impl StageEnd {
    /// How the command ends for this pod, with the rules removed: 0 where it is scheduled, 5 where others got the devices
    /// or the time is over, and 1 where somebody else ended it.
    ///
    /// # Errors
    ///
    /// The pod is not scheduled.
    pub fn status(&self, pod: &NamespacedName) -> Result<ExitStatus, Failure> {
        match self {
            Self::Scheduled(..) => Ok(ExitStatus::Success),
            Self::Lost(competitors) => {
                let failure = Failure::new(
                    ExitStatus::TimedOut,
                    format!(
                        "another claim got the devices that pod {pod} needs; the rules are removed"
                    ),
                );
                let lines = competitors.iter().map(|it| it.describe());
                Err(lines.fold(failure, Failure::detail))
            }
            Self::TimedOut(left) => {
                let failure = Failure::new(
                    ExitStatus::TimedOut,
                    format!("pod {pod} was not scheduled in time; the rules are removed"),
                );
                let failure = left.iter().cloned().fold(failure, Failure::detail);
                let explain = explain_pod(pod);
                Err(failure.hint(format!("to see why it is pending: `{explain}`")))
            }
            Self::Gone => Err(Failure::new(
                ExitStatus::Failed,
                format!("pod {pod} was deleted meanwhile; the rules are removed"),
            )),
            Self::Reversed(why) => Err(Failure::new(
                ExitStatus::Failed,
                format!("{why} meanwhile, so the devices are no longer kept for pod {pod}"),
            )),
        }
    }

    /// That the pod is scheduled; absent where it is not.
    #[must_use]
    pub fn success(&self, pod: &NamespacedName) -> Option<String> {
        match self {
            Self::Scheduled(node, devices) => {
                let devices: Vec<String> = devices.iter().map(DeviceId::to_string).collect();
                let scheduled = format!("pod {pod} is scheduled on node {node}");
                // Where the scheduler made the room itself, the devices may not be known yet.
                Some(if devices.is_empty() {
                    scheduled
                } else {
                    format!("{scheduled} with {}", few(&devices))
                })
            }
            Self::Lost(_) | Self::TimedOut(_) | Self::Gone | Self::Reversed(_) => None,
        }
    }
}

/// What to do for whoever interrupts the command: its rules are removed, unless it is killed.
#[must_use]
pub fn interrupted() -> Vec<String> {
    vec![
        "to remove rules that are left: kubectl devicetaint remove -l devicetaint.dev/make-room"
            .to_owned(),
    ]
}

/// Whether the removal of the rules is tried again that failed with this status, where a time of `rest` is left: only what
/// passes by itself.
#[must_use]
pub fn is_removal_tried_again(failed: ExitStatus, rest: Duration) -> bool {
    failed == ExitStatus::TryAgain && !rest.is_zero()
}

/// How the command ends whose work is `done` so, and whose rules were `removed` then, perhaps after a signal that came
/// meanwhile. Rules that are left come first: they keep devices from everybody.
///
/// # Errors
///
/// What went wrong; and the signal, by `interrupted` where nothing else went wrong.
pub fn with_removal(
    done: Result<ExitStatus, Failure>,
    removed: Result<Option<ExitStatus>, Failure>,
    interrupted: impl FnOnce(ExitStatus) -> Failure,
) -> Result<ExitStatus, Failure> {
    match (done, removed) {
        (done, Ok(None)) => done,
        (Ok(_), Ok(Some(signal))) => Err(interrupted(signal)),
        (Err(first), Ok(Some(signal))) => Err(first.ending(signal)),
        (Ok(_), Err(failure)) => Err(failure),
        (Err(first), Err(second)) => Err(second.detail(first.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removal_is_tried_again_while_what_is_in_the_way_passes_and_time_is_left() {
        let second = Duration::from_secs(1);
        assert!(is_removal_tried_again(ExitStatus::TryAgain, second));
        assert!(!is_removal_tried_again(
            ExitStatus::TryAgain,
            Duration::ZERO
        ));
        assert!(!is_removal_tried_again(ExitStatus::Failed, second));
    }

    #[test]
    fn the_end_of_the_work_is_that_of_the_command_unless_rules_are_left_or_a_signal_came() {
        let of = |status: ExitStatus| Failure::new(status, format!("failure {}", status.code()));
        let end = |done, removed| with_removal(done, removed, of).map_err(|end| end.status());
        let success = || Ok(ExitStatus::Success);
        let late = || Err(of(ExitStatus::TimedOut));
        let stopped = || Ok(Some(ExitStatus::Interrupted));
        let kept = || Err(of(ExitStatus::Failed));
        assert_eq!(end(success(), Ok(None)), Ok(ExitStatus::Success));
        assert_eq!(end(late(), Ok(None)), Err(ExitStatus::TimedOut));
        assert_eq!(end(success(), stopped()), Err(ExitStatus::Interrupted));
        assert_eq!(end(late(), stopped()), Err(ExitStatus::Interrupted));
        assert_eq!(end(success(), kept()), Err(ExitStatus::Failed));
        let both = with_removal(late(), kept(), of).unwrap_err();
        assert_eq!(both.status(), ExitStatus::Failed);
        assert_eq!(both.details().len(), 1, "{both:?}");
    }
}
