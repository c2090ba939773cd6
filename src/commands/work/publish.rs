//! `preview --publish`: what does the controller itself say?
//!
//! Creates a rule with effect None for every considered taint, waits until the controller has
//! written its own preview to it, and compares that with ours to the letter.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::changer::state;
use super::connect::{Live, failed};
use crate::cluster::{Change, ClusterError, Made, Next, Rules, StoredRule, WriteMode};
use crate::decide::RuleDraft;
use crate::engine::{ConsideredTaint, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Effect, RuleMetadata, Taint};
use crate::naming::rule;
use crate::output::Printer;
use crate::report::impact::{ImpactReport, Published};
use crate::report::metadata::Incomplete;

/// How long the controller may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often it is asked.
const INTERVAL: Duration = Duration::from_millis(200);

/// Rules with effect None in one cluster.
pub(crate) struct Publication {
    rules: Rules,
    drafts: Vec<RuleDraft>,
    /// Whether any of the rules may be there: nobody was denied from making the first.
    may_stay: AtomicBool,
}

impl Publication {
    /// Prepares a rule for each of the `considered` taints; creates none yet.
    pub(crate) fn new(
        live: &Live,
        considered: &[ConsideredTaint],
        semantics: &Semantics,
    ) -> Result<Self, Failure> {
        if !semantics.has_effect_none {
            return Err(Failure::new(
                ExitStatus::Failed,
                format!(
                    "Kubernetes {} cannot preview: the effect None and the controller's condition came with 1.35",
                    semantics.version
                ),
            )
            .hint("leave out --publish"));
        }
        let drafts: Vec<RuleDraft> = considered.iter().map(draft).collect::<Result<_, _>>()?;
        Ok(Self {
            rules: Rules::new(&live.client, &live.served).map_err(failed)?,
            drafts: in_one_batch(drafts, considered),
            may_stay: AtomicBool::new(false),
        })
    }

    /// Creates the rules and waits for the controller; what it says, beside what `report` says.
    pub(crate) async fn ask(&self, report: &ImpactReport) -> Result<Vec<Published>, Failure> {
        for draft in &self.drafts {
            self.create_anew(draft).await?;
        }
        let began = Instant::now();
        let mut answers = Vec::with_capacity(self.drafts.len());
        for (draft, taint) in self.drafts.iter().zip(&report.taints) {
            let expected = taint.controller_message.as_deref();
            answers.push(self.wait(draft, expected, began).await?);
        }
        Ok(answers)
    }

    /// The controller previews a rule once, so that one which is there already says nothing new.
    async fn create_anew(&self, draft: &RuleDraft) -> Result<(), Failure> {
        self.remove(draft).await?;
        let first = Change::Create {
            object: draft.object(self.rules.api_version()),
        };
        let made = self
            .rules
            .change(&draft.name, first, WriteMode::Store, |found| {
                Next::End(found.map(|stored| stored.fact.taint.to_string()))
            });
        let made = made.await;
        if !matches!(made, Err(ClusterError::Forbidden { .. })) {
            self.may_stay.store(true, Ordering::Relaxed);
        }
        match made.map_err(failed)? {
            Made::Done(_) => Ok(()),
            Made::Ended(found) => Err(Failure::new(
                ExitStatus::Failed,
                format!(
                    "somebody made rule {} at the same time, with {}",
                    draft.name,
                    found.as_deref().unwrap_or("a taint that is gone already")
                ),
            )
            .hint("run the same command again")),
        }
    }

    async fn wait(
        &self,
        draft: &RuleDraft,
        expected: Option<&str>,
        began: Instant,
    ) -> Result<Published, Failure> {
        loop {
            let stored = self.rules.get(&draft.name).await.map_err(failed)?;
            let Some(StoredRule { fact: rule, .. }) = stored else {
                return Err(Failure::new(
                    ExitStatus::Failed,
                    format!(
                        "somebody removed rule {} while it was waited for",
                        draft.name
                    ),
                ));
            };
            let condition = rule.condition.as_ref();
            let answer = Published::new(&draft.name, rule.generation, condition, expected);
            if answer.condition.is_some() || began.elapsed() >= PATIENCE {
                return Ok(answer);
            }
            sleep(INTERVAL).await;
        }
    }

    /// Removes all rules, and says which are still there if any cannot be removed.
    pub(crate) async fn clean_up(&self) -> Result<(), Failure> {
        let mut first = Ok(());
        for draft in &self.drafts {
            let removed = self.remove(draft).await;
            first = first.and(removed);
        }
        first.map_err(|failure| {
            failure.hint(format!(
                "what is left: kubectl get devicetaintrules -l {}",
                self.batch()
            ))
        })
    }

    /// Removes the rule of that name if there is one, and if it is an earlier preview. The controller
    /// may have just written to it: whatever it is then is looked at before it is deleted.
    async fn remove(&self, draft: &RuleDraft) -> Result<(), Failure> {
        let decided = |found: Option<&StoredRule>| match found.map(|stored| &stored.fact) {
            None => Next::End(Ok(())),
            Some(rule) if is_preview(rule, draft) => Next::Send(Change::Delete { on: state(rule) }),
            Some(rule) => Next::End(Err(Failure::new(
                ExitStatus::Failed,
                format!(
                    "rule {} exists, and is no preview of this taint any more: its taint is {}",
                    rule.name, rule.taint
                ),
            ))),
        };
        let found = self.rules.get(&draft.name).await.map_err(failed)?;
        let first = match decided(found.as_ref()) {
            Next::End(result) => return result,
            Next::Send(first) => first,
        };
        let made = self
            .rules
            .change(&draft.name, first, WriteMode::Store, decided);
        match made.await.map_err(failed)? {
            Made::Done(_) => Ok(()),
            Made::Ended(result) => result,
        }
    }

    /// Says on standard error that the rules stay, if any was made.
    pub(crate) fn tell_what_stays(&self, printer: &Printer<'_>) {
        if !self.may_stay.load(Ordering::Relaxed) {
            return;
        }
        printer.note(&format!(
            "the rules have effect None and stay; remove them with --cleanup, or with kubectl delete devicetaintrules -l {}",
            self.batch()
        ));
    }

    fn batch(&self) -> String {
        let batch = self
            .drafts
            .first()
            .and_then(|draft| draft.labels.get(RuleMetadata::BATCH));
        format!(
            "{}={}",
            RuleMetadata::BATCH,
            batch.map_or("", String::as_str)
        )
    }
}

fn draft(considered: &ConsideredTaint) -> Result<RuleDraft, Failure> {
    let taint = &considered.taint;
    if taint.effect != Effect::NoExecute {
        return Err(Failure::usage(format!(
            "--publish asks the controller about evictions, and {} has none",
            taint.effect
        )));
    }
    let Some(selector) = &considered.selector else {
        return Err(Failure::usage(
            "--publish cannot ask about a rule without spec.deviceSelector",
        ));
    };
    Ok(RuleDraft {
        // The value tells the previews of two taints with one key apart.
        name: rule::preview_name(selector, taint),
        selector: selector.clone(),
        taint: Taint {
            effect: Effect::None,
            time_added: None,
            ..taint.clone()
        },
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        manifest: None,
    })
}

/// The drafts with the labels by which they are found.
fn in_one_batch(drafts: Vec<RuleDraft>, considered: &[ConsideredTaint]) -> Vec<RuleDraft> {
    let selectors: Vec<_> = drafts.iter().map(|draft| draft.selector.clone()).collect();
    let Some(first) = considered.first() else {
        return drafts;
    };
    let batch = rule::batch(&selectors, &first.taint);
    let labels = BTreeMap::from([
        (
            RuleMetadata::MANAGED_BY.to_owned(),
            RuleMetadata::THIS_PROGRAM.to_owned(),
        ),
        (RuleMetadata::BATCH.to_owned(), batch),
    ]);
    let labelled = drafts.into_iter().map(|draft| RuleDraft {
        labels: labels.clone(),
        ..draft
    });
    labelled.collect()
}

fn is_preview(rule: &DeviceTaintRule, draft: &RuleDraft) -> bool {
    let managed = rule.metadata.labels.get(RuleMetadata::MANAGED_BY);
    managed.is_some_and(|manager| manager == RuleMetadata::THIS_PROGRAM) && draft.is_spec_of(rule)
}

/// What it means that a signal came first.
pub(crate) fn interrupted(status: ExitStatus) -> Failure {
    Failure::new(status, "interrupted while the controller was asked")
}

/// Whether the controller has said the same about every rule; if not, why that is a failure.
pub(crate) fn check(report: &ImpactReport) -> Result<(), Failure> {
    let rules = |agrees: Option<bool>, answered: bool| {
        let matching = report
            .published
            .iter()
            .filter(|rule| rule.agrees == agrees && rule.condition.is_some() == answered);
        let names: Vec<&str> = matching.map(|rule| rule.rule.as_str()).collect();
        names.join(", ")
    };
    let (differing, silent) = (rules(Some(false), true), rules(None, false));
    let uncompared = rules(None, true);
    if !differing.is_empty() {
        return Err(Failure::new(
            ExitStatus::Incomplete,
            format!("the controller contradicts this preview: {differing}"),
        )
        .hint("the controller is right; a report of the difference with `kubectl get … -o yaml` helps"));
    }
    if !silent.is_empty() {
        return Err(Failure::new(
            ExitStatus::Incomplete,
            format!(
                "no controller has reacted within {} s: {silent}",
                PATIENCE.as_secs()
            ),
        )
        .hint("kube-controller-manager has to run device-taint-eviction-controller, with the feature gates DRADeviceTaints and DRADeviceTaintRules on"));
    }
    if !uncompared.is_empty() {
        let failure = Failure::new(
            ExitStatus::Incomplete,
            format!("nothing to compare with what the controller says: {uncompared}"),
        );
        let unknown = report.incomplete.iter().map(Incomplete::line);
        return Err(unknown.fold(failure, Failure::hint));
    }
    Ok(())
}
