//! Nodes on which a pod cannot be scheduled, in words.

use crate::engine::closed_nodes::{ClosedNode, ClosedReason};

/// So many nodes are named.
const MOST_NAMED: usize = 3;

/// Those of them that have devices, with the reason of each; nothing where there are none.
pub fn closed_line(closed: &[ClosedNode]) -> Option<String> {
    let closed: Vec<&ClosedNode> = closed.iter().filter(|node| node.has_devices).collect();
    let named = closed.iter().take(MOST_NAMED).map(|node| {
        let name = &node.name;
        match &node.reason {
            ClosedReason::Cordoned => format!("{name} is cordoned"),
            ClosedReason::Tainted(taint) => format!("{name} has taint {taint}"),
        }
    });
    let more = closed.len().saturating_sub(MOST_NAMED);
    let more = (more > 0).then(|| format!("and {more} more"));
    let named: Vec<String> = named.chain(more).collect();
    (!named.is_empty()).then(|| {
        format!(
            "nodes on which the pod cannot be scheduled: {}",
            named.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_nodes_with_devices_are_named_with_the_reason() {
        let tainted = |name: &str, key: &str| ClosedNode {
            name: name.into(),
            has_devices: true,
            reason: ClosedReason::Tainted(crate::engine::testing::untimed(&format!(
                "{key}:NoSchedule"
            ))),
        };
        let cordoned = ClosedNode {
            name: "node-1".into(),
            has_devices: true,
            reason: ClosedReason::Cordoned,
        };
        let without_devices = ClosedNode {
            name: "control-plane".into(),
            has_devices: false,
            reason: ClosedReason::Cordoned,
        };
        assert_eq!(closed_line(std::slice::from_ref(&without_devices)), None);
        let closed = [
            cordoned,
            tainted("node-2", "a"),
            tainted("node-3", "b"),
            tainted("node-4", "c"),
        ];
        assert_eq!(
            closed_line(&closed).as_deref(),
            Some(
                "nodes on which the pod cannot be scheduled: node-1 is cordoned, node-2 has taint a:NoSchedule, \
                 node-3 has taint b:NoSchedule, and 1 more"
            )
        );
        assert_eq!(closed_line(&[]), None);
    }
}
