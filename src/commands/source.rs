//! Where the facts come from.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde_json::Value;

use super::arguments::{SourceArgs, detail};
use super::connection::{Live, connect, failed};
use super::context::Context;
use super::scene::rule_named;
use crate::cluster::{self, Detail, FileSource, InputError, Limits, Rules};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceTaintRule, Kind, Reading, Warning};
use crate::output::Printer;

/// What was read, and the cluster it is from, unless it is from files.
pub(super) struct Facts {
    pub(super) reading: Reading,
    live: Option<Live>,
}

/// Reads the files that were named, or the cluster without its pods.
pub(super) async fn read(args: &SourceArgs, context: &Context) -> Result<Facts, Failure> {
    if !args.from.is_empty() {
        let sources = sources(&args.from);
        let reading = cluster::read(&sources, &mut io::stdin().lock(), &Limits::default());
        return Facts::of_files(reading.map_err(unreadable)?, args);
    }
    let live = connect(context).await?;
    let detail = detail(&args.semantics(live.served.version)?);
    let reading = cluster::read_devices(&live.client, &live.served, detail).await;
    Ok(Facts {
        reading: reading.map_err(|error| live.failed(error))?,
        live: Some(live),
    })
}

/// The same with the rules as they are served, or as they stand in the files, by name.
pub(super) async fn read_with_rules(
    args: &SourceArgs,
    context: &Context,
) -> Result<(Facts, BTreeMap<String, Value>), Failure> {
    if !args.from.is_empty() {
        let sources = sources(&args.from);
        let read = cluster::read_with_rules(&sources, &mut io::stdin().lock(), &Limits::default());
        let (reading, rules) = read.map_err(unreadable)?;
        return Ok((Facts::of_files(reading, args)?, rules));
    }
    let facts = read(args, context).await?;
    let Some(Live { client, served }) = &facts.live else {
        return Ok((facts, BTreeMap::new()));
    };
    let rules = Rules::new(client, served).map_err(failed)?;
    let stored = rules.list().await.map_err(failed)?.into_iter();
    let by_name = stored.map(|stored| (stored.rule.name.to_string(), stored.object));
    let by_name = by_name.collect();
    Ok((facts, by_name))
}

impl Facts {
    fn of_files(mut reading: Reading, args: &SourceArgs) -> Result<Self, Failure> {
        if detail(&args.semantics(reading.version)?) == Detail::Names {
            // What a live cluster is not even asked for cannot be odd.
            let concerns_names = |warning: &Warning| warning.code != "unknown-attribute-type";
            reading.warnings.retain(concerns_names);
        }
        Ok(Self {
            reading,
            live: None,
        })
    }

    /// The rule of that name, or why it cannot be shown.
    pub(super) fn rule(&self, name: &str) -> Result<&DeviceTaintRule, Failure> {
        self.refuse_without_rules()?;
        rule_named(name, &self.reading.snapshot.rules)
    }

    /// Refuses to say anything about rules that could not be read.
    pub(super) fn refuse_without_rules(&self) -> Result<(), Failure> {
        let mut gaps = self.reading.gaps.iter();
        match gaps.find(|gap| gap.what == Kind::DeviceTaintRule.plural()) {
            Some(gap) => Err(Failure::new(ExitStatus::Failed, gap.why.clone())),
            None => Ok(()),
        }
    }

    /// The same with the pods that use a device that `selects` chooses. Files have them already.
    pub(super) async fn with_pods(
        self,
        selects: impl Fn(&DeviceId) -> bool,
    ) -> Result<Self, Failure> {
        let Some(live) = self.live else {
            return Ok(self);
        };
        let reading = cluster::read_pods(&live.client, &live.served, self.reading, selects).await;
        Ok(Self {
            reading: reading.map_err(|error| live.failed(error))?,
            live: Some(live),
        })
    }

    /// The cluster, unless the facts are from files.
    pub(super) fn live(&self) -> Option<&Live> {
        self.live.as_ref()
    }

    /// Says what the server had to say beside its answers.
    pub(super) fn tell(&self, printer: &Printer<'_>) {
        if let Some(live) = &self.live {
            live.tell(printer);
        }
    }
}

/// Reads manifests of rules.
pub(super) fn rules(files: &[PathBuf]) -> Result<Vec<DeviceTaintRule>, Failure> {
    let sources = sources(files);
    cluster::read_rules(&sources, &mut io::stdin().lock(), &Limits::default()).map_err(unreadable)
}

fn sources(files: &[PathBuf]) -> Vec<FileSource> {
    files
        .iter()
        .map(|path| FileSource::from(path.as_path()))
        .collect()
}

fn unreadable(error: InputError) -> Failure {
    let hint = error.hint();
    let failure = Failure::from(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
