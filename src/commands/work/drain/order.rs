//! The units to drain, and how.

use std::time::Duration;

use crate::assess::Guard;
use crate::commands::context::Context;
use crate::commands::work::connect::Live;
use crate::decide::Version;
use crate::decide::drain::{AbortAction, RestartPlan, Unit, UnitLimits, UnitProgress};
use crate::engine::Semantics;

/// Parameters that all units of a drain share.
pub(crate) struct DrainOrder<'a> {
    /// Name of the drain.
    pub(crate) name: &'a str,
    pub(crate) live: &'a Live,
    pub(crate) version: Version,
    pub(crate) semantics: Semantics,
    pub(crate) limits: UnitLimits,
    /// Guards that pause the drain before a unit starts.
    pub(crate) pauses: Vec<Guard>,
    /// What becomes of units that have not started when a guard ends the drain.
    pub(crate) on_abort: AbortAction,
    /// Owners that are restarted, as announced before the question.
    pub(crate) restarts: RestartPlan,
    /// How long devices must be idle, and how long the scheduler has to observe taints.
    pub(crate) settle: Duration,
    pub(crate) context: &'a Context,
}

/// A unit to drain.
pub(crate) struct DrainRun {
    pub(crate) unit: Unit,
    /// The names of its rules.
    pub(crate) rules: Vec<String>,
    /// Stage that an earlier run has reached.
    pub(crate) progress: UnitProgress,
}
