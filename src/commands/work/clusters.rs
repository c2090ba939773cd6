//! One question to several clusters, side by side.

use futures::stream::{self, StreamExt};

use super::cluster_view::ViewWarnings;
use crate::commands::context::Context;
use crate::decide::exit_status::of_parts;
use crate::error::Failure;
use crate::report::Answer;
use crate::report::clusters::{ClusterReport, ClusterReports};

/// So many clusters are asked at a time.
const AT_ONCE: usize = 8;

/// What every cluster answers that is meant. One that gives no answer is named among what is missing,
/// with what to do about it as a hint.
///
/// # Errors
///
/// When no cluster gives an answer.
pub(crate) async fn ask<A: Answer>(
    context: &Context,
    question: impl AsyncFn(&Context) -> Result<(A, ViewWarnings), Failure>,
) -> Result<ClusterReports<A>, Failure> {
    let asked = context.contexts.iter().map(|name| {
        let question = &question;
        async move {
            let context = context.of(name);
            (name, question(&context).await)
        }
    });
    // In order: reports stand as the contexts were named, whichever cluster answers first.
    let answers: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
    let mut clusters = Vec::with_capacity(answers.len());
    let mut failures = Vec::new();
    for (name, answer) in answers {
        let cluster = ClusterReport {
            context: name.clone(),
            report: None,
            error: None,
        };
        clusters.push(match answer {
            Ok((report, view_warnings)) => {
                view_warnings.tell(&context.printer);
                ClusterReport {
                    report: Some(report),
                    ..cluster
                }
            }
            Err(failure) => {
                let error = Some(failure.to_string());
                failures.push((name, failure));
                ClusterReport { error, ..cluster }
            }
        });
    }
    // With one answer there is a report, in which the others are named as missing.
    if failures.len() == clusters.len() {
        return Err(no_response(&failures));
    }
    for (name, failure) in failures {
        for detail in failure.details() {
            context.printer.detail(&format!("{name}: {detail}"));
        }
        for hint in failure.hints() {
            context.printer.hint(&format!("{name}: {hint}"));
        }
    }
    Ok(ClusterReports::new(clusters))
}

/// One failure for all clusters, which ends as all of them do.
fn no_response(failures: &[(&String, Failure)]) -> Failure {
    let mut statuses = failures.iter().map(|(_, failure)| failure.status());
    let first = statuses.next();
    // Clusters that fail alike end the command as one would.
    let status = first.filter(|first| statuses.all(|other| other == *first));
    let status =
        status.unwrap_or_else(|| of_parts(failures.iter().map(|(_, failure)| failure.status())));
    let texts: Vec<String> = failures
        .iter()
        .map(|(name, failure)| format!("{name}: {failure}"))
        .collect();
    let failure = Failure::new(status, texts.join("; "));
    failures.iter().fold(failure, |failure, (name, one)| {
        let details = one.details().iter();
        let failure = details.fold(failure, |failure, detail| {
            failure.detail(format!("{name}: {detail}"))
        });
        let hints = one.hints().iter();
        hints.fold(failure, |failure, hint| {
            failure.hint(format!("{name}: {hint}"))
        })
    })
}
