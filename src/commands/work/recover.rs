//! Waiting for workloads to recover from evictions: the clock and the reads around `decide::recovery`.

use std::time::Duration;

use tokio::time::Instant;

use super::cluster_view::ClusterView;
use super::history::{describe, sources_of};
use crate::commands::context::Context;
use crate::decide::recovery::{
    EvictedFacts, Recovery, due_pods, hiding_evictions, recovery, unreported_rules,
};
use crate::decide::wait_advice;
use crate::engine::settle::Patience;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Gap};
use crate::output::StatusLine;
use crate::report::blocker::Blocker;
use crate::report::evicted::once;
use crate::report::metadata::Warning;
use crate::report::wait::WaitReport;

/// How often is looked; what makes pods is read by lists.
const INTERVAL: Duration = Duration::from_secs(2);

/// A wait until the workloads whose pods `rules` evicted have as many ready pods as they want.
pub(crate) struct Recover<'a> {
    /// The rules, as they were when they were there.
    pub(crate) rules: &'a [DeviceTaintRule],
    pub(crate) patience: Patience,
}

impl Recover<'_> {
    /// Waits, and says how it ended.
    ///
    /// # Errors
    ///
    /// When nothing brings back what was evicted, when that cannot be known, and when the cluster cannot be
    /// asked any more.
    pub(crate) async fn wait(
        &self,
        mut view: ClusterView,
        context: &Context,
    ) -> Result<WaitReport, Failure> {
        // Only a warning: unlike an eviction that is waited for, nothing has to be kept from happening.
        if self.patience.is_too_short_to_settle() {
            let text = wait_advice::cannot_settle(self.patience);
            context.printer.warn(&text);
        }
        let began = Instant::now();
        let mut since: Option<Instant> = None;
        let mut progress = StatusLine::new(&context.printer);
        loop {
            let found = self.view(&view, context).await?;
            let line = found.line();
            progress.say(&line, &line);
            context.ledger.left(&line);
            if found.open.is_empty() {
                let held = since.get_or_insert_with(Instant::now).elapsed();
                if held >= self.patience.settle {
                    drop(progress);
                    let warning = found.warning();
                    for warning in warning.iter().map(Warning::from) {
                        context.printer.warn(&warning.line());
                    }
                    return self.over(&found, began, None);
                }
            } else {
                // A workload that was ready for a moment may be failing again.
                since = None;
            }
            if began.elapsed() >= self.patience.timeout {
                drop(progress);
                return self.over(&found, began, Some(left_of(&found)));
            }
            tokio::time::sleep(INTERVAL).await;
            view = view.again().await?;
        }
    }

    async fn view(&self, view: &ClusterView, context: &Context) -> Result<Recovery, Failure> {
        let sources = sources_of(view).await?;
        if let Some(gap) = sources.gaps.iter().find(|gap| gap.what == "events") {
            return Err(unknowable(gap));
        }
        let gaps = sources.gaps.iter().chain(&sources.view.reading.gaps);
        let hiding = hiding_evictions(self.rules, gaps, &sources.view.semantics);
        if !hiding.is_empty() {
            return Err(wait_advice::cannot_tell_of_recovery(&hiding));
        }
        let mut evicted = Vec::new();
        for history in describe(self.rules, &sources) {
            for line in &history.unknown {
                context.printer.warn(&format!("unknown: {line}"));
            }
            evicted.extend(history.evicted_pods);
            // Their workloads have to recover as well, if they were evicted.
            evicted.extend(history.cancelled_evictions);
        }
        let evicted = once(evicted);
        let evicted: Vec<EvictedFacts> = evicted.iter().map(EvictedFacts::from).collect();
        let view = &sources.view;
        let due = due_pods(self.rules, &view.reading, view.now, &view.semantics);
        let unreported = unreported_rules(self.rules, &view.reading, &view.semantics);
        let found = recovery(&evicted, &view.reading).with_due(due, view.now);
        Ok(found.with_unreported(&unreported))
    }

    fn over(
        &self,
        found: &Recovery,
        began: Instant,
        left: Option<Vec<Blocker>>,
    ) -> Result<WaitReport, Failure> {
        let lost = found.lost_lines();
        // Told only once everything else has recovered: what is lost does not keep others from it.
        if left.is_none() && !lost.is_empty() {
            let failure = Failure::new(
                ExitStatus::Failed,
                "some evicted workloads do not recover without intervention",
            );
            return Err(lost.into_iter().fold(failure, Failure::detail));
        }
        // Of a rule that does not exist nothing is known, not even that it evicted anybody.
        let known = self
            .rules
            .iter()
            .filter(|rule| !rule.uid.as_str().is_empty());
        let names = known.map(|rule| rule.name.to_string());
        Ok(WaitReport {
            waited_seconds: began.elapsed().as_secs(),
            seen_pod_count: found.pods,
            warnings: found.warning().iter().map(Warning::from).collect(),
            recovery: found.line(),
            ..WaitReport::recovered(names.collect(), left)
        })
    }
}

/// What is left when the time is over: workloads that have not recovered, what does not come back by itself, and
/// where neither is, that the recovery has not lasted.
fn left_of(found: &Recovery) -> Vec<Blocker> {
    let lost = found
        .lost_lines()
        .into_iter()
        .map(|text| Blocker::recovering("", "", text));
    let left: Vec<Blocker> = found.open.iter().map(Blocker::from).chain(lost).collect();
    if left.is_empty() {
        let state = if found.without_pods.is_empty() {
            "all workloads have recovered"
        } else {
            "all workloads have recovered, or have 0 desired pods"
        };
        let text = format!("{state}, but for less than --settle so far");
        return vec![Blocker::recovering("", "", text)];
    }
    left
}

fn unknowable(gap: &Gap) -> Failure {
    Failure::new(
        ExitStatus::Failed,
        format!("the evicted pods are unknown: {}", gap.why),
    )
}
