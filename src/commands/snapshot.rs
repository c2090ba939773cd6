//! `snapshot`: saves the inputs of a preview.

use std::path::{Path, PathBuf};

use super::context::Context;
use super::work::connect::{connect, failed};
use crate::cluster::{self, Destination, Existing, SaveError, Saved, SavedNotes};
use crate::decide::version::older_version;
use crate::error::{ExitStatus, Failure};
use crate::report::metadata;

/// Save the objects that a preview needs, for use with --from
///
/// Writes one Kubernetes List: ResourceSlices, ResourceClaims and their templates, DeviceTaintRules, DeviceClasses,
/// nodes, PodDisruptionBudgets, the pods that use a claim, and their workloads and pod groups. The format is JSON;
/// if FILENAME ends in .gz, as in cluster.json.gz, the file is compressed. A preview of the file gives the same result
/// as a live preview.
///
/// Pods are saved with all fields, also environment variables. A file written with -o is readable only by its owner.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct SnapshotArgs {
    /// File to write; default or `-`: standard output
    #[arg(short, long, value_name = "FILENAME", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Replace the file if it exists
    #[arg(long, requires = "output", help_heading = "Output")]
    force: bool,
}

const EXAMPLES: &str = "\
Examples:
  # Save a cluster, and read the snapshot elsewhere
  kubectl devicetaint snapshot -o cluster.json.gz
  kubectl devicetaint devices --from cluster.json.gz";

pub(super) async fn run(args: SnapshotArgs, context: &Context) -> Result<ExitStatus, Failure> {
    // A file that cannot be written is found before a large cluster is read.
    let destination = args.destination()?;
    let (saved, notes) = gather(context).await?;
    context.printer.progress().finish();
    for line in metadata::lines(&saved.warnings, &saved.gaps) {
        context.printer.warn(&line);
    }
    match destination {
        None => context.printer.emit(&cluster::to_json(&saved, &notes))?,
        Some((path, destination)) => {
            let counts = saved.counts();
            let written = destination.save_apart(saved, notes).await;
            written.map_err(unwritable)?;
            context
                .printer
                .note(&format!("{} written: {counts}", path.display()));
        }
    }
    Ok(ExitStatus::Success)
}

/// All that is to be saved.
async fn gather(context: &Context) -> Result<(Saved, SavedNotes), Failure> {
    let live = connect(context).await?;
    let mut saved = cluster::read_everything(&live.client, &live.served)
        .await
        .map_err(failed)?;
    saved.warnings.extend(older_version(&live.semantics(None)?));
    let notes = SavedNotes {
        observed_at: live.client.server_time(),
        server_version: live.served.git_version.clone(),
    };
    context.printer.progress().finish();
    live.tell(&context.printer);
    Ok((saved, notes))
}

impl SnapshotArgs {
    fn destination(&self) -> Result<Option<(PathBuf, Destination)>, Failure> {
        let path = self.output.as_deref();
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(None);
        };
        let existing = match self.force {
            true => Existing::Replace,
            false => Existing::Keep,
        };
        let destination = Destination::new(path, existing).map_err(unwritable)?;
        Ok(Some((path.to_owned(), destination)))
    }
}

fn unwritable(error: SaveError) -> Failure {
    let hint = error.hint();
    hint.into_iter().fold(Failure::from(error), Failure::hint)
}
