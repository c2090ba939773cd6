//! What the units of one run of a drain share while they are drained, several at a time perhaps.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::Mutex;

use crate::commands::context::Context;
use crate::commands::work::changer::Changer;
use crate::commands::work::consent::SafetyLimits;
use crate::commands::work::mutation_context::MutationContext;
use crate::decide::drain::{
    DrainEnd, DrainProgress, OccupiedWorkloads, StagedUnit, combined, staged_units,
};
use crate::model::{DeviceTaintRule, NamespacedName, Uid};
use crate::output::StatusLine;

/// What the units of one run share.
pub(super) struct Board<'a, 'c> {
    pub(super) mutation: &'a MutationContext,
    pub(super) safety: &'a SafetyLimits,
    /// Changes effects of rules, one unit after the other.
    pub(super) changer: Mutex<&'a mut Changer<'c>>,
    context: &'a Context,
    /// The names of the units, as they begin.
    order: Vec<String>,
    end: RefCell<DrainEnd>,
    busy: RefCell<OccupiedWorkloads>,
    shown: RefCell<BTreeMap<String, DrainProgress>>,
    status: RefCell<Option<StatusLine<'a>>>,
}

impl<'a, 'c> Board<'a, 'c> {
    /// Nothing has begun.
    pub(super) fn new(
        end: DrainEnd,
        mutation: &'a MutationContext,
        safety: &'a SafetyLimits,
        changer: &'a mut Changer<'c>,
        context: &'a Context,
    ) -> Self {
        Self {
            mutation,
            safety,
            changer: Mutex::new(changer),
            context,
            order: end.waiting.clone(),
            end: RefCell::new(end),
            busy: RefCell::default(),
            shown: RefCell::default(),
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

    /// Notes that budgets alone keep a unit from being drained.
    pub(super) fn needs_force(&self) {
        self.end.borrow_mut().needs_force = true;
    }

    /// Notes the unschedulable pod that keeps a unit from being drained.
    pub(super) fn unplaced(&self, pod: NamespacedName) {
        self.end.borrow_mut().unplaced.insert(pod);
    }

    /// All units with their stages.
    pub(super) fn units(&self) -> Vec<StagedUnit> {
        staged_units(&self.order, &self.end.borrow())
    }

    /// Notes that the unit is over, or was not started; changes to the results are made by `note`.
    pub(super) fn finish(&self, unit: &str, note: impl FnOnce(&mut DrainEnd)) {
        self.busy.borrow_mut().release(unit);
        self.shown.borrow_mut().remove(unit);
        if self.shown.borrow().is_empty() {
            drop(self.status.take());
        }
        let mut end = self.end.borrow_mut();
        end.finish(unit);
        note(&mut end);
    }

    /// Notes the workloads that the unit takes pods of.
    pub(super) fn occupy(&self, unit: &str, workloads: BTreeSet<Uid>) {
        self.busy.borrow_mut().occupy(unit, workloads);
    }

    /// The workloads that other units take pods of.
    pub(super) fn occupied_beside(&self, unit: &str) -> BTreeSet<Uid> {
        self.busy.borrow().beside(unit)
    }

    /// Shows how far the unit is, beside the others.
    pub(super) fn show(&self, unit: &str, progress: DrainProgress) {
        let mut shown = self.shown.borrow_mut();
        shown.insert(unit.to_owned(), progress);
        let parts: Vec<&DrainProgress> = shown.values().collect();
        let all = combined(&parts);
        self.context.ledger.left(&all.state);
        let mut status = self.status.borrow_mut();
        let status = status.get_or_insert_with(|| StatusLine::new(&self.context.printer));
        status.show(&all.state, &all.line, &all.lines);
    }
}
