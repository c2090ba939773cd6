//! The units of a drain, its rules, and its pods before anything is tainted.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::permission::{check_evictions, refuse_missing_permissions};
use crate::assess::{Basis, DeviceBasis, Sibling};
use crate::cluster::{NodeDetail, WriteMode};
use crate::commands::context::Context;
use crate::commands::work::mutation_context::MutationContext;
use crate::decide::approval::EvictionMethod;
use crate::decide::choice::{
    Choice, ChoiceBasis, DeviceArguments, DeviceFilterFlags, Purpose, refuse_unmatched,
};
use crate::decide::drain::{
    DrainLimits, DrainPlan, DrainTerms, Inclusions, RestartProgress, RestartState, Unit, UnitKind,
    UnitPod, drain_replacements, drain_taint, pods_of, restart_states, tainted_since, units,
    unread, workload_states,
};
use crate::decide::identity::with_identities;
use crate::decide::proposal::{Drains, NamedOwners, ProposedRule};
use crate::decide::{AddStep, Existing, Proposal, Terms, add};
use crate::engine::{self, Impact, ProposedTaint};
use crate::error::Failure;
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule, Effect, Pod, Taint, Uid};
use crate::naming::phrase::few;

/// Flags and arguments of a drain.
pub(crate) struct DrainRequest {
    /// Devices.
    pub(crate) targets: Vec<String>,
    /// Nodes.
    pub(crate) nodes: Vec<String>,
    /// Selects also devices that use the same counters.
    pub(crate) with_partitions: bool,
    pub(crate) kind: UnitKind,
    pub(crate) name: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) limits: DrainLimits,
    /// Mode of changes; absent if they are not sent.
    pub(crate) mode: Option<WriteMode>,
}

/// The work of a drain.
pub(crate) struct PreparedDrain {
    pub(crate) terms: DrainTerms,
    pub(crate) units: Vec<Unit>,
    /// The rules of each unit.
    pub(crate) steps: Vec<Vec<AddStep>>,
}

/// The pods of a drain.
pub(crate) struct CheckedDrain {
    /// The lines above the question.
    lines: Vec<String>,
    /// The pods that are evicted.
    leaving: Vec<UnitPod>,
    /// The pods that are not.
    kept: BTreeSet<Uid>,
    /// The Deployments that are restarted.
    restarts: BTreeMap<Uid, RestartState>,
}

impl DrainRequest {
    /// The selected devices: one choice for each node, or one for all devices.
    pub(crate) fn choices(&self) -> Result<Vec<Choice>, Failure> {
        let choice = |node: Option<&String>| {
            let arguments = DeviceArguments {
                arguments: self.targets.clone(),
                filters: DeviceFilterFlags {
                    node: node.cloned(),
                    with_partitions: self.with_partitions,
                    ..DeviceFilterFlags::default()
                },
                ..DeviceArguments::default()
            };
            Choice::parse(&arguments, Purpose::Choose)
        };
        if self.nodes.is_empty() {
            return Ok(vec![choice(None)?]);
        }
        self.nodes.iter().map(|node| choice(Some(node))).collect()
    }

    /// The selected devices.
    pub(crate) async fn devices(
        &self,
        choices: Vec<Choice>,
        mutation: MutationContext,
        context: &Context,
    ) -> Result<(MutationContext, BTreeSet<DeviceId>), Failure> {
        let mut mutation = mutation;
        let mut devices = BTreeSet::new();
        for choice in choices {
            let (now, choice) = Box::pin(mutation.resolved(&choice, context)).await?;
            mutation = now;
            let view = &mutation.view;
            let ChoiceBasis::Selectors(selectors) = choice.by else {
                continue;
            };
            let proposed = as_evicting(selectors, "", view.now);
            refuse_unmatched(&proposed, &view.reading, &view.semantics)
                .map_err(|failure| self.with_node_hints(failure, mutation.view.device_basis()))?;
            devices.extend(view.selected(&proposed).devices);
        }
        Ok((mutation, devices))
    }

    /// The failure with the flags for targets that are names of nodes.
    fn with_node_hints(&self, failure: Failure, basis: DeviceBasis<'_>) -> Failure {
        let inventory = engine::devices(&basis.reading.snapshot, basis.semantics);
        let nodes: BTreeSet<&str> = inventory
            .iter()
            .filter_map(|state| Some(state.node?.as_str()))
            .collect();
        let named = self.targets.iter().filter(|it| nodes.contains(it.as_str()));
        named.fold(failure, |failure, node| {
            failure.hint(format!("to drain node {node}: --node {node}"))
        })
    }

    /// The units and the rules of each; `rules` are all rules.
    pub(crate) fn prepare(
        &self,
        devices: &BTreeSet<DeviceId>,
        rules: &[DeviceTaintRule],
        basis: &DeviceBasis<'_>,
    ) -> Result<PreparedDrain, Failure> {
        let units = units(devices, self.kind, basis)?;
        let nodes: BTreeSet<String> = self.nodes.iter().cloned().collect();
        let terms = DrainTerms::new(self.name.as_deref(), self.reason.clone(), &nodes, devices)?;
        let existing = Terms {
            existing: Existing::Kept,
            semantics: basis.semantics,
            now: basis.now,
        };
        let steps = units.iter().map(|unit| {
            let drafts = terms.drafts(unit, rules)?;
            let drafts = with_identities(drafts, &basis.reading.snapshot, basis.semantics);
            add(drafts, rules, &existing)
        });
        let steps = steps.collect::<Result<Vec<_>, Failure>>()?;
        Ok(PreparedDrain {
            terms,
            units,
            steps,
        })
    }

    /// Refuses a drain that cannot succeed, or that the user may not carry out, before anything is tainted.
    pub(crate) async fn check(
        &self,
        prepared: &PreparedDrain,
        mutation: &MutationContext,
    ) -> Result<CheckedDrain, Failure> {
        // A dry run by this plugin sends nothing that could change anything.
        if self.mode.is_some() {
            refuse_missing_permissions(mutation).await?;
        }
        let proposed = prepared.as_evicting(mutation.view.now);
        let view = mutation.view.clone();
        let view = Box::pin(view.with_pods_for(&proposed, &[])).await?;
        // Also whether nodes are cordoned.
        let view = view.with_places(NodeDetail::Whole).await?;
        let checked = self.assess(prepared, &view.basis())?;
        if self.mode.is_some() {
            check_evictions(&checked.leaving, &checked.restarts, mutation).await?;
        }
        Ok(checked)
    }

    /// The pods of the drain, and reasons to refuse it.
    fn assess(&self, prepared: &PreparedDrain, basis: &Basis<'_>) -> Result<CheckedDrain, Failure> {
        let limits = &self.limits;
        let reading = basis.reading;
        let proposed = prepared.as_evicting(basis.now);
        let impact = basis.impact(&proposed);
        let pods = pods_of(&impact, basis);
        let of_leaving = leaving(&impact, &pods, limits.included);
        let evicted = of_leaving.pods.iter().map(|found| found.pod.clone());
        let (_, unknown) = workload_states(&evicted.collect::<Vec<Pod>>(), reading);
        let unread: Vec<String> = unread(reading).into_iter().chain(unknown).collect();
        let existing = prepared.existing();
        // An earlier run began with the same units, so pods may wait for devices already.
        let replacements = existing.is_empty().then(|| {
            let by_taint = self.limits.force_after.is_some();
            drain_replacements(&of_leaving, &proposed, by_taint, basis)
        });
        let mut restarts = BTreeMap::new();
        if limits.restarts {
            let since = tainted_since(&existing);
            let pods: Vec<&Pod> = of_leaving.pods.iter().map(|found| found.pod).collect();
            restarts = restart_states(pods, reading, since);
            restarts.retain(|_, restart| restart.progress == RestartProgress::NotBegun);
        }
        let siblings = Sibling::of(&impact, basis).into_iter();
        let siblings = siblings.filter(|sibling| !sibling.is_shared() && !sibling.is_admin);
        let siblings: Vec<String> = siblings.map(|sibling| sibling.line()).collect();
        let plan = DrainPlan {
            name: &prepared.terms.name,
            units: &prepared.units,
            pods: &pods,
            replacements: replacements.as_ref(),
            limits,
            restarts: &restarts,
            siblings: &siblings,
            unread: &unread,
        };
        plan.refuse()?;
        let lines = plan.lines();
        let (leaving, kept): (Vec<UnitPod>, Vec<UnitPod>) = pods
            .into_iter()
            .partition(|pod| pod.is_evicted(limits.included));
        Ok(CheckedDrain {
            lines,
            leaving,
            kept: kept.into_iter().map(|pod| pod.uid).collect(),
            restarts,
        })
    }

    pub(crate) fn proposal(&self, prepared: &PreparedDrain, checked: &CheckedDrain) -> Proposal {
        let lines = checked.lines.clone();
        let names: Vec<String> = prepared
            .units
            .iter()
            .map(|unit| unit.name.clone())
            .collect();
        let is_forced = self.limits.force_after.is_some();
        Proposal {
            rules: prepared.all_steps().map(ProposedRule::from).collect(),
            action: format!("Drain {}", few(&names)),
            whose: NamedOwners::All,
            is_noted_before: false,
            patience: None,
            drains: Some(if is_forced || prepared.is_raised() {
                Drains::ByTaint(lines)
            } else {
                Drains::ByEviction(lines, checked.kept.clone())
            }),
            eviction: if is_forced {
                EvictionMethod::Forced
            } else {
                EvictionMethod::EvictionApi
            },
        }
    }
}

impl PreparedDrain {
    /// The rules of all units.
    pub(crate) fn all_steps(&self) -> impl Iterator<Item = &AddStep> {
        self.steps.iter().flatten()
    }

    /// The rules that exist, if all do.
    fn existing(&self) -> Vec<DeviceTaintRule> {
        let rules = self.all_steps().map(|step| step.existing().cloned());
        rules.collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    /// True if rules of an earlier run exist, which may have evicted pods.
    pub(crate) fn is_resumed(&self) -> bool {
        self.all_steps().any(|step| step.existing().is_some())
    }

    /// True if an earlier run has given a rule effect NoExecute.
    fn is_raised(&self) -> bool {
        self.all_steps()
            .any(|step| step.draft().taint.effect == Effect::NoExecute)
    }

    /// The taints of its units, as if they evicted the pods.
    fn as_evicting(&self, now: Timestamp) -> Vec<ProposedTaint> {
        let selectors = self.units.iter().flat_map(|unit| unit.selectors.clone());
        as_evicting(selectors, &self.terms.name, now)
    }
}

/// Taints of a drain on these devices, as if they evicted the pods.
fn as_evicting(
    selectors: impl IntoIterator<Item = DeviceSelector>,
    drain: &str,
    now: Timestamp,
) -> Vec<ProposedTaint> {
    let taint = Taint {
        effect: Effect::NoExecute,
        ..drain_taint(drain)
    };
    ProposedTaint::hypothetical_for(selectors, &taint, now)
}

/// The pods of `impact` that are evicted.
pub(crate) fn leaving<'a>(
    impact: &Impact<'a>,
    pods: &[UnitPod],
    included: Inclusions,
) -> Impact<'a> {
    let leaving = pods.iter().filter(|pod| pod.is_evicted(included));
    let uids: BTreeSet<&Uid> = leaving.map(|pod| &pod.uid).collect();
    let mut impact = impact.clone();
    impact.pods.retain(|found| uids.contains(&found.pod.uid));
    impact
}
