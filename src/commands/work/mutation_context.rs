//! A cluster whose rules are about to be changed.

use std::collections::BTreeSet;

use super::cluster_view::ClusterView;
use super::connect::{Live, Source, failed};
use super::resolve_rules::{self, by_name};
use crate::assess::Guard;
use crate::cluster::{Detail, Rules};
use crate::commands::context::Context;
use crate::decide::choice::Choice;
use crate::decide::{Chooser, RuleChoice, SelectedRules};
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Effect, Uid};
use crate::report::ImpactReport;

/// The cluster as it was when it was read, and its rules to be changed; or saved files, for a rehearsal.
pub(crate) struct MutationContext {
    /// Absent if saved files are read.
    rules: Option<Rules>,
    /// Everything but the pods.
    pub(crate) view: ClusterView,
}

impl MutationContext {
    /// Reads devices, claims and rules of `source`, with the inputs of a report about them.
    pub(crate) async fn open(source: &Source, context: &Context) -> Result<Self, Failure> {
        Self::new(ClusterView::open(source, context, Detail::Terms).await?)
    }

    /// As [`MutationContext::open`] on an existing connection, for commands without a report.
    pub(crate) async fn of(live: Live) -> Result<Self, Failure> {
        Self::new(ClusterView::of(live, Detail::Names).await?)
    }

    fn new(view: ClusterView) -> Result<Self, Failure> {
        let rules = view.live().map(Live::rules).transpose()?;
        Ok(Self { rules, view })
    }

    /// The connection to the cluster.
    ///
    /// # Errors
    ///
    /// Saved files are read.
    pub(crate) fn live(&self) -> Result<&Live, Failure> {
        self.view.live().ok_or_else(no_cluster)
    }

    /// The rules, to be changed; absent if saved files are read.
    pub(crate) fn writable_rules(&self) -> Option<&Rules> {
        self.rules.as_ref()
    }

    /// As [`MutationContext::writable_rules`].
    ///
    /// # Errors
    ///
    /// Saved files are read.
    pub(crate) fn rules(&self) -> Result<&Rules, Failure> {
        self.rules.as_ref().ok_or_else(no_cluster)
    }

    /// Resolves a selection of devices to their names, and prints its notes.
    pub(crate) async fn resolved(
        self,
        choice: &Choice,
        context: &Context,
    ) -> Result<(Self, Choice), Failure> {
        let (view, choice) = Box::pin(self.view.resolved(choice, context)).await?;
        Ok((Self { view, ..self }, choice))
    }

    /// With the attributes of devices.
    pub(crate) async fn with_attributes(self) -> Result<Self, Failure> {
        Ok(Self {
            view: self.view.with_attributes(&[]).await?,
            ..self
        })
    }

    /// With the attributes of devices, if one of `rules` notes the hardware of its device.
    pub(crate) async fn with_identities_of(
        self,
        rules: &[DeviceTaintRule],
    ) -> Result<Self, Failure> {
        Ok(Self {
            view: self.view.with_identities_of(rules).await?,
            ..self
        })
    }

    /// Resolves the hardware IDs of a selection of rules.
    pub(crate) async fn chooser(self, choice: &RuleChoice) -> Result<(Self, Chooser), Failure> {
        let (view, chooser) = Box::pin(resolve_rules::resolved(choice, self.view)).await?;
        Ok((Self { view, ..self }, chooser))
    }

    /// Reads the cluster again.
    pub(crate) async fn again(&self) -> Result<Self, Failure> {
        Ok(Self {
            rules: self.rules.clone(),
            view: self.view.again().await?,
        })
    }

    /// The rules that the command line selects. Without permission to list rules, named ones are still read, one by
    /// one.
    pub(crate) async fn selected(&self, chooser: &Chooser) -> Result<SelectedRules, Failure> {
        let now = self.view.now;
        let unlisted = match self.view.rules() {
            Ok(rules) => return Ok(chooser.select(rules, now)),
            Err(failure) => failure,
        };
        match chooser {
            Chooser::Names(names) => {
                let found = by_name(names, self.rules()?).await.map_err(failed)?;
                Ok(chooser.select(&found, now))
            }
            // These are found in the list alone. Only a name can be read without permission to list.
            Chooser::Taints(..) | Chooser::Labelled(_) | Chooser::Expired | Chooser::All => {
                Err(unlisted)
            }
        }
    }

    /// Adds the current impact to the failure of a change, as far as it can be read: of the rules called
    /// `names`, as they are by now, with effect `to`.
    pub(crate) async fn with_impact_warnings(
        &self,
        failure: Failure,
        names: &[String],
        to: &Effect,
    ) -> Failure {
        // A failed read must not hide why the change failed.
        let Ok(mutation) = self.again().await else {
            return failure;
        };
        let rules = names
            .iter()
            .filter_map(|name| mutation.view.rule(name).ok());
        let proposed: Vec<ProposedTaint> = rules
            .map(|rule| ProposedTaint::of_changed_rule(rule, to, mutation.view.now))
            .collect();
        if proposed.is_empty() {
            return failure;
        }
        match mutation.report(&proposed, &[]).await {
            Ok(report) => report.summary_lines().into_iter().fold(
                failure.detail(format!("impact of effect {to} now:")),
                |failure, line| failure.detail(format!("  {line}")),
            ),
            Err(_) => failure,
        }
    }

    /// Report of the pods that the considered taints affect.
    pub(crate) async fn report(
        &self,
        proposed: &[ProposedTaint],
        guards: &[Guard],
    ) -> Result<ImpactReport, Failure> {
        self.report_keeping(proposed, guards, &BTreeSet::new(), None)
            .await
    }

    /// As [`MutationContext::report`], where pods that are `kept` are not evicted although NoExecute would
    /// evict them: they are no part of the number that the user approves. Guards count them all the same.
    /// Where the evicted pods are `named`, the report is about these and no others.
    pub(crate) async fn report_keeping(
        &self,
        proposed: &[ProposedTaint],
        guards: &[Guard],
        kept: &BTreeSet<Uid>,
        named: Option<&BTreeSet<Uid>>,
    ) -> Result<ImpactReport, Failure> {
        // On the heap: it reads many lists, and some commands do so more than once.
        let view = Box::pin(self.view.clone().with_pods_for(proposed, guards)).await?;
        if let Some(pods) = named {
            return Ok(view.basis().report_on(pods, proposed, guards));
        }
        let mut report = view.report(proposed, guards);
        if !kept.is_empty() {
            view.basis().agree_without(&mut report, proposed, kept);
        }
        Ok(report)
    }
}

/// Failure of an act that needs a cluster: a rehearsal on saved files ends before it.
fn no_cluster() -> Failure {
    Failure::usage("saved files cannot be changed")
}
