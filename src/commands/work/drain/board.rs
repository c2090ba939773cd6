//! Results of one run of a drain, and its progress.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::commands::context::Context;
use crate::decide::drain::{DrainEnd, DrainProgress, UnitEnd};
use crate::engine::forced_deletions::UnreleasedPod;
use crate::engine::hardware::Hardware;
use crate::model::{DeviceId, DeviceTaintRule, NamespacedName};
use crate::output::StatusLine;
use crate::report::blocker::Blocker;

/// Results of one run, which the unit that is drained and the watch of waiting units share.
pub(super) struct Board<'a> {
    context: &'a Context,
    /// The names of the units, as they begin.
    pub(super) units: Vec<String>,
    end: RefCell<DrainEnd>,
    /// What was seen of pods that are gone from units that had not begun, with the hardware that their nodes may hold.
    unreleased: RefCell<BTreeMap<String, BTreeSet<DeviceId>>>,
    status: RefCell<Option<StatusLine<'a>>>,
}

impl<'a> Board<'a> {
    /// Nothing has begun.
    pub(super) fn new(end: DrainEnd, context: &'a Context) -> Self {
        Self {
            context,
            units: end.waiting.clone(),
            end: RefCell::new(end),
            unreleased: RefCell::default(),
            status: RefCell::default(),
        }
    }

    /// Results so far.
    pub(super) fn end(&self) -> DrainEnd {
        self.end.borrow().clone()
    }

    /// Notes that the unit is next.
    pub(super) fn begin(&self, unit: &str) {
        self.end.borrow_mut().begin(unit);
    }

    /// Notes which ended units others have reversed, as the rules of the drain show now, and prints those that are new.
    pub(super) fn observe(&self, rules: &[DeviceTaintRule]) {
        let lines = self.end.borrow_mut().observe_ended(rules);
        for line in lines {
            self.context.printer.warn(&line);
        }
    }

    /// Notes that the nodes of these pods may not have released the devices.
    pub(super) fn note_unreleased(&self, pods: &[UnreleasedPod], hardware: &Hardware) {
        let seen = pods.iter().map(|pod| {
            let message = Blocker::not_released(pod).message;
            (message, hardware.closure(&pod.devices))
        });
        self.unreleased.borrow_mut().extend(seen);
    }

    /// What was noted of the hardware of these devices.
    pub(super) fn unreleased_on(&self, devices: &BTreeSet<DeviceId>) -> Vec<String> {
        let unreleased = self.unreleased.borrow();
        let here = unreleased
            .iter()
            .filter(|(_, held)| !held.is_disjoint(devices));
        here.map(|(message, _)| message.clone()).collect()
    }

    /// Notes that budgets alone keep a unit from being drained.
    pub(super) fn needs_force(&self) {
        self.end.borrow_mut().needs_force = true;
    }

    /// Notes the unschedulable pod that keeps a unit from being drained.
    pub(super) fn unplaced(&self, pod: NamespacedName) {
        self.end.borrow_mut().unplaced.insert(pod);
    }

    /// Notes the result of the unit that was drained.
    pub(super) fn finish(&self, unit: &str, end: UnitEnd) {
        drop(self.status.take());
        self.end.borrow_mut().finish(unit, end);
    }

    /// Shows how far the unit is.
    pub(super) fn show(&self, progress: &DrainProgress) {
        self.context.ledger.left(&progress.state);
        let mut status = self.status.borrow_mut();
        let status = status.get_or_insert_with(|| StatusLine::new(&self.context.printer));
        status.say(&progress.state, &progress.line);
    }
}
