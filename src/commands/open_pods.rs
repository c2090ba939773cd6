//! Debug pods that are not removed yet, for whoever ends the program meanwhile.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::{ClusterError, DebugPod};
use crate::naming::pod;

/// For how long the server is waited for by a program that somebody has stopped: it still has a pod to remove.
pub(crate) const FAREWELL: Duration = Duration::from_secs(5);
/// Why a pod is left, of which the server has confirmed nothing in that time.
pub(crate) const NO_RESPONSE: &str = "the server has not responded";
/// How long a pod may still be on its way to the server that was sent before the program was stopped.
const IN_FLIGHT: Duration = Duration::from_millis(500);

/// How long it is tried to remove a pod of which nobody knows whether it was made.
const LATE: Duration = Duration::from_millis(2_500);

/// The debug pods that are there, or may be.
#[derive(Debug, Default)]
pub(crate) struct OpenPods(Mutex<Vec<OpenPod>>);

#[derive(Clone, Debug)]
struct OpenPod {
    pod: DebugPod,
    /// Whether the server has said that it made it.
    is_made: bool,
}

impl OpenPods {
    /// The pod is about to be made.
    pub(crate) fn begin(&self, pod: &DebugPod) {
        self.state().push(OpenPod {
            pod: pod.clone(),
            is_made: false,
        });
    }

    /// The pod was made.
    pub(crate) fn made(&self, pod: &DebugPod) {
        let mut pods = self.state();
        let meant = pods.iter_mut().find(|open| open.is(pod));
        if let Some(open) = meant {
            open.is_made = true;
        }
    }

    /// The pod is gone, or its removal was tried and its failure told.
    pub(crate) fn over(&self, pod: &DebugPod) {
        self.state().retain(|open| !open.is(pod));
    }

    /// Removes all that are left; a line for each that could not be removed.
    pub(crate) async fn remove(&self) -> Vec<String> {
        let left = std::mem::take(&mut *self.state());
        let removed = join_all(left.iter().map(OpenPod::remove)).await;
        removed.into_iter().flatten().collect()
    }

    fn state(&self) -> MutexGuard<'_, Vec<OpenPod>> {
        // A panic while it was held must not keep pods from being removed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenPod {
    fn is(&self, pod: &DebugPod) -> bool {
        self.pod.name() == pod.name()
    }

    async fn remove(&self) -> Option<String> {
        let why = match timeout(FAREWELL, self.removed()).await {
            Ok(Ok(())) => return None,
            Ok(Err(error)) => error.to_string(),
            Err(_) => NO_RESPONSE.to_owned(),
        };
        Some(left_behind(&self.pod, &why))
    }

    /// Removes the pod; one that was sent and not confirmed may come after the first try.
    async fn removed(&self) -> Result<(), ClusterError> {
        let began = Instant::now();
        if !self.is_made {
            sleep(IN_FLIGHT).await;
        }
        while !self.pod.remove().await? && !self.is_made && began.elapsed() < LATE {
            sleep(IN_FLIGHT).await;
        }
        Ok(())
    }
}

/// That a pod could not be removed, and how that is done by hand.
pub(crate) fn left_behind(made: &DebugPod, why: &str) -> String {
    let by_hand = pod::arguments(made.namespace(), made.bare_name());
    format!(
        "pod {} could not be deleted: {why}; to delete it: kubectl delete {by_hand}",
        made.name()
    )
}
