//! The units of a drain, its rules, and its pods before anything is tainted.

use super::units::object_version;
use crate::assess::{Basis, DeviceBasis, Sibling};
use crate::cluster::{
    AccessQuery, NodeDetail, Permission, Purpose, WriteAnswer, WriteMode, restart,
};
use crate::commands::context::Context;
use crate::commands::work::access::{refuse_missing, try_evictions};
use crate::commands::work::connect::failed;
use crate::commands::work::mutation_context::MutationContext;
use crate::decide::change_log::DryRun;
use crate::decide::choice::{
    self, Choice, ChoiceBasis, DeviceArguments, DeviceFilterFlags, refuse_unmatched,
};
use crate::decide::drain::{
    DrainOptions, DrainPlan, DrainTerms, IncludedClass, RestartProgress, RestartState, Unit,
    UnitKind, UnitPod, drain_replacements, drain_taint, pods_of, restart_states, tainted_since,
    units, unread, workload_states,
};
use crate::decide::identity::with_identities;
use crate::decide::proposal::{EvictedPods, Evictions, ProposedRule};
use crate::decide::{AddStep, Existing, Proposal, Terms, add};
use crate::engine;
use crate::engine::{Impact, ProposedTaint};
use crate::error::Failure;
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule, Effect, Kind, Pod, Taint, Uid};
use crate::naming::phrase::few;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// A drain, as it is asked for.
pub(crate) struct DrainRequest<'a> {
    pub(crate) targets: Vec<String>,
    pub(crate) nodes: Vec<String>,
    pub(crate) options: &'a DrainOptions,
    pub(crate) dry_run: DryRun,
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

impl DrainRequest<'_> {
    /// The selected devices: one choice for each node, or one for all devices.
    pub(crate) fn choices(&self) -> Result<Vec<Choice>, Failure> {
        let parse = |node: Option<&String>| {
            let arguments = DeviceArguments {
                arguments: self.targets.clone(),
                filters: DeviceFilterFlags {
                    node: node.cloned(),
                    with_partitions: self.options.with_partitions,
                    ..DeviceFilterFlags::default()
                },
                ..DeviceArguments::default()
            };
            Choice::parse(&arguments, choice::Purpose::Choose)
        };
        if self.nodes.is_empty() {
            return Ok(vec![parse(None)?]);
        }
        self.nodes.iter().map(|node| parse(Some(node))).collect()
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
        let options = self.options;
        let default = match self.nodes.is_empty() {
            true => UnitKind::Device,
            false => UnitKind::Node,
        };
        let units = units(devices, options.unit.unwrap_or(default), basis)?;
        let nodes: BTreeSet<String> = self.nodes.iter().cloned().collect();
        let (name, reason) = (options.name.as_deref(), options.reason.clone());
        let terms = DrainTerms::new(name, reason, &nodes, devices)?;
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
        if self.dry_run != DryRun::Client {
            refuse_missing_permissions(mutation).await?;
        }
        let proposed = prepared.as_evicting(mutation.view.now);
        let view = mutation.view.clone();
        let view = Box::pin(view.with_pods_for(&proposed, &[])).await?;
        // Also whether nodes are cordoned.
        let view = view.with_places(NodeDetail::Whole).await?;
        let checked = self.assess(prepared, &view.basis())?;
        if self.dry_run != DryRun::Client {
            check_evictions(&checked.leaving, &checked.restarts, mutation).await?;
        }
        Ok(checked)
    }

    /// The pods of the drain, and reasons to refuse it.
    fn assess(&self, prepared: &PreparedDrain, basis: &Basis<'_>) -> Result<CheckedDrain, Failure> {
        let limits = &self.options.limits;
        let reading = basis.reading;
        let proposed = prepared.as_evicting(basis.now);
        let impact = basis.impact(&proposed);
        let pods = pods_of(&impact, basis);
        let of_leaving = leaving(&impact, &pods, &limits.include);
        let evicted = of_leaving.pods.iter().map(|found| found.pod.clone());
        let (_, unknown) = workload_states(&evicted.collect::<Vec<Pod>>(), reading);
        let unread: Vec<String> = unread(reading).into_iter().chain(unknown).collect();
        let existing = prepared.existing();
        // An earlier run began with the same units, so pods may wait for devices already.
        let replacements = existing.is_empty().then(|| {
            let by_taint = self.options.limits.force;
            drain_replacements(&of_leaving, &proposed, by_taint, basis)
        });
        let mut restarts = BTreeMap::new();
        if limits.restart {
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
            .partition(|pod| pod.is_evicted(&limits.include));
        Ok(CheckedDrain {
            lines,
            leaving,
            kept: kept.into_iter().map(|pod| pod.uid).collect(),
            restarts,
        })
    }

    pub(crate) fn proposal(&self, prepared: &PreparedDrain, checked: &CheckedDrain) -> Proposal {
        let names = prepared.units.iter().map(|unit| &unit.name);
        let is_forced = self.options.limits.force;
        let kept = match is_forced || prepared.is_raised() {
            true => BTreeSet::new(),
            false => checked.kept.clone(),
        };
        let rules = prepared.all_steps().map(ProposedRule::from).collect();
        Proposal {
            evictions: Some(Evictions {
                lines: checked.lines.clone(),
                is_forced,
                pods: EvictedPods::AllExcept(kept),
            }),
            ..Proposal::new(rules, format!("Drain {}", few(names)))
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
            .any(|step| step.draft.taint.effect == Effect::NoExecute)
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
    included: &[IncludedClass],
) -> Impact<'a> {
    let leaving = pods.iter().filter(|pod| pod.is_evicted(included));
    let uids: BTreeSet<&Uid> = leaving.map(|pod| &pod.uid).collect();
    let mut impact = impact.clone();
    impact.pods.retain(|found| uids.contains(&found.pod.uid));
    impact
}

/// Asks for the permissions to change rules, and to list pods: without the list, replacements are not found.
pub(super) async fn refuse_missing_permissions(mutation: &MutationContext) -> Result<(), Failure> {
    // `get` for a response that is lost.
    let rules = ["create", "get", "patch"].map(|verb| Permission::new(verb, Kind::DeviceTaintRule));
    let permissions = rules
        .into_iter()
        .chain([Permission::new("list", Kind::Pod)]);
    let queries = permissions.map(|permission| AccessQuery {
        permission,
        namespace: None,
    });
    refuse_missing(queries, Purpose::Drain, &mutation.live()?.client).await
}

/// Tries an eviction in each namespace, and the restart of each Deployment, by requests that are not carried out.
pub(super) async fn check_evictions(
    leaving: &[UnitPod],
    restarts: &BTreeMap<Uid, RestartState>,
    mutation: &MutationContext,
) -> Result<(), Failure> {
    let client = &mutation.live()?.client;
    let unchanged = |failure: Failure| failure.detail("nothing was changed");
    try_evictions(leaving.iter().map(|pod| (&pod.name, &pod.uid)), client).await?;
    for (uid, state) in restarts {
        let on = object_version(uid, state);
        let at = mutation.view.now;
        let tried = restart(client, &state.owner, &on, at, WriteMode::DryRun).await;
        match tried.map_err(|error| unchanged(failed(error)))? {
            WriteAnswer::Accepted | WriteAnswer::Outdated => {}
            WriteAnswer::Refused(message) => {
                let owner = state.describe();
                let text = format!("{owner} cannot be restarted: {message}");
                return Err(unchanged(Failure::refused(text)));
            }
            WriteAnswer::Unknown(error) => return Err(unchanged(failed(error))),
        }
    }
    Ok(())
}
