//! How making room ended: the exit status, and what there is to say.

use super::run::StageEnd;
use crate::decide::next_words::explain_pod;
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
    vec!["to remove rules that are left: kubectl devicetaint make-room --cleanup".to_owned()]
}
