//! Why a kubelet could not be asked.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a kubelet could not be asked over its socket, or what it has refused.
#[derive(Debug, thiserror::Error)]
pub enum KubeletError {
    /// Nothing is there.
    #[error("socket {} not found", path.display())]
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
    #[error("no process listens on socket {}", path.display())]
    Deaf {
        /// Which.
        path: PathBuf,
    },
    /// Something else is there: a file or a folder.
    #[error("{} is not a socket", path.display())]
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
    #[error("{} is not the podresources API of a kubelet: {why}", path.display())]
    Foreign {
        /// Which.
        path: PathBuf,
        /// What it has said.
        why: String,
    },
    /// It has not answered in time.
    #[error("the kubelet at {} did not respond within {}s", path.display(), seconds(*limit))]
    TimedOut {
        /// Which.
        path: PathBuf,
        /// How long was waited.
        limit: Duration,
    },
    /// It is asked too often, by others too.
    #[error("the kubelet at {} is overloaded, and accepted no attempt of this request within \
        {}s", path.display(), seconds(*limit))]
    Busy {
        /// Which.
        path: PathBuf,
        /// How long was tried.
        limit: Duration,
    },
    /// It cannot answer now, and says so.
    #[error("the kubelet at {} is unavailable: {why}", path.display())]
    Unready {
        /// Which.
        path: PathBuf,
        /// What it has said.
        why: String,
    },
    /// The connection ended, or what came over it was no answer.
    #[error("the kubelet at {} closed the connection before the end of its response: {why}", path.display())]
    Broken {
        /// Which.
        path: PathBuf,
        /// What is known of it.
        why: String,
    },
    /// It refuses for another reason.
    #[error("the kubelet at {} rejected the request: {why}", path.display())]
    Refused {
        /// Which.
        path: PathBuf,
        /// What it has said.
        why: String,
    },
}

/// A limit of time in seconds: what is left of a limit is not shown to the nanosecond.
fn seconds(limit: Duration) -> f64 {
    let parts = if limit < Duration::from_secs(1) {
        1000.0
    } else {
        10.0
    };
    (limit.as_secs_f64() * parts).round() / parts
}

impl KubeletError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Missing { .. } => {
                "run this on the node; if the kubelet has another root directory, set \
                 --socket ROOT/pod-resources/kubelet.sock"
            }
            Self::Denied { .. } => {
                "run as root on the node (sudo), or in a pod that runs as root and mounts \
                 /var/lib/kubelet/pod-resources"
            }
            Self::Deaf { .. } => {
                "check whether the kubelet is running and ready: systemctl status kubelet"
            }
            Self::NoSocket { .. } | Self::Unusable { .. } | Self::Foreign { .. } => {
                "use the kubelet's own socket: /var/lib/kubelet/pod-resources/kubelet.sock, unless the \
                 kubelet has another root directory"
            }
            Self::TimedOut { .. } => {
                "check the kubelet's log: journalctl -u kubelet; or wait longer with \
                 --request-timeout"
            }
            Self::Busy { .. } => {
                "try again, or stop other clients of this socket: a kubelet accepts 100 requests per \
                 second in total"
            }
            Self::Broken { .. } | Self::Unready { .. } => {
                "try again: the kubelet may have just restarted"
            }
            Self::Refused { .. } => "check the kubelet's log: journalctl -u kubelet",
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
            | Self::Refused { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_limit_is_shown_rounded() {
        let said = |limit: Duration| {
            let path = PathBuf::from("/s");
            KubeletError::TimedOut { path, limit }.to_string()
        };
        let left = Duration::from_nanos(5_999_922_504);
        assert_eq!(said(left), "the kubelet at /s did not respond within 6s");
        for (typed, shown) in [(1500, "1.5s"), (50, "0.05s")] {
            let typed = Duration::from_millis(typed);
            assert_eq!(
                said(typed),
                format!("the kubelet at /s did not respond within {shown}")
            );
        }
    }
}
