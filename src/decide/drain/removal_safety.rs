//! Whether the devices of an idle unit are safe to pull.

use crate::model::NodeName;
use crate::naming::phrase::few;

/// Whether the devices of a unit are safe to pull.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemovalSafety {
    /// Neither the API nor the kubelets of these nodes know of a use, and the hardware is that which was drained.
    Safe(Vec<String>),
    /// They are not, or that is unknown, for these reasons.
    Unsafe(Vec<String>),
}

/// The safety of a unit that no claim holds: the kubelets of the nodes `asked` hold nothing of it but what is in `held`, and
/// what is `unknown` about its hardware leaves the question open.
#[must_use]
pub fn removal_safety(
    asked: &[NodeName],
    held: Vec<String>,
    unknown: Vec<String>,
) -> RemovalSafety {
    let mut reasons = held;
    reasons.extend(unknown);
    if asked.is_empty() && reasons.is_empty() {
        reasons.push("no kubelet was queried".to_owned());
    }
    if reasons.is_empty() {
        RemovalSafety::Safe(asked.iter().map(ToString::to_string).collect())
    } else {
        RemovalSafety::Unsafe(reasons)
    }
}

impl RemovalSafety {
    /// The line that says so of a unit; none where it is not safe, which ends the unit otherwise.
    #[must_use]
    pub fn line(&self, unit: &str) -> Option<String> {
        match self {
            Self::Safe(nodes) => {
                let (kubelets, have) = if nodes.len() == 1 {
                    ("kubelet", "has")
                } else {
                    ("kubelets", "have")
                };
                Some(format!(
                    "the devices of unit {unit} are safe to pull (to remove from the machine): no claim holds them, and \
                     the {kubelets} of {} {have} released them",
                    few(nodes)
                ))
            }
            Self::Unsafe(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn safety(asked: &[&str], held: &[&str], unknown: &[&str]) -> RemovalSafety {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        let asked: Vec<NodeName> = asked.iter().map(|&node| NodeName::from(node)).collect();
        removal_safety(&asked, texts(held), texts(unknown))
    }

    #[test]
    fn only_what_every_source_calls_free_is_safe_to_pull() {
        let safe = safety(&["node-1"], &[], &[]);
        assert_eq!(
            safe.line("node-1").as_deref(),
            Some(
                "the devices of unit node-1 are safe to pull (to remove from the machine): no claim holds them, and \
                the kubelet of node-1 has released them"
            )
        );
        for (asked, held, unknown) in [
            (&["node-1"][..], &["gpu-0 is held"][..], &[][..]),
            (&["node-1"], &[], &["other hardware"]),
            (&[], &["the kubelet is silent"], &[]),
            (&[], &[], &[]),
        ] {
            let found = safety(asked, held, unknown);
            assert_eq!(found.line("node-1"), None, "{found:?}");
        }
    }
}
