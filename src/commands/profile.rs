//! Profile that every command declares.

use crate::cluster::Purpose;

/// Properties of a command, known before it is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommandProfile {
    /// Purpose of the connection; absent if it needs no cluster.
    pub(super) purpose: Option<Purpose>,
    /// Effect of `--namespace`.
    pub(super) namespace: NamespaceFilter,
    /// Handler of Ctrl-C and SIGTERM.
    pub(super) signals: Signals,
}

/// Meaning of a namespace for a command.
#[derive(Clone, Copy, Debug)]
pub(super) enum NamespaceFilter {
    /// Narrows the pods or claims of the report.
    Narrows,
    /// Narrows nothing, for this reason.
    Meaningless(&'static str),
}

/// Reaction of a command to signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signals {
    /// It ends where it is.
    End,
    /// It listens to signals itself, since it has to ask the cluster for something then.
    TidiesUp,
}

/// Reason why a namespace narrows no effect of taints.
pub(super) const PODS_OF_EVERY_NAMESPACE: &str = "taints affect pods in every namespace; to filter \
    by namespace: -o json, field affectedPods[].namespace";

/// Why a namespace narrows no dedication.
pub(super) const OF_A_DEDICATION: &str =
    "the namespaces of a dedication are set with `dedicate --to` or `--namespace-selector`";

impl CommandProfile {
    /// Reads one cluster for answers about rules, or changes them.
    pub(super) fn of(purpose: Purpose) -> Self {
        Self {
            purpose: Some(purpose),
            namespace: NamespaceFilter::Meaningless(
                "DeviceTaintRules are cluster-scoped, and apply to every namespace",
            ),
            signals: Signals::End,
        }
    }

    /// Needs no cluster.
    pub(super) fn without_cluster() -> Self {
        Self {
            purpose: None,
            namespace: NamespaceFilter::Meaningless("this command reads no cluster"),
            signals: Signals::End,
        }
    }

    /// With another meaning of `--namespace`.
    pub(super) fn with_namespace(self, namespace: NamespaceFilter) -> Self {
        Self { namespace, ..self }
    }

    /// As one that tidies up, if it has to.
    pub(super) fn tidying_up(self, tidies_up: bool) -> Self {
        let signals = if tidies_up {
            Signals::TidiesUp
        } else {
            self.signals
        };
        Self { signals, ..self }
    }
}
