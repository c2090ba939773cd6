//! Type states: the facts about pods that a view has read.
//!
//! Kinds that were not read are known as such at run time, and are gaps in an answer. Of a live cluster's pods only
//! those of the devices in question are read, so that no list of kinds can say whether they are the right ones; and
//! without them, pods that are evicted would look like none. So this is known to the compiler.

/// Facts read about pods.
pub(crate) trait ReadState: sealed::Sealed + Clone {}

/// The pods of the devices in question were read.
pub(crate) trait WithPods: ReadState {}

/// Slices, claims and rules.
#[derive(Clone)]
pub(crate) enum Devices {}

/// The pods of the devices in question, too.
#[derive(Clone)]
pub(crate) enum Pods {}

/// Also the disruption of these pods: budgets, owners, nodes, and where their claims could be allocated again.
#[derive(Clone)]
pub(crate) enum Disruption {}

impl ReadState for Devices {}
impl ReadState for Pods {}
impl ReadState for Disruption {}
impl WithPods for Pods {}
impl WithPods for Disruption {}

mod sealed {
    use super::{Devices, Disruption, Pods};

    pub(crate) trait Sealed {}

    impl Sealed for Devices {}
    impl Sealed for Pods {}
    impl Sealed for Disruption {}
}
