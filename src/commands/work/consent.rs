//! What stands between a command and the pods it would evict: guards, a kept report, a question.

use std::path::PathBuf;

use crate::commands::context::Context;
use crate::error::{ExitStatus, Failure};
use crate::output::question::{self, QuestionError};
use crate::report::Guard;
use crate::report::ImpactReport;
use crate::report::impact::{Consent, ExpectedReport, UnreadableReport};

/// How much harm is agreed to, as it was said.
#[derive(Debug)]
pub(crate) struct Agreement {
    /// Whether nobody is asked.
    pub(crate) yes: bool,
    /// How many pods may be evicted, exactly.
    pub(crate) confirm_pods: Option<usize>,
    /// The file with the report that was agreed to.
    pub(crate) expect: Option<PathBuf>,
    /// What must not hold.
    pub(crate) guards: Vec<Guard>,
}

/// How much harm is agreed to, with the report that was read.
#[derive(Debug)]
pub(crate) struct Safety {
    yes: bool,
    confirm_pods: Option<usize>,
    expect: Option<ExpectedReport>,
    pub(crate) guards: Vec<Guard>,
}

fn read_expected(path: &PathBuf) -> Result<ExpectedReport, Failure> {
    let named = |problem: String| format!("--expect {}: {problem}", path.display());
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::usage(named(error.to_string())))?;
    ExpectedReport::parse(&text).map_err(|error| {
        let edited = matches!(error, UnreadableReport::Edited { .. });
        let message = named(error.to_string());
        if edited {
            Failure::refused(format!("{message}; nothing was changed"))
                .hint("make a new report, and read it: `preview … -o json`")
        } else {
            Failure::usage(message).hint("write one with `preview … -o json`")
        }
    })
}

impl Safety {
    /// Reads the report that was agreed to, and finds what is wrong with it.
    pub(crate) fn new(agreement: Agreement) -> Result<Self, Failure> {
        Ok(Self {
            yes: agreement.yes,
            confirm_pods: agreement.confirm_pods,
            expect: agreement.expect.as_ref().map(read_expected).transpose()?,
            guards: agreement.guards,
        })
    }

    /// Lets a change pass that has this impact, or says what stands in its way. Nothing was changed.
    pub(crate) fn check(&self, report: &ImpactReport, context: &Context) -> Result<(), Failure> {
        for line in report.summary_lines() {
            context.printer.note(&line);
        }
        refuse_tripped(report)?;
        self.refuse_more_than_expected(report)?;
        self.refuse_unknown(report)?;
        self.consent(report, context)
    }

    fn refuse_more_than_expected(&self, report: &ImpactReport) -> Result<(), Failure> {
        let Some(expected) = &self.expect else {
            return Ok(());
        };
        let objections = expected.objections(report);
        if objections.is_empty() {
            return Ok(());
        }
        let refused =
            Failure::refused("the impact is more than --expect says; nothing was changed");
        let texts = objections.iter().map(ToString::to_string);
        Err(texts.fold(refused, Failure::hint))
    }

    /// Numbers that were agreed to mean nothing when the report's are lower bounds.
    fn refuse_unknown(&self, report: &ImpactReport) -> Result<(), Failure> {
        let counted = self.yes || self.confirm_pods.is_some() || !self.guards.is_empty();
        let unknown = report.unknown_evictions();
        if unknown.is_empty() || !counted {
            return Ok(());
        }
        let refused = Failure::refused(
            "the answer is incomplete, so that more pods may be hit; nothing was changed",
        );
        Err(unknown.into_iter().fold(refused, Failure::hint))
    }

    fn consent(&self, report: &ImpactReport, context: &Context) -> Result<(), Failure> {
        let pods = report.summary.pods;
        if let Some(confirmed) = self.confirm_pods
            && confirmed != pods
        {
            return Err(Failure::refused(format!(
                "--confirm-pods says {confirmed}, and {pods} would be evicted; nothing was changed"
            )));
        }
        let agreed = self.confirm_pods.is_some() || self.expect.is_some();
        match report.consent() {
            Consent::Nothing => Ok(()),
            Consent::Yes if self.yes => Ok(()),
            Consent::PodCount { .. } if self.yes && agreed => Ok(()),
            Consent::Yes if context.interactive => yes_or_refuse("Go on?"),
            Consent::PodCount { pods, why } if context.interactive => ask_for_count(pods, &why),
            Consent::Yes => Err(without_terminal("--yes")),
            Consent::PodCount { pods, why } => Err(without_terminal(&format!(
                "--yes --confirm-pods {pods}, or --yes --expect REPORT.json"
            ))
            .hint(format!("a number is asked for because {why}"))),
        }
    }
}

/// Whether one of the guards forbids it.
fn refuse_tripped(report: &ImpactReport) -> Result<(), Failure> {
    match report.refusal() {
        Some(refusal) => Err(Failure::refused(format!("{refusal}; nothing was changed"))),
        None => Ok(()),
    }
}

/// Asks for a yes; anything else ends the command.
pub(crate) fn yes_or_refuse(prompt: &str) -> Result<(), Failure> {
    if question::confirm(prompt).map_err(unanswered)? {
        Ok(())
    } else {
        Err(Failure::refused("not confirmed; nothing was changed"))
    }
}

fn ask_for_count(pods: usize, why: &str) -> Result<(), Failure> {
    let prompt = format!("Type how many pods will be evicted, because {why}");
    let answer = question::line(&prompt).map_err(unanswered)?;
    if answer.trim().parse() == Ok(pods) {
        Ok(())
    } else {
        Err(Failure::refused(format!(
            "{answer:?} is not {pods}; nothing was changed"
        )))
    }
}

/// There is nobody to ask.
pub(crate) fn without_terminal(flags: &str) -> Failure {
    Failure::refused(format!(
        "this needs to be confirmed, and there is no terminal to ask on: add {flags}; nothing was changed"
    ))
}

fn unanswered(error: QuestionError) -> Failure {
    match error {
        QuestionError::Interrupted => {
            Failure::new(ExitStatus::Interrupted, "interrupted; nothing was changed")
        }
        QuestionError::Unreadable(_) => Failure::from(error).hint("nothing was changed"),
    }
}
