//! A cluster whose rules are about to be changed.

use jiff::Timestamp;

use super::cluster_view::ClusterView;
use super::connect::{Live, Source, failed, server_time};
use crate::assess::Guard;
use crate::cluster::{ClusterError, Detail, Rules};
use crate::commands::context::Context;
use crate::decide::choice::Choice;
use crate::decide::chooser::rules_named;
use crate::decide::proposal::EvictedPods;
use crate::decide::{Chooser, RuleChoice, SelectedRules};
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Effect};
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
        let (view, chooser) = Box::pin(resolved(choice, self.view)).await?;
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
        match mutation.report_on(&proposed, &[], None).await {
            Ok(report) => report.summary_lines().into_iter().fold(
                failure.detail(format!("impact of effect {to} now:")),
                |failure, line| failure.detail(format!("  {line}")),
            ),
            Err(_) => failure,
        }
    }

    /// Report of the `proposed` taints, of the pods that are `evicted` for the guards.
    pub(crate) async fn report_on(
        &self,
        proposed: &[ProposedTaint],
        guards: &[Guard],
        evicted: Option<&EvictedPods>,
    ) -> Result<ImpactReport, Failure> {
        // On the heap: it reads many lists, and some commands do so more than once.
        let view = Box::pin(self.view.clone().with_pods_for(proposed, guards)).await?;
        let basis = view.basis();
        Ok(match evicted {
            Some(EvictedPods::Only(pods, _)) => basis.report_on(pods, proposed, guards),
            Some(EvictedPods::AllExcept(kept)) if !kept.is_empty() => {
                let mut report = view.report(proposed, guards);
                basis.agree_without(&mut report, proposed, kept);
                report
            }
            Some(EvictedPods::AllExcept(_)) | None => view.report(proposed, guards),
        })
    }
}

/// Failure of an act that needs a cluster: a rehearsal on saved files ends before it.
fn no_cluster() -> Failure {
    Failure::usage("saved files cannot be changed")
}

/// Resolves the hardware IDs of the selection in `view`, with the attributes that this needs.
pub(crate) async fn resolved(
    choice: &RuleChoice,
    view: ClusterView,
) -> Result<(ClusterView, Chooser), Failure> {
    if let Some(chooser) = choice.without_hardware() {
        return Ok((view, chooser.clone()));
    }
    // On the heap: it reads a list, and is part of what several commands do.
    let view = Box::pin(view.with_attributes(&[])).await?;
    let chooser = choice.resolved(&view.reading, &view.semantics)?;
    Ok((view, chooser))
}

/// Reads the selected rules of a cluster of which nothing was read: devices are read only for hardware IDs.
pub(crate) async fn selected_on(
    choice: &RuleChoice,
    live: &Live,
    context: &Context,
) -> Result<(Chooser, SelectedRules), Failure> {
    let chooser = match choice.without_hardware() {
        Some(chooser) => chooser.clone(),
        None => {
            let view = Box::pin(ClusterView::of(live.clone(), Detail::Attributes)).await?;
            choice.resolved(&view.reading, &view.semantics)?
        }
    };
    let now = time_of(&chooser, live)?;
    let found = selected_rules(&chooser, &live.rules()?, now, context).await?;
    Ok((chooser, found))
}

/// Reads the rules that `chooser` may select, and selects at `now`.
///
/// All are listed. Who may not list them, or gets no list, can still name rules: those are read one by
/// one.
pub(crate) async fn selected_rules(
    chooser: &Chooser,
    rules: &Rules,
    now: Timestamp,
    context: &Context,
) -> Result<SelectedRules, Failure> {
    let listed = match rules.list().await {
        Ok(listed) => listed,
        Err(error) => return unlisted(chooser, rules, now, error).await,
    };
    let found = listed.objects.into_iter().map(|stored| stored.fact);
    let meant = chooser.select(&found.collect::<Vec<_>>(), now);
    // A rule that cannot be decoded may be the selected one.
    if !meant.missing.is_empty() || chooser.names().is_none() {
        for odd in listed.odd {
            context.printer.warn(&failed(odd).to_string());
        }
    }
    Ok(meant)
}

/// Selection without a list, for which `error` is the reason.
async fn unlisted(
    chooser: &Chooser,
    rules: &Rules,
    now: Timestamp,
    error: ClusterError,
) -> Result<SelectedRules, Failure> {
    let Some(names) = chooser.names() else {
        return Err(failed(error));
    };
    let found = by_name(&names, rules).await.map_err(failed)?;
    let meant = chooser.select(&found, now);
    // A rule of another name, which cannot be looked up, may taint the devices.
    let is_sure = matches!(chooser, Chooser::Names(_)) || meant.missing.is_empty();
    if is_sure {
        Ok(meant)
    } else {
        Err(failed(error))
    }
}

/// Those of the rules with these names that are there: one by one, or from the list for those who may
/// only list.
pub(crate) async fn by_name(
    names: &[String],
    rules: &Rules,
) -> Result<Vec<DeviceTaintRule>, ClusterError> {
    let mut found = Vec::new();
    for name in names {
        match rules.get(name).await {
            Ok(stored) => found.extend(stored.map(|stored| stored.fact)),
            Err(ClusterError::Forbidden { .. }) => {
                let all = rules.list().await?.objects.into_iter();
                return Ok(rules_named(names, all.map(|stored| stored.fact)));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The server's clock, which decides what has expired; any time, where the server does not tell it and no
/// rule is selected by expiry.
fn time_of(chooser: &Chooser, live: &Live) -> Result<Timestamp, Failure> {
    match chooser {
        Chooser::Expired => server_time(live),
        Chooser::Names(_) | Chooser::Taints(..) | Chooser::Labelled(_) | Chooser::All => {
            Ok(live.client.server_time().unwrap_or(Timestamp::UNIX_EPOCH))
        }
    }
}
