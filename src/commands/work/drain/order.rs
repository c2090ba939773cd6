//! What is drained, and how.

use std::time::Duration;

use crate::commands::context::Context;
use crate::commands::work::connect::Live;
use crate::decide::Version;
use crate::decide::drain::{RestartPlan, Unit, UnitLimits, UnitProgress};
use crate::engine::Semantics;

/// What is drained, and how.
pub(crate) struct DrainOrder<'a> {
    /// What the drain is called.
    pub(crate) name: &'a str,
    pub(crate) live: &'a Live,
    pub(crate) version: Version,
    pub(crate) semantics: Semantics,
    pub(crate) limits: UnitLimits,
    /// Which owners are restarted, as it was announced.
    pub(crate) restarts: RestartPlan,
    /// How long devices have to be idle, and the scheduler has to learn of taints.
    pub(crate) settle: Duration,
    pub(crate) context: &'a Context,
}

/// A unit that is to be drained.
pub(crate) struct DrainRun {
    pub(crate) unit: Unit,
    /// The names of its rules.
    pub(crate) rules: Vec<String>,
    /// How far an earlier run came.
    pub(crate) progress: UnitProgress,
}
