//! Why a kubelet could not be asked.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::model::NamespacedName;

/// Why a kubelet could not be asked over its socket, or what it has refused.
#[derive(Debug, thiserror::Error)]
pub enum KubeletError {
    /// Nothing is there.
    #[error("there is no socket {}", path.display())]
    Missing {
        /// Which.
        path: PathBuf,
    },
    /// Only root may open it.
    #[error("cannot open the socket {}: permission denied", path.display())]
    Denied {
        /// Which.
        path: PathBuf,
    },
    /// A socket is there, and nobody listens.
    #[error("nobody listens at the socket {}", path.display())]
    Deaf {
        /// Which.
        path: PathBuf,
    },
    /// Something else is there: a file or a folder.
    #[error("{} is no socket", path.display())]
    NoSocket {
        /// Which.
        path: PathBuf,
    },
    /// It cannot be used for another reason.
    #[error("cannot use {} as a socket", path.display())]
    Unusable {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else answers.
    #[error("what listens at {} is no kubelet's podresources API: {why}", path.display())]
    Foreign {
        /// Which.
        path: PathBuf,
        /// What it has said.
        why: String,
    },
    /// It has not answered in time.
    #[error("the kubelet at {} has not answered within {}s", path.display(), limit.as_secs_f64())]
    TimedOut {
        /// Which.
        path: PathBuf,
        /// How long was waited.
        limit: Duration,
    },
    /// It is asked too often, by others too.
    #[error("the kubelet at {} is asked too often, and refused for {}s", path.display(), limit.as_secs_f64())]
    Busy {
        /// Which.
        path: PathBuf,
        /// How long was tried.
        limit: Duration,
    },
    /// It cannot answer now, and says so.
    #[error("the kubelet at {} cannot answer now: {why}", path.display())]
    Unready {
        /// Which.
        path: PathBuf,
        /// What it has said.
        why: String,
    },
    /// The connection ended, or what came over it was no answer.
    #[error("the kubelet at {} has broken off its answer: {why}", path.display())]
    Broken {
        /// Which.
        path: PathBuf,
        /// What is known of it.
        why: String,
    },
    /// It does not know the call.
    #[error("the kubelet at {} does not have {call}", path.display())]
    NotServed {
        /// Which.
        path: PathBuf,
        /// Such as `GetAllocatableResources`.
        call: &'static str,
    },
    /// It knows no such pod.
    #[error("the kubelet at {} knows no pod {pod}", path.display())]
    NoPod {
        /// Which.
        path: PathBuf,
        /// The pod.
        pod: NamespacedName,
    },
    /// It refuses for another reason.
    #[error("the kubelet at {} refuses: {why}", path.display())]
    Refused {
        /// Which.
        path: PathBuf,
        /// What it has said.
        why: String,
    },
}

impl KubeletError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Missing { .. } => {
                "run this on the node itself, or from afar with --via-debug NODE; where the kubelet has another root folder, say --socket ROOT/pod-resources/kubelet.sock"
            }
            Self::Denied { .. } => {
                "only root of the node may ask its kubelet: sudo, or a pod that mounts /var/lib/kubelet/pod-resources and runs as root"
            }
            Self::Deaf { .. } => {
                "the kubelet is not running, or not ready yet: see systemctl status kubelet"
            }
            Self::NoSocket { .. } | Self::Unusable { .. } | Self::Foreign { .. } => {
                "the kubelet's own is /var/lib/kubelet/pod-resources/kubelet.sock, unless it has another root folder"
            }
            Self::TimedOut { .. } => {
                "see whether the kubelet is well: journalctl -u kubelet; or wait longer with --request-timeout"
            }
            Self::Busy { .. } => {
                "a kubelet takes 100 questions a second from all who ask: try again, or see who else does"
            }
            Self::Broken { .. } | Self::Unready { .. } => {
                "the kubelet may have been restarted just now: try again"
            }
            Self::NotServed { .. } => {
                "it is older than this question, or the feature gate for it is off: see the kubelet's version and configuration"
            }
            Self::NoPod { .. } => {
                "a kubelet knows the active pods of its own node only: kubectl get pod -o wide says which node that is"
            }
            Self::Refused { .. } => "see the kubelet's log: journalctl -u kubelet",
        }
    }

    /// Whether trying again may help.
    #[must_use]
    pub fn passes(&self) -> bool {
        match self {
            Self::Deaf { .. }
            | Self::TimedOut { .. }
            | Self::Busy { .. }
            | Self::Unready { .. }
            | Self::Broken { .. } => true,
            Self::Missing { .. }
            | Self::Denied { .. }
            | Self::NoSocket { .. }
            | Self::Unusable { .. }
            | Self::Foreign { .. }
            | Self::NotServed { .. }
            | Self::NoPod { .. }
            | Self::Refused { .. } => false,
        }
    }
}
