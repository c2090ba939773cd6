//! Where the facts come from.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value;

use super::connect::{Live, connect, failed};
use super::look::rule_named;
use crate::cluster::{self, Detail, FileSource, InputError, Limits, Rules};
use crate::commands::context::Context;
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceTaintRule, Kind, Minor, Reading, Warning};
use crate::output::Printer;

/// Where the cluster's state comes from, and how it is understood.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Files, folders or `-`; the cluster itself where there are none.
    pub(crate) from: Vec<PathBuf>,
    /// How the cluster behaves.
    pub(crate) version: Version,
    /// The time of the question, where files are asked.
    pub(crate) now: Option<Timestamp>,
}

/// How the cluster behaves, as far as that was said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Version {
    /// The version whose behaviour applies, whatever the source shows.
    pub(crate) kubernetes: Option<Minor>,
    /// Whether pod groups share claims there.
    pub(crate) pod_groups: bool,
}

impl Version {
    /// How a cluster of this version behaves, if no other is asked for.
    pub(crate) fn semantics(self, version: Option<Minor>) -> Result<Semantics, Failure> {
        let semantics = match self.kubernetes.or(version) {
            None => Semantics::newest(),
            Some(version) => Semantics::of(version).ok_or_else(|| {
                Failure::usage(format!(
                    "Kubernetes {version} has no device taints: they came with {}",
                    Semantics::OLDEST
                ))
            })?,
        };
        Ok(if self.pod_groups {
            semantics.with_pod_groups()
        } else {
            semantics
        })
    }
}

/// What has to be read of devices: rules that select by expression need their attributes.
pub(crate) fn detail(semantics: &Semantics) -> Detail {
    if semantics.selects_by_expression {
        Detail::Attributes
    } else {
        Detail::Names
    }
}

/// Says that `semantics` are those of an older version, where the version is newer than all that are
/// known.
pub(crate) fn newer_version(semantics: &Semantics) -> Option<Warning> {
    let (asked, newest) = (semantics.version, Semantics::NEWEST);
    (asked.minor > newest.minor).then(|| Warning {
        code: "newer-kubernetes",
        message: format!(
            "Kubernetes {asked} is newer than this plugin, which takes it to behave like {newest}"
        ),
        fix: Some("update the plugin, if there is a newer one".to_owned()),
    })
}

impl Source {
    /// For which moment the question is answered; never this machine's clock.
    pub(crate) fn now(&self, reading: &Reading) -> Result<Timestamp, Failure> {
        self.now.or(reading.observed_at).ok_or_else(|| {
            Failure::usage("the files carry no time, so that nobody can say what is due")
                .hint("say for which moment: --now 2026-11-21T01:00:00Z")
        })
    }
}

/// What was read, and the cluster it is from, unless it is from files.
pub(crate) struct Facts {
    pub(crate) reading: Reading,
    live: Option<Live>,
}

/// Reads the files that were named, or the cluster without its pods.
pub(crate) async fn read(source: &Source, context: &Context) -> Result<Facts, Failure> {
    if !source.from.is_empty() {
        let sources = sources(&source.from);
        let reading = cluster::read(&sources, &mut io::stdin().lock(), &Limits::default());
        return Facts::of_files(reading.map_err(unreadable)?, source);
    }
    let live = connect(context).await?;
    let detail = detail(&source.version.semantics(live.served.version)?);
    let reading = cluster::read_devices(&live.client, &live.served, detail).await;
    Ok(Facts {
        reading: reading.map_err(|error| live.failed(error))?,
        live: Some(live),
    })
}

/// The same with the rules as they are served, or as they stand in the files, by name.
pub(crate) async fn read_with_rules(
    source: &Source,
    context: &Context,
) -> Result<(Facts, BTreeMap<String, Value>), Failure> {
    if !source.from.is_empty() {
        let sources = sources(&source.from);
        let read = cluster::read_with_rules(&sources, &mut io::stdin().lock(), &Limits::default());
        let (reading, rules) = read.map_err(unreadable)?;
        return Ok((Facts::of_files(reading, source)?, rules));
    }
    let facts = read(source, context).await?;
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
    fn of_files(mut reading: Reading, source: &Source) -> Result<Self, Failure> {
        if detail(&source.version.semantics(reading.version)?) == Detail::Names {
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
    pub(crate) fn rule(&self, name: &str) -> Result<&DeviceTaintRule, Failure> {
        self.refuse_without_rules()?;
        rule_named(name, &self.reading.snapshot.rules)
    }

    /// Refuses to say anything about rules that could not be read.
    pub(crate) fn refuse_without_rules(&self) -> Result<(), Failure> {
        let mut gaps = self.reading.gaps.iter();
        match gaps.find(|gap| gap.what == Kind::DeviceTaintRule.plural()) {
            Some(gap) => Err(Failure::new(ExitStatus::Failed, gap.why.clone())),
            None => Ok(()),
        }
    }

    /// The same with the pods that use a device that `selects` chooses. Files have them already.
    pub(crate) async fn with_pods(
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
    pub(crate) fn live(&self) -> Option<&Live> {
        self.live.as_ref()
    }

    /// Says what the server had to say beside its answers.
    pub(crate) fn tell(&self, printer: &Printer<'_>) {
        if let Some(live) = &self.live {
            live.tell(printer);
        }
    }
}

/// Reads manifests of rules.
pub(crate) fn rules(files: &[PathBuf]) -> Result<Vec<DeviceTaintRule>, Failure> {
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
