//! Errors of requests to a kubelet.

use std::time::Duration;

/// Failed request to a kubelet over its socket.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct KubeletError {
    pub(super) kind: KubeletErrorKind,
    pub(super) message: String,
}

/// Causes of failed requests, as far as hints and retries differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KubeletErrorKind {
    /// There is no socket.
    Missing,
    /// Only root may open it.
    Denied,
    /// No process listens on the socket.
    NotListening,
    /// It is not the socket of a kubelet's podresources API.
    OtherSocket,
    /// There was no response in time.
    TimedOut,
    /// The kubelet gets too many requests, also from other clients.
    Busy,
    /// The kubelet starts, or has closed the connection.
    Restarting,
    /// The kubelet rejected the request for another reason.
    Rejected,
}

/// A limit of time in seconds, rounded: what is left of a limit is a number of nanoseconds.
pub(super) fn seconds(limit: Duration) -> f64 {
    let parts = if limit < Duration::from_secs(1) {
        1000.0
    } else {
        10.0
    };
    (limit.as_secs_f64() * parts).round() / parts
}

impl KubeletError {
    /// The way out.
    pub fn hint(&self) -> &'static str {
        match self.kind {
            KubeletErrorKind::Missing => {
                "run this on the node; if the kubelet has another root directory, set \
                 --socket ROOT/pod-resources/kubelet.sock"
            }
            KubeletErrorKind::Denied => {
                "run as root on the node (sudo), or in a pod that runs as root and mounts \
                 /var/lib/kubelet/pod-resources"
            }
            KubeletErrorKind::NotListening => {
                "check whether the kubelet is running and ready: systemctl status kubelet"
            }
            KubeletErrorKind::OtherSocket => {
                "use the kubelet's own socket: /var/lib/kubelet/pod-resources/kubelet.sock, unless the \
                 kubelet has another root directory"
            }
            KubeletErrorKind::TimedOut => {
                "check the kubelet's log: journalctl -u kubelet; or wait longer with \
                 --request-timeout"
            }
            KubeletErrorKind::Busy => {
                "try again, or stop other clients of this socket: a kubelet accepts 100 requests per \
                 second in total"
            }
            KubeletErrorKind::Restarting => "try again: the kubelet may have just restarted",
            KubeletErrorKind::Rejected => "check the kubelet's log: journalctl -u kubelet",
        }
    }

    /// True if a retry may help.
    pub fn passes(&self) -> bool {
        match self.kind {
            KubeletErrorKind::NotListening
            | KubeletErrorKind::TimedOut
            | KubeletErrorKind::Busy
            | KubeletErrorKind::Restarting => true,
            KubeletErrorKind::Missing
            | KubeletErrorKind::Denied
            | KubeletErrorKind::OtherSocket
            | KubeletErrorKind::Rejected => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_rounded() {
        let left = Duration::from_nanos(5_999_922_504);
        for (limit, shown) in [
            (left, 6.0),
            (Duration::from_millis(1500), 1.5),
            (Duration::from_millis(50), 0.05),
        ] {
            assert!((seconds(limit) - shown).abs() < 1e-9, "{limit:?}");
        }
    }
}
