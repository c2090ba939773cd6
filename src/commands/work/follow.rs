//! An answer that is given again whenever the cluster gives another.
//!
//! Nothing is asked for twice: what was read is kept current by one watch of each kind, and the
//! answer is made anew from that.

use std::collections::BTreeSet;
use std::time::Duration;

use super::cluster_view::{ClusterView, ViewWarnings};
use super::connect::failed;
use super::output_request::OutputRequest;
use super::present::{page, present, tell};
use super::source::detail;
use crate::assess::{Basis, DeviceBasis};
use crate::cluster::{Detail, Watched};
use crate::commands::clock::Clock;
use crate::commands::context::Context;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, Kind};
use crate::render::{Format, render};
use crate::report::command_event::EventDetail;
use crate::report::{Answer, View};

/// Changes within this time are shown together.
const GATHER: Duration = Duration::from_secs(1);
/// How often pods are asked for that nobody may watch or that are few.
const TICK: Duration = Duration::from_secs(5);

/// What is asked, again and again.
pub(crate) trait FollowedQuestion {
    /// What answers it.
    type Answer: Answer;

    /// The devices whose pods the answer needs; absent when it needs no pods.
    fn needs_pods_of(&self, basis: &DeviceBasis<'_>) -> Option<BTreeSet<DeviceId>>;

    /// Whether the answer says what devices are beside their names.
    fn needs_attributes(&self) -> bool {
        false
    }

    /// What has changed from one answer to the next, a line each, where that is what people are told; absent
    /// where they get the whole answer again.
    fn changes(&self, _before: &Self::Answer, _now: &Self::Answer) -> Option<Vec<String>> {
        None
    }

    /// The answer to what was read.
    fn answer(&self, basis: &Basis<'_>) -> Self::Answer;
}

/// Answers once.
pub(crate) async fn answer_once(
    question: &impl FollowedQuestion,
    view: ClusterView,
    wanted: OutputRequest,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    let (answer, view_warnings) = answer(question, view).await?;
    present(&answer, &view_warnings, wanted, context)
}

/// The answer, with what there is to say beside it.
pub(crate) async fn answer<Q: FollowedQuestion>(
    question: &Q,
    view: ClusterView,
) -> Result<(Q::Answer, ViewWarnings), Failure> {
    let devices = question.needs_pods_of(&view.device_basis());
    let devices = devices.unwrap_or_default();
    let view = view.with_pods(|id| devices.contains(id)).await?;
    let answer = question.answer(&view.basis());
    Ok((answer, view.into_view_warnings()))
}

/// Answers, and again whenever the answer is another; until somebody stops it, nobody reads it any
/// more, or the cluster cannot be asked.
pub(crate) async fn follow<Q: FollowedQuestion>(
    question: &Q,
    view: ClusterView,
    wanted: OutputRequest,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    let Some(live) = view.live().cloned() else {
        return Err(Failure::usage(
            "saved files do not change: --watch needs a cluster",
        ));
    };
    let semantics = view.semantics;
    let began = view.now;
    let clock = Clock::set(began);
    let (reading, mut view_warnings) = view.into_parts();
    let kinds = [
        Kind::ResourceSlice,
        Kind::ResourceClaim,
        Kind::DeviceTaintRule,
    ];
    let detail = if question.needs_attributes() {
        Detail::Attributes
    } else {
        detail(&semantics)
    };
    let mut watched = Watched::keep(&live.client, &live.served, detail, reading).watching(&kinds);
    let mut shown = None;
    let mut last: Option<Q::Answer> = None;
    let mut names_before = Vec::new();
    loop {
        let at = |now| Basis::new(watched.reading(), &semantics, now);
        // Each time anew: a rule that has changed may select other devices.
        if let Some(devices) = question.needs_pods_of(&at(clock.now())) {
            let kept = watched.keep_pods(|id| devices.contains(id)).await;
            kept.map_err(failed)?;
        }
        let at = |now| Basis::new(watched.reading(), &semantics, now);
        // At one moment, so that it is no other answer only because a rule has become older.
        let compared = render(&question.answer(&at(began)), page(wanted, context))?;
        if shown.as_ref() != Some(&compared) {
            let now = clock.now();
            let answer = question.answer(&at(now));
            let is_told = last.as_ref().filter(|_| tells_changes(wanted.format));
            match is_told.and_then(|last| question.changes(last, &answer)) {
                Some(changes) => {
                    tell(&answer, &context.printer);
                    let lines = changes.iter().map(|line| format!("{now:.0}  {line}\n"));
                    context.printer.emit(&lines.collect::<String>())?;
                }
                None => {
                    if shown.as_ref().is_some_and(|shown| !shown.is_empty()) {
                        context.printer.emit(between(wanted.format))?;
                    }
                    present(&answer, &view_warnings, wanted, context)?;
                }
            }
            if context.journal().is_some() {
                let names = answer.names();
                let event =
                    EventDetail::list_changed(names.clone(), &names_before, answer.incomplete());
                context.happens(event);
                names_before = names;
            }
            view_warnings = ViewWarnings::default();
            shown = Some(compared);
            last = Some(answer);
        }
        if !context.printer.is_read() {
            return Ok(ExitStatus::Success);
        }
        rest(&mut watched).await.map_err(failed)?;
    }
}

/// Waits for a change, and gathers what comes at the same time.
async fn rest(watched: &mut Watched) -> Result<(), crate::cluster::ClusterError> {
    if watched.asks_by_name() {
        match tokio::time::timeout(TICK, watched.changed()).await {
            Ok(changed) => changed?,
            Err(_) => return Ok(()),
        }
    } else {
        watched.changed().await?;
    }
    let gathered = async {
        loop {
            watched.changed().await?;
        }
    };
    match tokio::time::timeout(GATHER, gathered).await {
        Ok(ended) => ended,
        Err(_) => Ok(()),
    }
}

/// Whether the format is for people who look on, and can be told what changes.
fn tells_changes(format: Format) -> bool {
    match format {
        Format::Table | Format::Wide => true,
        Format::Markdown | Format::Html | Format::Name | Format::Json | Format::Yaml => false,
    }
}

/// What stands between two answers.
fn between(format: Format) -> &'static str {
    match format {
        Format::Table | Format::Wide | Format::Markdown | Format::Html | Format::Name => "\n",
        Format::Yaml => "---\n",
        Format::Json => "",
    }
}
