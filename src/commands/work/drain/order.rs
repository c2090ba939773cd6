//! The units to drain, and how.

use std::collections::BTreeMap;
use std::time::Duration;

use super::verify::KubeletQuery;
use crate::assess::Guard;
use crate::commands::context::Context;
use crate::commands::work::connect::Live;
use crate::decide::Version;
use crate::decide::drain::{
    AbortAction, RecordedWorkloads, RestartPlan, Unit, UnitLimits, UnitProgress,
};
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
    /// How many units are drained at the same time.
    pub(crate) parallel: usize,
    /// How many units the drain has, with those that are done or reversed.
    pub(crate) units: usize,
    /// Units that are left out, with the reasons.
    pub(crate) skipped: BTreeMap<String, String>,
    /// The workloads that have pods on the devices, by unit.
    pub(crate) workloads: BTreeMap<String, RecordedWorkloads>,
    /// How kubelets are asked at the end of a unit, if they are.
    pub(crate) kubelets: Option<KubeletQuery>,
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
