//! Readers of the records of unreleased devices.

use crate::engine::device_removal::{RemovalCheck, RemovalObjection};

/// Who reads a record of an unreleased device: that decides what is left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordReader<'a> {
    /// A command that asks the API alone.
    Api,
    /// A command that asks the kubelet too, which a wait finds with these flags, such as `--verify-node`.
    Kubelet(&'a str),
}

impl<'a> RecordReader<'a> {
    /// A command that asks a kubelet: one that is perhaps not that of the node confirms nothing.
    #[must_use]
    pub fn of_kubelet(checks: &[RemovalCheck], flags: &'a str) -> Self {
        let is_unproven =
            |one: &RemovalCheck| one.objections.contains(&RemovalObjection::NodeUnproven);
        match checks.iter().any(is_unproven) {
            true => Self::Api,
            false => Self::Kubelet(flags),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::device;

    #[test]
    fn a_kubelet_that_is_perhaps_of_another_node_confirms_nothing() {
        let check = |objections| RemovalCheck {
            device: device("gpu-0"),
            is_tainted: Some(true),
            aliases: Vec::new(),
            objections,
        };
        let flags = "--verify-node --node node-7";
        let unproven = [
            check(Vec::new()),
            check(vec![RemovalObjection::NodeUnproven]),
        ];
        assert_eq!(
            RecordReader::of_kubelet(&unproven, flags),
            RecordReader::Api
        );
        assert_eq!(
            RecordReader::of_kubelet(&unproven[..1], flags),
            RecordReader::Kubelet(flags)
        );
    }
}
