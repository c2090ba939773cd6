//! `snapshot`: saves what a preview needs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use futures::channel::oneshot;

use super::context::Context;
use super::work::connect::connect;
use super::work::source::read_files;
use crate::cluster::{
    self, Destination, Existing, Redaction, RedactionError, SaveError, Saved, SavedNotes,
};
use crate::error::{ExitStatus, Failure};
use crate::model::Kind;

/// Save what a preview needs, to be read anywhere with --from
///
/// Writes slices, claims, rules, classes, nodes, budgets, and the pods that use a claim as one plain
/// Kubernetes List: JSON, or YAML for a FILENAME that ends in .yaml, compressed for one in .gz. A
/// preview of the file says what the live one says. Only its owner may read the file.
///
/// With --redact, names of pods, namespaces, claims, nodes, pools, devices and budgets, and the labels
/// that budgets select pods by, are replaced by hashes that differ from run to run; annotations and
/// everything else that an answer does not need is left out. Names of drivers, taints with their
/// values, and times are kept.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct SnapshotArgs {
    /// Save what these files hold instead of the cluster, such as a dump by kubectl, to redact it: a file, a directory, or `-` for stdin; repeatable
    #[arg(long, value_name = "FILENAME", help_heading = "Source")]
    from: Vec<PathBuf>,

    /// File to write; default, and `-`: standard output
    #[arg(short, long, value_name = "FILENAME", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Replace the file if it exists
    #[arg(long, requires = "output", help_heading = "Output")]
    force: bool,

    /// Replace names by hashes, and leave out everything that is not needed
    #[arg(long, help_heading = "Output")]
    redact: bool,

    /// Exit with code 6 when part of the cluster could not be read
    #[arg(long, help_heading = "Output")]
    strict: bool,
}

const EXAMPLES: &str = "\
Examples:
  # Save a cluster, and look at it somewhere else
  kubectl devicetaint snapshot -o cluster.json.gz
  kubectl devicetaint devices --from cluster.json.gz

  # Something to show to others
  kubectl devicetaint snapshot --redact > cluster.json

  # The same of a dump that was made elsewhere
  kubectl devicetaint snapshot --redact --from must-gather -o cluster.json.gz";

pub(super) async fn run(args: SnapshotArgs, context: &Context) -> Result<ExitStatus, Failure> {
    let destination = args.destination()?;
    let (saved, notes) = args.gather(context).await?;
    let saved = if args.redact {
        Redaction::random()
            .and_then(|redaction| redaction.redact(saved))
            .map_err(unredactable)?
    } else {
        saved
    };
    context.printer.progress().finish();
    for warning in &saved.warnings {
        context.printer.warn(&warning.message);
    }
    for gap in &saved.gaps {
        context
            .printer
            .warn(&format!("without {}: {}", gap.what, gap.why));
    }
    let missing: Vec<String> = saved.gaps.iter().map(|gap| gap.what.clone()).collect();
    match destination {
        None => context.printer.emit(&cluster::to_json(&saved, &notes))?,
        Some((path, destination)) => {
            let counts = counts(&saved);
            save(destination, saved, notes).await?;
            context
                .printer
                .note(&format!("{} written: {counts}", path.display()));
        }
    }
    if args.strict && !missing.is_empty() {
        return Err(Failure::new(
            ExitStatus::Incomplete,
            format!("the snapshot is incomplete: {}", missing.join(", ")),
        ));
    }
    Ok(ExitStatus::Success)
}

impl SnapshotArgs {
    /// All that is to be saved, from the files that were named or from the cluster.
    async fn gather(&self, context: &Context) -> Result<(Saved, SavedNotes), Failure> {
        if !self.from.is_empty() {
            return read_files(&self.from, cluster::read_saved).await;
        }
        let live = connect(context).await?;
        let saved = cluster::read_everything(&live.client, &live.served)
            .await
            .map_err(|error| live.failed(error))?;
        let notes = SavedNotes {
            observed_at: live.client.server_time(),
            server_version: live.served.git_version.clone(),
        };
        context.printer.progress().finish();
        live.tell(&context.printer);
        Ok((saved, notes))
    }

    fn destination(&self) -> Result<Option<(PathBuf, Destination)>, Failure> {
        let Some(path) = self
            .output
            .as_deref()
            .filter(|path| *path != Path::new("-"))
        else {
            return Ok(None);
        };
        let existing = if self.force {
            Existing::Replace
        } else {
            Existing::Keep
        };
        let destination = Destination::new(path, existing).map_err(unwritable)?;
        Ok(Some((path.to_owned(), destination)))
    }
}

/// How long an interrupted program takes to tidy up, at most.
const TIDYING: Duration = Duration::from_secs(1);

/// Writes the file. Dropping this, as whoever interrupts the program does, takes away what is
/// half-written.
async fn save(destination: Destination, saved: Saved, notes: SavedNotes) -> Result<(), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let (sender, result) = oneshot::channel();
    let (finished, done) = mpsc::channel();
    // A thread of its own: nobody waits for it at the end, should the file be a pipe without a reader.
    std::thread::spawn(move || {
        let result = destination.save(&saved, &notes, &seen);
        // Whoever has gone meanwhile needs no answer.
        let _ = sender.send(result);
        let _ = finished.send(());
    });
    let _tidying = Tidying { stop, done };
    result.await?.map_err(unwritable)
}

/// Stops the writing thread when it is dropped, and gives it time to tidy up.
struct Tidying {
    stop: Arc<AtomicBool>,
    done: mpsc::Receiver<()>,
}

impl Drop for Tidying {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Too late is no failure: the program ends all the same.
        let _ = self.done.recv_timeout(TIDYING);
    }
}

/// What there is, such as "2 resourceslices, 1 pods".
fn counts(saved: &Saved) -> String {
    let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
    for list in &saved.lists {
        let count = counts.entry(list.kind).or_default();
        *count = count.saturating_add(list.items.len());
    }
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(kind, count)| format!("{count} {}", kind.plural()))
        .collect();
    counts.join(", ")
}

fn unwritable(error: SaveError) -> Failure {
    let hint = match &error {
        SaveError::Exists { .. } => Some("to replace it, add --force"),
        SaveError::Write { .. } | SaveError::Stopped { .. } => None,
    };
    let failure = Failure::from(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn unredactable(error: RedactionError) -> Failure {
    match error {
        RedactionError::Expression { .. } => Failure::from(error)
            .hint("leave out --redact, or save the cluster when that rule is gone"),
        RedactionError::Json(_) | RedactionError::Salt(_) => Failure::from(error),
    }
}
