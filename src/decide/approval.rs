//! Approvals: refusals that no answer lifts, the question that a change needs, and the flags that answer it beforehand.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use jiff::SignedDuration;

use super::chooser::Chooser;
use super::owner::others;
use super::proposal::{Evictions, ProposedRule, lines};
use crate::assess::{Assessment, Consent, Guard, ImpactFacts, PodFacts};
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::{DeviceTaintRule, ObjectName, Warning};
use crate::naming::device;
use crate::naming::duration::exact_duration;
use crate::naming::phrase::counted;

/// Approval given beforehand, and its limits.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Safety")]
pub struct SafetyLimits {
    /// Do not ask for confirmation
    ///
    /// A wide change (for `drain` and `make-room`: only with --force) also needs --abort-if or --expect: evictions in
    /// kube-system or several namespaces (admin access does not count), or a taint on every device. So does any rule in
    /// Kubernetes 1.36.0 to 1.36.2.
    #[arg(short, long)]
    pub yes: bool,

    /// Refuse more than in this report of `preview -o json`
    ///
    /// Refused are other taints or selectors (not for `drain`, `make-room`), other or earlier evictions, replaced
    /// devices, and missing data.
    #[arg(long, value_name = "FILENAME", hide_short_help = true)]
    pub expect: Option<PathBuf>,

    /// Refuse if this is true, such as 'pods.evicted>20'
    ///
    /// An unknown value counts as true. Repeatable; signals: `help guards`.
    #[arg(long = "abort-if", value_name = "GUARD")]
    pub guards: Vec<Guard>,

    /// The report of `--expect`, once it was read.
    #[arg(skip)]
    pub expected: Option<ImpactFacts>,
}

impl SafetyLimits {
    /// True if the impact is limited, so that it has to be known.
    pub fn is_set(&self) -> bool {
        self.expected.is_some() || !self.guards.is_empty()
    }

    /// The limit that counts beside `--yes`.
    pub fn limit(&self) -> ImpactLimit {
        match self.is_set() {
            true => ImpactLimit::Set,
            false => ImpactLimit::Missing,
        }
    }
}

/// Limit of the impact that counts beside `--yes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImpactLimit {
    /// A guard or an expected report.
    Set,
    /// None was given.
    Missing,
    /// The command has none.
    Unsupported,
}

/// Way in which pods leave the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionMethod {
    /// By a taint, which ignores budgets.
    Taint,
    /// Through the Eviction API, which respects budgets.
    EvictionApi,
    /// Through the Eviction API first, and then in any case.
    Forced,
}

/// A change, as far as its approval depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Approval<'a> {
    /// The change in words, for the question.
    pub action: &'a str,
    /// The assessment of its impact.
    pub impact: Consent,
    /// Number of evicted pods, if it is known.
    pub pods: Option<usize>,
    /// True if data is missing on which evictions depend.
    pub is_unknown: bool,
    /// True if rules of others are changed.
    pub changes_others: bool,
    /// The Kubernetes defect that every new rule meets.
    pub defect: Option<&'a Warning>,
    /// How pods leave.
    pub eviction: EvictionMethod,
    /// True for `--yes`.
    pub yes: bool,
    /// The limit beside it.
    pub limit: ImpactLimit,
}

impl<'a> Approval<'a> {
    /// A change that evicts no pod.
    pub fn without_evictions(
        action: &'a str,
        defect: Option<&'a Warning>,
        yes: bool,
        limit: ImpactLimit,
    ) -> Self {
        Self {
            action,
            impact: Consent::Nothing,
            pods: Some(0),
            is_unknown: false,
            changes_others: false,
            defect,
            eviction: EvictionMethod::Taint,
            yes,
            limit,
        }
    }

    /// The question that is left, if one is.
    ///
    /// # Errors
    ///
    /// `--yes` without the limit that this change needs beside it.
    pub fn question(&self) -> Result<Option<Question>, Failure> {
        let reason = self.limit_reason();
        let unknown = || {
            (
                NeededAnswer::Unknown,
                Some("the impact is unknown".to_owned()),
            )
        };
        // The known pods are a lower bound: to type their number would approve less than may happen.
        let (answer, why) = if self.is_unknown && self.impact != Consent::Nothing {
            unknown()
        } else if self.yes {
            let missing = reason.filter(|_| self.limit != ImpactLimit::Set);
            return missing.map_or(Ok(None), |reason| Err(self.refusal(&reason)));
        } else {
            match self.impact {
                Consent::Wide { pods, why } => match pods.exact() {
                    Some(pods) => (NeededAnswer::Pods(pods), Some(why.to_string())),
                    None => unknown(),
                },
                Consent::Nothing if reason.is_none() && !self.changes_others => return Ok(None),
                Consent::Nothing | Consent::Yes => (NeededAnswer::Yes, reason),
            }
        };
        let pods = self
            .pods
            .filter(|pods| *pods > 0 && answer == NeededAnswer::Yes);
        Ok(Some(Question {
            action: match pods {
                Some(pods) => format!("{} (pods: {pods})", self.action),
                None => self.action.to_owned(),
            },
            // No flag answers it: a script must not evict pods whose number is unknown.
            flags: self.flags().filter(|_| answer != NeededAnswer::Unknown),
            answer,
            why,
            owners: Vec::new(),
        }))
    }

    /// Reason that `--yes` alone does not approve it.
    fn limit_reason(&self) -> Option<String> {
        if let Some(defect) = self.defect {
            return Some(defect.message.clone());
        }
        match (self.eviction, self.impact) {
            (EvictionMethod::Forced, _) => {
                Some("--force evicts pods regardless of PodDisruptionBudgets".to_owned())
            }
            // A PodDisruptionBudget is a limit that its owner has set.
            (EvictionMethod::EvictionApi, _)
            | (EvictionMethod::Taint, Consent::Nothing | Consent::Yes) => None,
            (EvictionMethod::Taint, Consent::Wide { why, .. }) => Some(why.to_string()),
        }
    }

    fn flags(&self) -> Option<String> {
        match (self.limit_reason(), self.limit) {
            (None, _) | (Some(_), ImpactLimit::Set) => Some("--yes".to_owned()),
            (Some(_), ImpactLimit::Missing) => Some(format!("--yes {}", self.guard())),
            (Some(_), ImpactLimit::Unsupported) => None,
        }
    }

    fn guard(&self) -> String {
        let pods = self.pods.unwrap_or_default();
        format!("--abort-if 'pods.evicted>{pods}'")
    }

    fn refusal(&self, reason: &str) -> Failure {
        let refused = |needed: &str| {
            Failure::refused(format!("{needed}, because {reason}; nothing was changed"))
        };
        match self.limit {
            ImpactLimit::Set | ImpactLimit::Missing => {
                refused("without a question, this change needs a guard (--abort-if)")
                    .hint(format!("add {}", self.guard()))
            }
            ImpactLimit::Unsupported => {
                refused("this change needs confirmation at a terminal, without --yes")
            }
        }
    }
}

/// Answer that a question needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeededAnswer {
    /// Yes.
    Yes,
    /// The number of pods, typed.
    Pods(usize),
    /// The word `UNKNOWN`, typed.
    Unknown,
}

/// Word that approves an unknown impact.
const UNKNOWN: &str = "unknown";

/// Question before a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The answer that it needs.
    pub answer: NeededAnswer,
    action: String,
    why: Option<String>,
    owners: Vec<String>,
    flags: Option<String>,
}

impl Question {
    /// A question that `--yes` answers beforehand.
    pub fn yes(action: String) -> Self {
        Self {
            action,
            answer: NeededAnswer::Yes,
            why: None,
            owners: Vec::new(),
            flags: Some("--yes".to_owned()),
        }
    }

    /// The question as it is asked.
    pub fn prompt(&self, cluster: &str) -> String {
        let (action, why) = (&self.action, self.why.as_deref().unwrap_or_default());
        match self.answer {
            NeededAnswer::Yes => format!("{action} in {cluster}?"),
            // The text to type stands at the end, which a small terminal shows.
            NeededAnswer::Pods(pods) => format!(
                "{action} in {cluster}? Because {why}, confirm with the number of pods that will be \
                evicted: type {pods}"
            ),
            NeededAnswer::Unknown => {
                format!("{action} in {cluster}? Because {why}, type \"{UNKNOWN}\" to proceed")
            }
        }
    }

    /// Checks a typed answer.
    ///
    /// # Errors
    ///
    /// It is not the answer.
    pub fn check(&self, typed: &str) -> Result<(), Failure> {
        let wanted = match self.answer {
            NeededAnswer::Yes => return Ok(()),
            NeededAnswer::Pods(pods) => pods.to_string(),
            NeededAnswer::Unknown => UNKNOWN.to_owned(),
        };
        if typed.trim() == wanted {
            return Ok(());
        }
        Err(Failure::refused(format!(
            "the answer {typed:?} is not {wanted}; nothing was changed"
        )))
    }

    /// Note of a dry run, which asks nothing.
    pub fn in_dry_run(&self) -> String {
        let asks = "without --dry-run, this command";
        match &self.flags {
            Some(flags) => {
                format!("{asks} asks for confirmation; to confirm in advance: {flags}")
            }
            None => format!("{asks} needs {}", self.at_a_terminal()),
        }
    }

    /// Refusal where it cannot be asked.
    pub fn without_terminal(&self, cluster: &str) -> Failure {
        let Some(flags) = &self.flags else {
            let needed = self.at_a_terminal();
            return Failure::refused(format!("this command needs {needed}; nothing was changed"));
        };
        let failure = Failure::refused(format!(
            "this command needs confirmation, and stdin is not a terminal: add {flags}; nothing was \
            changed"
        ));
        match &self.why {
            _ if !self.owners.is_empty() => self.owners.iter().fold(failure, Failure::detail),
            Some(why) => failure.detail(why),
            None => failure.detail(format!("question: {}", self.prompt(cluster))),
        }
    }

    fn at_a_terminal(&self) -> String {
        let why = self.why.as_deref().unwrap_or("no flag confirms it");
        format!("confirmation at a terminal, because {why}")
    }
}

/// Approval of a deletion that was given beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemovalApproval {
    /// True for `--yes`: several rules.
    pub yes: bool,
    /// True for `--others`: rules of others.
    pub others: bool,
}

/// Question before the deletion of `found`, if one is needed: of several rules, or of rules that are not this user's.
pub fn deletion(
    chooser: &Chooser,
    found: &[DeviceTaintRule],
    user: Option<&str>,
    agreed: RemovalApproval,
) -> Option<Question> {
    let all = match chooser {
        Chooser::All => true,
        Chooser::Names(_) | Chooser::Taints(..) | Chooser::Labelled(_) | Chooser::Expired => false,
    };
    let question = Question::yes(deletion_of(found.len()));
    // Before `--yes` counts: it agrees to several rules, and not to those of others.
    let owners = others(found, user);
    let needs_yes = (all || found.len() > 1) && !agreed.yes;
    if !owners.is_empty() && !agreed.others {
        let yes = if needs_yes { " --yes" } else { "" };
        return Some(Question {
            owners,
            flags: Some(format!("--others{yes}")),
            ..question
        });
    }
    needs_yes.then_some(question)
}

/// A deletion in words.
pub(super) fn deletion_of(rules: usize) -> String {
    format!("Delete {}", counted(rules, "rule"))
}

/// A change with its assessed impact.
#[derive(Clone, Copy, Debug)]
pub struct PlannedChange<'a> {
    /// The impact.
    pub assessment: &'a Assessment,
    /// What a preview of the same change shows, which `--expect` is compared with.
    pub previewed: &'a ImpactFacts,
    /// The impact in lines.
    pub lines: &'a ImpactLines,
    /// The rules.
    pub rules: &'a [ProposedRule],
    /// The change in words.
    pub action: &'a str,
    /// Rules of others, and programs that will revert the change.
    pub concerns: &'a [String],
    /// Evictions by this command instead of a taint.
    pub evictions: Option<&'a Evictions>,
    /// The Kubernetes defect that every new rule meets.
    pub defect: Option<&'a Warning>,
}

/// Lines of a report that a question needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImpactLines {
    /// The totals, with what is below.
    pub summary: Vec<String>,
    /// Devices of the same hardware, and what is unknown.
    pub other: Vec<String>,
    /// The pods.
    pub rows: Vec<String>,
}

impl PlannedChange<'_> {
    /// The impact in a few lines.
    pub fn summary_lines(&self) -> Vec<String> {
        match self.evictions {
            None => self.lines.summary.clone(),
            // The report is that of a NoExecute taint: it has the same pods, and another way to evict them.
            Some(evictions) => [evictions.lines.as_slice(), &self.lines.other].concat(),
        }
    }

    /// The lines above the question.
    pub fn block(&self) -> Vec<String> {
        // Rows are those of an eviction by taint, which ignores budgets and comes at once.
        let rows = match self.evictions {
            None => self.lines.rows.as_slice(),
            Some(_) => &[],
        };
        let below = [rows, self.concerns, &self.summary_lines()].concat();
        let below = below.iter().map(|line| format!("  {line}"));
        lines(self.rules).into_iter().chain(below).collect()
    }
}

/// Question before a change that may evict pods, if one is left.
///
/// # Errors
///
/// A tripped guard, more than was expected, unknown evictions with `--yes` or a limit, or a limit that is missing.
pub fn impact(
    limits: &SafetyLimits,
    change: &PlannedChange<'_>,
) -> Result<Option<Question>, Failure> {
    let assessment = change.assessment;
    // Refusals that no answer can lift come first, so that no question is asked in vain.
    refuse_tripped(assessment)?;
    refuse_more_than_expected(limits, change)?;
    refuse_unknown(limits, assessment)?;
    let approval = Approval {
        action: change.action,
        impact: assessment.consent,
        pods: assessment.totals.evicted_pod_count.exact(),
        is_unknown: assessment.facts.decisive_gaps().next().is_some(),
        changes_others: !change.concerns.is_empty(),
        defect: change.defect,
        eviction: match change.evictions {
            None => EvictionMethod::Taint,
            Some(evictions) if evictions.is_forced => EvictionMethod::Forced,
            Some(_) => EvictionMethod::EvictionApi,
        },
        yes: limits.yes,
        limit: limits.limit(),
    };
    approval.question()
}

fn refuse_tripped(assessment: &Assessment) -> Result<(), Failure> {
    match assessment.tripped() {
        Some(refusal) => Err(Failure::refused(format!("{refusal}; nothing was changed"))),
        None => Ok(()),
    }
}

fn refuse_more_than_expected(
    limits: &SafetyLimits,
    change: &PlannedChange<'_>,
) -> Result<(), Failure> {
    let Some(expected) = &limits.expected else {
        return Ok(());
    };
    let hit_already = hit_already(change);
    // A pod that is hit already was part of what was agreed to: it must not stop the run that completes an
    // interrupted one.
    let counts = |objection: &Objection| match objection {
        Objection::NewPod { pod } | Objection::Earlier { pod, .. } => !hit_already.contains(pod),
        // A drain chooses its own rules, and evicts pods through the Eviction API: its pods are compared.
        Objection::OtherTaints { .. } => change.evictions.is_none(),
        Objection::LessKnown { .. } => true,
    };
    let hint =
        "to review the current impact, run the same command with --dry-run and without --expect";
    refuse(
        "the change exceeds the report of --expect",
        objections(expected, change.previewed)
            .into_iter()
            .filter(counts),
    )
    .map_err(|failure| failure.hint(hint))
}

/// Refuses an impact that grew while the user was asked; evictions that come nearer while the clock goes on have not.
///
/// # Errors
///
/// A tripped guard, another pod, or less that is known.
pub fn still_agreed(shown: &ImpactFacts, now: &Assessment) -> Result<(), Failure> {
    refuse_tripped(now)?;
    let grew = |objection: &Objection| match objection {
        Objection::NewPod { .. } | Objection::LessKnown { .. } => true,
        Objection::OtherTaints { .. } | Objection::Earlier { .. } => false,
    };
    refuse(
        "the impact grew while waiting for confirmation",
        objections(shown, &now.facts).into_iter().filter(grew),
    )
}

fn refuse(text: &str, objections: impl Iterator<Item = Objection>) -> Result<(), Failure> {
    let mut details = objections.map(|objection| objection.to_string()).peekable();
    if details.peek().is_none() {
        return Ok(());
    }
    let refused = Failure::refused(format!("{text}; nothing was changed"));
    Err(details.fold(refused, Failure::detail))
}

/// Pods that rules evict which are as wanted already: without this change, too.
fn hit_already(change: &PlannedChange<'_>) -> BTreeSet<String> {
    let done = change.rules.iter().filter(|rule| !rule.is_open());
    let done: BTreeSet<&ObjectName> = done.map(|done| &done.rule.name).collect();
    // The earliest cause decides.
    let is_hit = |pod: &&PodFacts| {
        let first = pod.first_rule.as_ref();
        first.is_some_and(|rule| done.contains(rule))
    };
    let pods = change.assessment.facts.pods.iter().filter(is_hit);
    pods.map(|pod| pod.name.to_string()).collect()
}

fn refuse_unknown(limits: &SafetyLimits, assessment: &Assessment) -> Result<(), Failure> {
    let is_counted = limits.yes || !assessment.guards.is_empty();
    let unknown = assessment.facts.unknown_evictions();
    if unknown.is_empty() || !is_counted {
        return Ok(());
    }
    let refused = Failure::refused(
        "the data is incomplete, so more pods may be evicted than this command counts; nothing \
        was changed",
    );
    Err(unknown.into_iter().fold(refused, Failure::detail))
}

/// Difference of an impact from the one that was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Objection {
    /// Other taints, selectors or rules.
    OtherTaints {
        /// Those of the report.
        expected: Vec<String>,
        /// Those of the change.
        found: Vec<String>,
    },
    /// A pod that was not among the evicted ones.
    NewPod {
        /// The pod.
        pod: String,
    },
    /// An eviction that comes earlier.
    Earlier {
        /// The pod.
        pod: String,
        /// The delay in the report.
        expected: SignedDuration,
        /// The delay now.
        found: SignedDuration,
    },
    /// Objects that were read then.
    LessKnown {
        /// The objects.
        what: String,
    },
}

impl fmt::Display for Objection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherTaints { expected, found } => write!(
                formatter,
                "the report is for {}, but the change is for {}",
                expected.join(", "),
                found.join(", ")
            ),
            Self::NewPod { pod } => write!(formatter, "pod {pod} would be evicted, too"),
            Self::Earlier {
                pod,
                expected,
                found,
            } => write!(
                formatter,
                "pod {pod} would be evicted in {}, earlier than in the report ({})",
                exact_duration(*found),
                exact_duration(*expected)
            ),
            Self::LessKnown { what } => write!(formatter, "{what} can no longer be read"),
        }
    }
}

/// Everything in which `found` exceeds what is `known`.
pub fn objections(known: &ImpactFacts, found: &ImpactFacts) -> Vec<Objection> {
    let mut objections: Vec<Objection> = other_taints(known, found).into_iter().collect();
    let expected: BTreeMap<&str, &PodFacts> =
        known.evicted().map(|pod| (pod.uid.as_str(), pod)).collect();
    // By UID: a later pod of the same name was not in the report that was approved.
    for pod in found.evicted() {
        objections.extend(match expected.get(pod.uid.as_str()) {
            None => Some(Objection::NewPod {
                pod: pod.name.to_string(),
            }),
            Some(expected) => earlier(expected, pod),
        });
    }
    let missing: BTreeSet<&str> = known.gaps.iter().map(|gap| gap.what.as_str()).collect();
    // Missing details change nothing about who is evicted, and so do not refuse what was approved.
    let less = found.decisive_gaps();
    let less = less.filter(|gap| !missing.contains(gap.what.as_str()));
    objections.extend(less.map(|gap| Objection::LessKnown {
        what: gap.what.clone(),
    }));
    objections
}

fn other_taints(known: &ImpactFacts, found: &ImpactFacts) -> Option<Objection> {
    let taints =
        |facts: &ImpactFacts| -> BTreeSet<String> { facts.taints.iter().map(described).collect() };
    let rules = |facts: &ImpactFacts| -> BTreeSet<String> {
        let rules = facts.taints.iter().filter_map(|taint| taint.rule.as_ref());
        rules.map(|rule| format!("rule {rule}")).collect()
    };
    let (expected, described) = (taints(known), taints(found));
    let (named, wanted) = (rules(known), rules(found));
    // A report from before the rule was made has no name to compare.
    if expected == described && (named.is_empty() || wanted.is_empty() || named == wanted) {
        return None;
    }
    Some(Objection::OtherTaints {
        expected: expected.into_iter().chain(named).collect(),
        found: described.into_iter().chain(wanted).collect(),
    })
}

fn described(proposed: &ProposedTaint) -> String {
    let taint = &proposed.taint;
    match &proposed.selector {
        None => format!("{taint} without a selector"),
        Some(selector) => format!("{taint} on {}", device::format(selector)),
    }
}

fn earlier(expected: &PodFacts, found: &PodFacts) -> Option<Objection> {
    // Both the time and the delay, since a report that waited for approval has only delays that are over.
    let (then, now) = (expected.eviction_time?, found.eviction_time?);
    let delay = |pod: &PodFacts| pod.evict_in_seconds.unwrap_or_default().max(0);
    let (expected, left) = (delay(expected), delay(found));
    (now != then && left < expected).then(|| Objection::Earlier {
        pod: found.name.to_string(),
        expected: SignedDuration::from_secs(expected),
        found: SignedDuration::from_secs(left),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::{Limits, Outcome, WhyWide};
    use crate::decide::proposal::EvictedPods;
    use crate::decide::testing::{foreign as theirs, named};
    use crate::error::ExitStatus;
    use crate::model::{Affects, Count, Effect, Gap};
    use crate::report::ImpactReport;
    use crate::report::impact::saved;
    use crate::report::testing::Example;

    const WIDE: Consent = Consent::Wide {
        pods: Count::known(3),
        why: WhyWide::SystemPods,
    };

    #[test]
    fn a_wide_or_forced_change_needs_a_limit_beside_yes() {
        use EvictionMethod::{EvictionApi, Forced, Taint};
        let defect = Warning {
            code: "scheduler-breaks",
            message: "kube-scheduler can panic".to_owned(),
            fix: None,
        };
        let (nothing, small) = (Consent::Nothing, Consent::Yes);
        let (healthy, broken) = (None, Some(&defect));
        for (command, impact, eviction, defect, alone) in [
            ("add, unused devices", nothing, Taint, healthy, true),
            ("add, one namespace", small, Taint, healthy, true),
            ("add, kube-system", WIDE, Taint, healthy, false),
            ("drain, unused devices", nothing, EvictionApi, healthy, true),
            ("drain, one namespace", small, EvictionApi, healthy, true),
            ("drain, kube-system", WIDE, EvictionApi, healthy, true),
            ("--force, unused devices", nothing, Forced, healthy, false),
            ("--force, one namespace", small, Forced, healthy, false),
            ("drain --force, kube-system", WIDE, Forced, healthy, false),
            ("add of effect None, 1.36.2", nothing, Taint, broken, false),
            ("add, 1.36.2", small, Taint, broken, false),
            ("add, kube-system, 1.36.2", WIDE, Taint, broken, false),
            ("drain, unused, 1.36.2", nothing, EvictionApi, broken, false),
            ("drain, system, 1.36.2", WIDE, EvictionApi, broken, false),
            ("drain --force, 1.36.2", small, Forced, broken, false),
        ] {
            for (limit, is_approved) in [
                (ImpactLimit::Set, true),
                (ImpactLimit::Missing, alone),
                (ImpactLimit::Unsupported, alone),
            ] {
                let approval = Approval {
                    impact,
                    eviction,
                    ..Approval::without_evictions("Go on", defect, true, limit)
                };
                match approval.question() {
                    Ok(question) => {
                        assert!(question.is_none() && is_approved, "{command}, {limit:?}");
                    }
                    Err(failure) => {
                        assert!(!is_approved, "{command}, {limit:?}: {failure}");
                        assert_eq!(failure.status(), ExitStatus::Refused);
                        assert!(failure.hints().len() <= 1, "{command}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_question_takes_one_answer_and_names_the_flags_that_give_it() {
        use NeededAnswer::{Pods, Unknown, Yes};
        let question = |impact, is_unknown, changes_others| {
            let approval = Approval {
                impact,
                is_unknown,
                changes_others,
                ..Approval::without_evictions("Go on", None, false, ImpactLimit::Missing)
            };
            approval.question().unwrap()
        };
        assert_eq!(question(Consent::Nothing, true, false), None);
        let (nothing, small) = (Consent::Nothing, Consent::Yes);
        let yes = Some("--yes");
        let limited = Some("--yes --abort-if 'pods.evicted>0'");
        // An unknown impact, and rules of others.
        for (impact, is_unknown, changes_others, answer, typed, flags) in [
            (nothing, false, true, Yes, ("", None), yes),
            (small, false, false, Yes, ("", None), yes),
            (WIDE, false, false, Pods(3), (" 3 ", Some("2")), limited),
            (WIDE, true, false, Unknown, (" unknown ", Some("3")), None),
            (small, true, false, Unknown, ("unknown", Some("y")), None),
        ] {
            let question = question(impact, is_unknown, changes_others).unwrap();
            assert_eq!(question.answer, answer);
            let (right, wrong) = typed;
            assert!(question.check(right).is_ok());
            assert!(
                wrong.is_none_or(|wrong| question.check(wrong).is_err()),
                "{answer:?}"
            );
            assert!(question.prompt("prod-eu").starts_with("Go on in prod-eu?"));
            let failure = question.without_terminal("prod-eu");
            assert_eq!(failure.status(), ExitStatus::Refused);
            let texts = [failure.to_string(), question.in_dry_run()];
            let named = |text: &String| text.contains(flags.unwrap_or("at a terminal"));
            assert!(texts.iter().all(named), "{texts:?}");
        }
    }

    #[test]
    fn several_rules_or_all_need_yes_and_rules_of_others_need_others() {
        let names =
            |names: &[&str]| Chooser::Names(names.iter().map(|name| (*name).to_owned()).collect());
        let (ours, theirs) = (named("a", "NoExecute"), theirs("b", "kubectl-create"));
        let labelled = || Chooser::Labelled("team=ml".parse().unwrap());
        let two = [ours.clone(), named("b", "None")];
        let several = [theirs.clone(), ours.clone()];
        let (ours, theirs) = (&[ours][..], &[theirs][..]);
        for (chooser, rules, yes, others, flags) in [
            (names(&["a"]), ours, false, false, None),
            (Chooser::Expired, ours, false, false, None),
            (labelled(), ours, false, false, None),
            (Chooser::All, ours, false, false, Some("--yes")),
            (Chooser::All, ours, true, false, None),
            (names(&["a", "b"]), &two, false, false, Some("--yes")),
            (names(&["a", "b"]), &two, true, false, None),
            (names(&["b"]), theirs, false, false, Some("--others")),
            (names(&["b"]), theirs, true, false, Some("--others")),
            (names(&["b"]), theirs, false, true, None),
            (
                names(&["a", "b"]),
                &several,
                false,
                false,
                Some("--others --yes"),
            ),
            (names(&["a", "b"]), &several, true, false, Some("--others")),
            (names(&["a", "b"]), &several, false, true, Some("--yes")),
        ] {
            let agreed = RemovalApproval { yes, others };
            let question = deletion(&chooser, rules, Some("anna"), agreed);
            let found = question.as_ref().and_then(|it| it.flags.as_deref());
            assert_eq!(found, flags, "{chooser:?} {agreed:?}");
        }
    }

    /// Three pods in two namespaces, of which one later.
    fn report() -> ImpactReport {
        Example::new().report()
    }

    static NO_LINES: ImpactLines = ImpactLines {
        summary: Vec::new(),
        other: Vec::new(),
        rows: Vec::new(),
    };

    fn change(report: &ImpactReport) -> PlannedChange<'_> {
        PlannedChange {
            assessment: &report.assessment,
            previewed: &report.assessment.facts,
            lines: &NO_LINES,
            rules: &[],
            action: "Give effect NoExecute to rule drain",
            concerns: &[],
            evictions: None,
            defect: None,
        }
    }

    fn limits(yes: bool, expect: Option<ImpactFacts>) -> SafetyLimits {
        SafetyLimits {
            yes,
            expected: expect,
            ..SafetyLimits::default()
        }
    }

    fn gap(what: &str, affects: Affects) -> Gap {
        Gap {
            what: what.to_owned(),
            why: "access denied".to_owned(),
            affects,
        }
    }

    #[test]
    fn an_unknown_impact_is_approved_at_a_terminal_alone() {
        let asked = |affects| {
            let mut report = report();
            report.assessment.facts.gaps.push(gap("pods", affects));
            let question = impact(&limits(false, None), &change(&report))
                .unwrap()
                .unwrap();
            let refused = impact(&limits(true, None), &change(&report)).unwrap_err();
            (question.answer, refused.details().to_vec())
        };
        let (answer, details) = asked(Affects::Evictions);
        assert_eq!(answer, NeededAnswer::Unknown);
        assert_eq!(details, ["pods: access denied"]);
        // Details do not change the affected pods.
        assert!(
            matches!(asked(Affects::Details), (NeededAnswer::Pods(_), details) if details.is_empty())
        );
    }

    #[test]
    fn a_drain_is_compared_by_its_pods_and_not_by_its_rules() {
        let report = Example::new().in_one_namespace().report();
        let mut expected = report.assessment.facts.clone();
        expected.taints.clear();
        let evictions = Evictions {
            lines: Vec::new(),
            is_forced: false,
            pods: EvictedPods::AllExcept(BTreeSet::new()),
        };
        let agreed = |expected: &ImpactFacts, evictions: Option<&Evictions>| {
            let change = PlannedChange {
                evictions,
                ..change(&report)
            };
            impact(&limits(true, Some(expected.clone())), &change).is_ok()
        };
        assert!(agreed(&expected, Some(&evictions)));
        assert!(!agreed(&expected, None));
        expected.pods.clear();
        assert!(!agreed(&expected, Some(&evictions)));
    }

    #[test]
    fn a_tripped_guard_is_never_asked_away() {
        let guards = ["pods.evicted>2".parse().unwrap()];
        let within = Limits {
            guards: &guards,
            ..Limits::default()
        };
        let report = Example::new().in_one_namespace().report_within(&within);
        for yes in [false, true] {
            let failure = impact(&limits(yes, None), &change(&report)).unwrap_err();
            assert_eq!(failure.status(), ExitStatus::Refused);
            assert!(
                failure
                    .to_string()
                    .starts_with("guard tripped: pods.evicted>2")
            );
        }
    }

    #[test]
    fn more_than_the_report_that_was_read_is_refused_and_less_is_not() {
        let read = report();
        let text = serde_json::to_string(&read).unwrap();
        let expected = limits(true, Some(saved::parse(&text).unwrap()));
        assert_eq!(impact(&expected, &change(&read)).unwrap(), None);
        let mut more = read;
        let mut pods = more.assessment.facts.pods.iter_mut();
        let newcomer = pods.find(|pod| pod.outcome.is_evicted()).unwrap();
        newcomer.uid = "uid-of-a-newcomer".into();
        newcomer.first_rule = Some("first".into());
        let name = newcomer.name.to_string();
        let failure = impact(&expected, &change(&more)).unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Refused);
        assert!(
            failure.details()[0].contains(&name),
            "{:?}",
            failure.details()
        );
        // A rule that is there already evicts it, whatever becomes of the rest.
        let first = named("first", "NoExecute");
        let done = [ProposedRule::effect(&first, &Effect::NoExecute)];
        let begun = PlannedChange {
            rules: &done,
            ..change(&more)
        };
        assert!(impact(&expected, &begun).is_ok());
    }

    #[test]
    fn an_answer_is_about_what_was_shown_and_nothing_that_came_since() {
        let all = report().assessment;
        let mut pods = all.facts.pods.iter();
        let evicted = pods.position(|pod| pod.outcome.is_evicted()).unwrap();
        let mut fewer = all.clone();
        let newcomer = fewer.facts.pods.remove(evicted);
        let mut unread = all.clone();
        unread.facts.gaps = vec![gap("pods", Affects::Evictions)];
        // Evictions that come nearer only because time passes need no new question.
        let mut nearer = all.clone();
        for pod in &mut nearer.facts.pods {
            let earlier = |time| time - SignedDuration::from_secs(30);
            pod.eviction_time = pod.eviction_time.map(earlier);
            pod.evict_in_seconds = pod.evict_in_seconds.map(|seconds| seconds - 30);
        }
        for (shown, now, detail) in [
            (&all, &all, None),
            (&all, &fewer, None),
            (&all, &nearer, None),
            (&fewer, &all, Some(newcomer.name.to_string())),
            (&all, &unread, Some("pods can no longer".to_owned())),
        ] {
            let failure = still_agreed(&shown.facts, now).err();
            assert_eq!(failure.is_some(), detail.is_some(), "{failure:?}");
            if let Some((failure, detail)) = failure.zip(detail) {
                assert_eq!(failure.status(), ExitStatus::Refused);
                assert!(failure.details()[0].contains(&detail), "{failure:?}");
            }
        }
    }

    #[test]
    fn rules_of_others_are_asked_about_although_no_pod_is_evicted() {
        let mut example = Example::new();
        example.proposed.taint.effect = Effect::None;
        let report = example.report();
        assert_eq!(
            impact(&limits(false, None), &change(&report)).unwrap(),
            None
        );
        let concerns = ["rule drain was not created by this plugin".to_owned()];
        let theirs = PlannedChange {
            concerns: &concerns,
            ..change(&report)
        };
        assert!(impact(&limits(false, None), &theirs).unwrap().is_some());
        assert_eq!(impact(&limits(true, None), &theirs).unwrap(), None);
    }

    #[test]
    fn a_new_pod_an_earlier_eviction_and_another_taint_exceed_a_report() {
        let known = Example::new().facts();
        let mut found = known.clone();
        let mut pods = found.pods.iter_mut();
        let later = pods
            .find(|pod| pod.outcome == Outcome::EvictedLater)
            .unwrap();
        later.eviction_time = Some(crate::report::testing::now());
        later.evict_in_seconds = Some(0);
        let mut pods = found.pods.iter_mut();
        pods.find(|pod| pod.outcome == Outcome::EvictedNow)
            .unwrap()
            .uid = "born later".into();
        found.taints[0].taint.value = "other".to_owned();
        let objections = objections(&known, &found);
        assert!(
            matches!(
                &objections[..],
                [Objection::OtherTaints { .. }, one, other]
                    if matches!((one, other), (Objection::NewPod { .. }, Objection::Earlier { .. })
                        | (Objection::Earlier { .. }, Objection::NewPod { .. }))
            ),
            "{objections:?}"
        );
    }

    #[test]
    fn the_rule_of_a_report_has_to_be_the_same_where_both_have_one() {
        let with = |rule: Option<&str>| {
            let mut facts = Example::new().facts();
            facts.taints[0].rule = rule.map(Into::into);
            facts
        };
        for (before, now, is_same) in [
            (Some("a"), Some("a"), true),
            (None, Some("a"), true),
            (Some("a"), None, true),
            (Some("a"), Some("b"), false),
        ] {
            let objections = objections(&with(before), &with(now));
            assert_eq!(objections.is_empty(), is_same, "{before:?} {now:?}");
        }
    }

    #[test]
    fn objects_on_which_evictions_depend_have_to_be_known_as_in_the_report() {
        let known = Example::new().facts();
        let without = |affects| ImpactFacts {
            gaps: vec![gap("pods", affects)],
            ..known.clone()
        };
        let (unknown, details) = (without(Affects::Evictions), without(Affects::Details));
        for (before, now, count) in [
            (&known, &unknown, 1),
            (&known, &details, 0),
            (&unknown, &unknown, 0),
            (&details, &unknown, 0),
        ] {
            assert_eq!(objections(before, now).len(), count);
        }
    }

    #[test]
    fn an_eviction_that_time_brings_nearer_is_not_earlier() {
        let known = Example::new().facts();
        for (delay, time) in [(-60, 0), (60, 600)] {
            let mut found = known.clone();
            for pod in &mut found.pods {
                let moved = |at| at + SignedDuration::from_secs(time);
                pod.eviction_time = pod.eviction_time.map(moved);
                pod.evict_in_seconds = pod.evict_in_seconds.map(|seconds| seconds + delay);
            }
            assert_eq!(objections(&known, &found), []);
        }
    }
}
