//! The work of a drain, and reasons to refuse it before anything is tainted.

use std::collections::BTreeSet;

use super::order::{DrainRun, begun_first, names_by_unit};
use super::permission::check_permission;
use super::prepared::{CheckedDrain, Prepared, hypothetical};
use super::restart::may_restart;
use crate::assess::DeviceBasis;
use crate::cluster::{NodeDetail, WriteMode};
use crate::commands::context::Context;
use crate::commands::work::changer::Changer;
use crate::commands::work::cluster_view::ClusterView;
use crate::commands::work::mutation_context::MutationContext;
use crate::commands::work::stopped::stopped;
use crate::decide::approval::EvictionMethod;
use crate::decide::choice::{
    Choice, ChoiceBasis, DeviceArguments, DeviceFilterFlags, NumberUse, Purpose, ResolvedChoice,
    refuse_unmatched,
};
use crate::decide::drafts::RuleAnnotations;
use crate::decide::drain::{
    DrainTerms, OpenUnits, PublishedHardware, Unit, UnitKind, UnitLimits, drains as drain_states,
    progress_now, refuse_unpublished, scope, units, wanted,
};
use crate::decide::identity::with_identities;
use crate::decide::proposal::{Drains, NamedOwners, ProposedRule};
use crate::decide::{Existing, Proposal, RuleDraft, Terms, add};
use crate::engine::{self, ProposedTaint};
use crate::error::Failure;
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule, RuleMetadata};
use crate::naming::phrase::few;

/// Flags and arguments of a drain.
pub(crate) struct DrainRequest {
    /// Devices.
    pub(crate) targets: Vec<String>,
    /// Nodes.
    pub(crate) nodes: Vec<String>,
    /// Whether devices of the same hardware are drained too.
    pub(crate) with_partitions: bool,
    pub(crate) kind: UnitKind,
    pub(crate) name: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) limits: UnitLimits,
    /// How changes are sent; absent if they are not sent.
    pub(crate) mode: Option<WriteMode>,
}

impl DrainRequest {
    /// The selected devices: one choice for each node, or one for all devices.
    pub(crate) fn choices(&self) -> Result<Vec<Choice>, Failure> {
        let filters = |node: Option<&String>| DeviceFilterFlags {
            node: node.cloned(),
            with_partitions: self.with_partitions,
            ..DeviceFilterFlags::default()
        };
        let choice = |node: Option<&String>| {
            let arguments = DeviceArguments {
                arguments: self
                    .targets
                    .iter()
                    .cloned()
                    .chain([TAINT.to_owned()])
                    .collect(),
                filters: filters(node),
                ..DeviceArguments::default()
            };
            Choice::parse(&arguments, Purpose::Add)
        };
        if self.nodes.is_empty() {
            return Ok(vec![choice(None)?]);
        }
        self.nodes.iter().map(|node| choice(Some(node))).collect()
    }

    /// Flags for targets that are names of nodes.
    pub(crate) fn node_hints(&self, view: &ClusterView) -> Vec<String> {
        let inventory = engine::devices(view.snapshot(), &view.semantics);
        let nodes: BTreeSet<&str> = inventory
            .iter()
            .filter_map(|state| Some(state.node?.as_str()))
            .collect();
        let named = self.targets.iter().filter(|it| nodes.contains(it.as_str()));
        named
            .map(|node| format!("to drain node {node}: --node {node}"))
            .collect()
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
            let (now, choice) = Box::pin(mutation.with_numbers_of(choice)).await?;
            mutation = now.with_attributes_for(choice.filter()).await?;
            let view = &mutation.view;
            let ResolvedChoice { choice, notes, .. } =
                choice.resolved(&view.reading, &view.semantics, NumberUse::Change)?;
            for note in notes {
                context.printer.note(&note);
            }
            let ChoiceBasis::Selectors(selectors) = choice.by else {
                continue;
            };
            let proposed: Vec<ProposedTaint> = selectors
                .into_iter()
                .map(|selector| hypothetical(selector, view.now))
                .collect();
            refuse_unmatched(&proposed, &view.reading, &view.semantics)?;
            devices.extend(view.selected(&proposed).devices);
        }
        Ok((mutation, devices))
    }

    /// The units, and the step for each rule; `rules` are all rules.
    pub(crate) fn prepare(
        &self,
        devices: &BTreeSet<DeviceId>,
        rules: &[DeviceTaintRule],
        basis: &DeviceBasis<'_>,
    ) -> Result<Prepared, Failure> {
        let published = PublishedHardware::of(basis);
        let units = units(
            devices,
            published.devices(),
            published.hardware(),
            self.kind,
        )?;
        let nodes: BTreeSet<String> = self.nodes.iter().cloned().collect();
        let terms = DrainTerms::new(self.name.as_deref(), &nodes, devices)?;
        let known = drain_states(rules);
        let drafts = self.drafts(&units, &terms)?;
        let (drafts, left_out) = wanted(drafts, &units, &known, &terms.name)?;
        let drafts = self.with_scope(drafts);
        let drafts = with_identities(drafts, &basis.reading.snapshot, basis.semantics);
        let existing = Terms {
            existing: Existing::Kept,
            semantics: basis.semantics,
            now: basis.now,
        };
        let names = names_by_unit(&drafts);
        let steps = add(drafts, rules, &existing)?;
        let state = known.iter().find(|drain| drain.name == terms.name);
        let rules_of = |unit: &Unit| names.get(&unit.name).cloned().unwrap_or_default();
        let progress = |unit: &Unit| progress_now(state, unit, &rules_of(unit), &published, basis);
        let OpenUnits { open, count } = OpenUnits::new(units, &left_out, state, progress);
        let open = open.into_iter().map(|(unit, progress)| DrainRun {
            rules: rules_of(&unit),
            progress,
            unit,
        });
        let runs: Vec<DrainRun> = open.collect();
        // While the driver of a node is away, only its allocated devices are known.
        let open = runs.iter().map(|run| &run.unit);
        refuse_unpublished(open, &basis.reading.snapshot.slices, self.kind)?;
        Ok(Prepared {
            units: runs.iter().map(|run| run.unit.clone()).collect(),
            terms,
            steps,
            // Units that an earlier run has started come first.
            runs: begun_first(runs),
            count,
            skipped: left_out,
        })
    }

    /// The drafts, on which is recorded what the drain selects of its nodes.
    fn with_scope(&self, mut drafts: Vec<RuleDraft>) -> Vec<RuleDraft> {
        let scope = match self.kind {
            UnitKind::Node => scope(&self.targets),
            UnitKind::Device | UnitKind::Pool => None,
        };
        for draft in &mut drafts {
            let key = RuleMetadata::DRAIN_SCOPE.to_owned();
            let note = scope.clone().map(|scope| (key, scope));
            draft.annotations.extend(note);
        }
        drafts
    }

    /// The rules of the drain, one for each device, each with the index of its unit.
    fn drafts(
        &self,
        units: &[Unit],
        terms: &DrainTerms,
    ) -> Result<Vec<(usize, RuleDraft)>, Failure> {
        let inscription = RuleAnnotations {
            name: None,
            reason: self.reason.clone(),
            labels: vec![terms.label()],
        };
        let mut all = Vec::new();
        for (place, unit) in units.iter().enumerate() {
            let selectors = unit.devices.iter().cloned().map(DeviceSelector::from);
            let choice = Choice {
                by: ChoiceBasis::Selectors(selectors.collect()),
                taint: Some(terms.taint()),
            };
            let drafts = inscription.drafts(&choice, Vec::new())?;
            all.extend(drafts.into_iter().map(|draft| (place, draft)));
        }
        Ok(all)
    }

    /// Refuses a drain that cannot succeed, or that the user may not carry out, before anything is tainted, and gives
    /// the owners to restart and the lines to show.
    pub(crate) async fn check(
        &self,
        prepared: &Prepared,
        mutation: &MutationContext,
    ) -> Result<CheckedDrain, Failure> {
        let view = &mutation.view;
        let proposed = prepared.hypothetical(view.now);
        let view = Box::pin(view.clone().with_pods_for(&proposed, &[])).await?;
        // Also whether nodes are cordoned.
        let view = view.with_places(NodeDetail::Whole).await?;
        let (checked, leaving) = self.assess(prepared, mutation.view.rules()?, &view.basis())?;
        // A dry run by this plugin sends nothing that could change anything.
        if self.mode.is_some() {
            let client = &mutation.live.client;
            may_restart(&checked.restarts, client, mutation.view.now).await?;
            check_permission(&leaving, mutation).await?;
        }
        Ok(checked)
    }

    pub(crate) fn proposal(&self, prepared: &Prepared, checked: &CheckedDrain) -> Proposal {
        let lines = checked.lines.clone();
        let names: Vec<String> = prepared
            .units
            .iter()
            .map(|unit| unit.name.clone())
            .collect();
        Proposal {
            rules: prepared.steps.iter().map(ProposedRule::from).collect(),
            action: format!("Drain {}", few(&names)),
            whose: NamedOwners::All,
            is_noted_before: false,
            patience: None,
            drains: Some(if checked.by_taint {
                Drains::ByTaint(lines)
            } else {
                Drains::ByEviction(lines, checked.kept.clone())
            }),
            // What an earlier run with --force has raised was approved then.
            eviction: if self.limits.may_evict_by_taint() {
                EvictionMethod::Forced
            } else {
                EvictionMethod::EvictionApi
            },
        }
    }

    /// Taints all units, before the first pod is evicted.
    pub(crate) async fn taint(
        &self,
        prepared: &Prepared,
        mutation: &MutationContext,
        changer: &mut Changer<'_>,
    ) -> Result<(), Failure> {
        let terms = Terms {
            existing: Existing::Kept,
            semantics: &mutation.view.semantics,
            now: mutation.view.now,
        };
        for step in &prepared.steps {
            let made = changer.take(step, &terms).await;
            made.map_err(|failure| stopped(failure, changer.context()))?;
        }
        Ok(())
    }
}

/// Placeholder for the taint of the drain, whose value depends on its devices.
const TAINT: &str = "drain:NoSchedule";
