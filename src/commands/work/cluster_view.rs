//! What was looked at: a cluster or saved files, as they were at one moment.
//!
//! Every command that answers or decides does so from a [`ClusterView`]. Whether it is of a live cluster or
//! of files, what was read, how that version of Kubernetes behaves and for which moment the question
//! is answered are known here and nowhere else.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::connect::{Live, connect, connect_client, failed};
use super::source::{Source, detail, read_instead};
use crate::assess::{Basis, Guard};
use crate::cluster::{self, ApiClient, Detail, NodeDetail, PodQuery, PodQueryResult, discover};
use crate::commands::clock;
use crate::commands::context::Context;
use crate::decide::choice::{Choice, DeviceFilter, IdleName, ShownDevices, numbers};
use crate::decide::existing_rules::{rule_named, rules_in};
use crate::decide::explain_targets::devices_with;
use crate::decide::identity::hardware::may_be_number;
use crate::decide::identity::{self, Hardware, NotedHardware};
use crate::decide::risk::release_of;
use crate::decide::version::{self, doubts_about};
use crate::decide::{Version, choice};
use crate::engine::{Impact, ProposedTaint, Selection, Semantics};
use crate::error::Failure;
use crate::model::{
    DeviceId, DeviceTaintRule, Kind, Minor, Pod, Reading, ResourceClaimTemplate, Snapshot, Warning,
};
use crate::output::Printer;
use crate::report::ImpactReport;
use crate::report::metadata::Warning as Oddity;

/// A cluster or saved files, as they were when they were looked at.
#[derive(Clone)]
pub(crate) struct ClusterView {
    /// What was read; of a live cluster without the pods, until [`ClusterView::with_pods`].
    pub(crate) reading: Reading,
    /// How that version of Kubernetes behaves.
    pub(crate) semantics: Semantics,
    /// For which moment questions are answered: the server's clock, or the files' time.
    pub(crate) now: Timestamp,
    /// What there is to say beside what was read.
    pub(super) view_warnings: ViewWarnings,
    /// How the version was asked for, to look again.
    version: Version,
    /// How much the question needs of each object.
    wanted: Detail,
    /// Attributes that identify hardware beside those that are known.
    identifying: Vec<String>,
}

/// What there is to say about a look beside what was read. It is all that is left of a large cluster
/// while a long text about it is printed.
#[derive(Clone, Default)]
pub(crate) struct ViewWarnings {
    /// What is doubtful about the look itself; among the warnings of the reading too.
    doubts: Vec<Warning>,
    /// The cluster, unless files were read.
    live: Option<Live>,
}

impl ViewWarnings {
    /// Says what the server had to say beside its answers, and what is doubtful about the look.
    pub(crate) fn tell(&self, printer: &Printer<'_>) {
        for doubt in &self.doubts {
            printer.warn(&Oddity::from(doubt).line());
        }
        if let Some(live) = &self.live {
            live.tell(printer);
        }
    }
}

impl ClusterView {
    /// Reads the files that were named, or connects and reads the cluster without its pods.
    pub(crate) async fn open(source: &Source, context: &Context) -> Result<Self, Failure> {
        Self::open_for(source, context, Detail::Names).await
    }

    /// As [`ClusterView::open`], with as much of each object as is `wanted`.
    pub(crate) async fn open_for(
        source: &Source,
        context: &Context,
        wanted: Detail,
    ) -> Result<Self, Failure> {
        if source.from.is_empty() {
            let client = connect_client(context).await?;
            return Self::of_cluster(client, source.version, wanted).await;
        }
        let reading = read_instead(&source.from, context, cluster::read).await?;
        Self::of_files(reading, source, wanted)
    }

    /// As [`ClusterView::open`], with the rules by name as they are served or stand in the files, with all
    /// their fields.
    pub(crate) async fn open_with_objects(
        source: &Source,
        context: &Context,
    ) -> Result<(Self, BTreeMap<String, Value>), Failure> {
        if !source.from.is_empty() {
            let read = read_instead(&source.from, context, cluster::read_with_rules);
            let (reading, objects) = read.await?;
            return Ok((Self::of_files(reading, source, Detail::Names)?, objects));
        }
        let live = connect(context).await?;
        let semantics = source.version.semantics(live.served.version)?;
        let Live { client, served } = &live;
        let read = cluster::read_devices_with_objects(client, served, detail(&semantics)).await;
        let (reading, objects, odd) = read.map_err(failed)?;
        let mut view = Self::of_reading(reading, semantics, live, source.version, Detail::Names);
        view.view_warnings.doubts.extend(
            odd.iter()
                .map(|error| version::odd_object(&error.to_string())),
        );
        Ok((view, objects))
    }

    /// Reads a cluster of which nothing is known yet but what is remembered, without its pods.
    async fn of_cluster(
        client: ApiClient,
        version: Version,
        wanted: Detail,
    ) -> Result<Self, Failure> {
        // On the heap: several lists are read in it, and it is part of what every command does.
        let read = Box::pin(cluster::read_remembered(&client, wanted))
            .await
            .map_err(failed)?;
        let Some((served, reading)) = read else {
            let served = Box::pin(discover(&client)).await.map_err(failed)?;
            return Box::pin(Self::of_for(Live { client, served }, version, wanted)).await;
        };
        let live = Live { client, served };
        let semantics = version.semantics(live.served.version)?;
        if detail(&semantics) <= wanted {
            return Ok(Self::of_reading(reading, semantics, live, version, wanted));
        }
        // Rules that select by attributes need more than was read.
        Box::pin(Self::of_for(live, version, wanted)).await
    }

    /// Reads a cluster that is connected already, without its pods.
    pub(crate) async fn of(live: Live, version: Version) -> Result<Self, Failure> {
        Self::of_for(live, version, Detail::Names).await
    }

    /// As [`ClusterView::of`], with as much of each object as is `wanted`.
    pub(crate) async fn of_for(
        live: Live,
        version: Version,
        wanted: Detail,
    ) -> Result<Self, Failure> {
        let semantics = version.semantics(live.served.version)?;
        let detail = detail(&semantics).max(wanted);
        let reading = cluster::read_devices(&live.client, &live.served, detail)
            .await
            .map_err(failed)?;
        Ok(Self::of_reading(reading, semantics, live, version, wanted))
    }

    fn of_reading(
        mut reading: Reading,
        semantics: Semantics,
        live: Live,
        version: Version,
        wanted: Detail,
    ) -> Self {
        let mut doubts = doubts_about(&semantics, &reading);
        // This machine's clock is better than none, and is told as a doubt.
        let now = reading.observed_at.unwrap_or_else(|| {
            doubts.push(version::clock_of_this_machine());
            clock::now()
        });
        reading.warnings.extend_from_slice(&doubts);
        Self {
            reading,
            semantics,
            now,
            view_warnings: ViewWarnings {
                doubts,
                live: Some(live),
            },
            version,
            wanted,
            identifying: Vec::new(),
        }
    }

    fn of_files(mut reading: Reading, source: &Source, wanted: Detail) -> Result<Self, Failure> {
        let semantics = source.version.semantics(reading.version)?;
        if detail(&semantics).max(wanted) == Detail::Names {
            // What a live cluster is not even asked for cannot be odd.
            let concerns_names = |warning: &Warning| warning.code != "unknown-attribute-type";
            reading.warnings.retain(concerns_names);
        }
        let doubts = doubts_about(&semantics, &reading);
        reading.warnings.extend_from_slice(&doubts);
        // The clock of this machine says nothing of when the files were saved.
        let now = source.now.or(reading.observed_at).ok_or_else(|| {
            Failure::usage("the files contain no time, so due times are unknown")
                .hint("set the time of the report: --now 2026-11-21T01:00:00Z")
        })?;
        Ok(Self {
            reading,
            semantics,
            now,
            view_warnings: ViewWarnings { doubts, live: None },
            version: source.version,
            wanted,
            identifying: Vec::new(),
        })
    }

    /// Looks at the cluster again, without its pods. Files do not change; they are as they were.
    pub(crate) async fn again(&self) -> Result<Self, Failure> {
        match &self.view_warnings.live {
            Some(live) => {
                let view = Self::of_for(live.clone(), self.version, self.wanted).await?;
                Ok(view.identifying(&self.identifying))
            }
            None => Ok(self.clone()),
        }
    }

    /// Which release the cluster is, as far as that is known; nothing is known of that of files.
    pub(crate) fn release(&self) -> Option<Minor> {
        let served = &self.live()?.served;
        let rules = served
            .version_of(Kind::DeviceTaintRule)
            .map(|version| version.api_version);
        release_of(served.version, self.version.kubernetes, rules)
    }

    /// The look, in which `more` attributes identify hardware beside those that are known.
    pub(crate) fn identifying(self, more: &[String]) -> Self {
        Self {
            identifying: more.to_vec(),
            ..self
        }
    }

    /// What devices are beside their names, as far as `filter` asks for it; files have all already.
    pub(crate) async fn with_attributes_for(
        self,
        filter: Option<&DeviceFilter>,
    ) -> Result<Self, Failure> {
        let view = match filter {
            Some(filter) if filter.needs_classes() => {
                self.with_attributes(&[Kind::DeviceClass]).await?
            }
            Some(filter) if filter.needs_attributes() => self.with_attributes(&[]).await?,
            Some(_) | None => self,
        };
        // Only where all claims are known: else it may have devices that were not read.
        let idle = filter.and_then(|filter| filter.idle(view.snapshot()));
        if let Some(idle) = idle.filter(|_| view.knows_usage())
            // On the heap: it reads lists, and is part of what every command does.
            && Box::pin(view.is_there(&idle)).await?
        {
            return Err(idle.failure());
        }
        Ok(view)
    }

    /// What there is to say of a node to which no device is local, if that is so and it is there; a
    /// failure when it is not known to be.
    pub(crate) async fn idle_node(&self, name: &str) -> Result<Option<String>, Failure> {
        // Without slices, any node may have devices.
        if self.reading.without(Kind::ResourceSlice).is_some() {
            return Ok(None);
        }
        let Some(idle) = IdleName::node(name, self.snapshot()) else {
            return Ok(None);
        };
        if self.is_there(&idle).await? {
            return Ok(Some(idle.describe()));
        }
        Err(choice::no_such_node(name, self.snapshot()))
    }

    /// Whether who has no devices is there at all, as far as that can be found out.
    async fn is_there(&self, idle: &IdleName) -> Result<bool, Failure> {
        match idle {
            IdleName::Node(_) => {
                let view = self.clone().with_places(NodeDetail::Metadata).await?;
                Ok(idle.is_there(view.snapshot()))
            }
            IdleName::Pod(name) => Ok(match self.find_pods(PodQuery::One(name)).await? {
                PodQueryResult::These(found, _) => !found.is_empty(),
                PodQueryResult::WithoutClaims => true,
                // Not known to be there, so that the failure is the one of names that match nothing.
                PodQueryResult::Gone | PodQueryResult::Denied(_) => false,
            }),
        }
    }

    /// The devices that have these numbers, of which attributes were read.
    pub(crate) fn devices_with(&self, hardware: &[Hardware]) -> Result<Vec<DeviceId>, Failure> {
        devices_with(hardware, &self.identifying, &self.reading, &self.semantics)
    }

    /// The device that has the word for its number, such as a serial number, if there is one; what it takes
    /// to know that is read.
    pub(crate) async fn by_number(&mut self, word: &str) -> Result<Vec<DeviceId>, Failure> {
        if !may_be_number(word) {
            return Ok(Vec::new());
        }
        // On the heap, as below: it reads a list, and is part of what several commands do.
        *self = Box::pin(self.clone().with_attributes(&[])).await?;
        let hardware = numbers(&[word], self.snapshot(), &self.identifying);
        self.devices_with(&hardware)
    }

    /// The words of what is shown that are numbers of hardware, with what it takes to know that.
    pub(crate) async fn numbers_among(
        self,
        shown: &ShownDevices,
    ) -> Result<(Self, Vec<Hardware>), Failure> {
        let words = shown.words(&self.reading);
        if words.is_empty() {
            return Ok((self, Vec::new()));
        }
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let view = Box::pin(self.with_attributes(&[])).await?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let hardware = numbers(&words, view.snapshot(), &view.identifying);
        Ok((view, hardware))
    }

    /// The choice with its words that are numbers of hardware as such, with what it takes to know that.
    pub(crate) async fn with_numbers_of(self, choice: Choice) -> Result<(Self, Choice), Failure> {
        if choice.words(&self.reading).is_empty() {
            return Ok((self, choice));
        }
        let view = Box::pin(self.with_attributes(&[])).await?;
        let choice = choice.with_numbers(&view.reading, &view.identifying)?;
        Ok((view, choice))
    }

    /// What devices are beside their names, if one of `rules` notes what its device was.
    pub(crate) async fn with_identities_of(
        self,
        rules: &[DeviceTaintRule],
    ) -> Result<Self, Failure> {
        if rules.iter().any(|rule| NotedHardware::on(rule).is_some()) {
            return self.with_attributes(&[]).await;
        }
        Ok(self)
    }

    /// What there is to say of those of `rules` that note what their devices were.
    pub(crate) fn identity_warnings(&self, rules: &[DeviceTaintRule]) -> Vec<Warning> {
        identity::warnings(rules, &self.reading, &self.semantics)
    }

    /// What devices are beside their names, and all objects of `kinds`; files have all already.
    pub(crate) async fn with_attributes(self, kinds: &[Kind]) -> Result<Self, Failure> {
        let Some(live) = &self.view_warnings.live else {
            return Ok(self);
        };
        let mut missing = Vec::new();
        // Slices that were read with more than names have the attributes already.
        if detail(&self.semantics).max(self.wanted) == Detail::Names {
            missing.push(Kind::ResourceSlice);
        }
        let classes = Kind::DeviceClass;
        if kinds.contains(&classes) && !self.reading.known.contains(&classes) {
            missing.push(classes);
        }
        if missing.is_empty() {
            return Ok(self);
        }
        let Live { client, served } = live;
        let reading = cluster::read_attributes(client, served, self.reading, &missing).await;
        Ok(Self {
            reading: reading.map_err(failed)?,
            ..self
        })
    }

    /// The cluster, unless files were read.
    pub(crate) fn live(&self) -> Option<&Live> {
        self.view_warnings.live.as_ref()
    }

    /// The facts.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.reading.snapshot
    }

    /// All rules. A failure when they could not be read: what is not known is not none.
    pub(crate) fn rules(&self) -> Result<&[DeviceTaintRule], Failure> {
        // Where rules are not served, this failure says what to switch on, which a gap cannot.
        if let Some(live) = &self.view_warnings.live {
            live.rules()?;
        }
        rules_in(&self.reading)
    }

    /// The rule of that name. A failure when there is none, with what may have been meant; and when
    /// the rules could not be read.
    pub(crate) fn rule(&self, name: &str) -> Result<&DeviceTaintRule, Failure> {
        rule_named(name, self.rules()?)
    }

    /// The devices that the `proposed` taints select; which they are does not depend on pods.
    pub(crate) fn selected(&self, proposed: &[ProposedTaint]) -> Selection {
        self.basis().selected(proposed)
    }

    /// Looks at the pods too that use a device that `selects` chooses; files have all already.
    pub(crate) async fn with_pods(
        self,
        selects: impl Fn(&DeviceId) -> bool,
    ) -> Result<Self, Failure> {
        let Some(live) = &self.view_warnings.live else {
            return Ok(self);
        };
        let reading = cluster::read_pods(&live.client, &live.served, self.reading, selects).await;
        Ok(Self {
            reading: reading.map_err(failed)?,
            ..self
        })
    }

    /// As [`ClusterView::with_pods`], for all that the `proposed` taints hit.
    pub(crate) async fn with_pods_of(self, proposed: &[ProposedTaint]) -> Result<Self, Failure> {
        let selected = self.selected(proposed).devices;
        self.with_pods(|id| selected.contains(id)).await
    }

    /// As [`ClusterView::with_pods_of`], with everybody else whom `guards` take a share of, and with what is
    /// at stake: budgets, what pods belong to, their nodes, and where their claims could be placed
    /// again. What claims ask for has to be read already.
    pub(crate) async fn with_pods_for(
        self,
        proposed: &[ProposedTaint],
        guards: &[Guard],
    ) -> Result<Self, Failure> {
        let Some(live) = &self.view_warnings.live else {
            return Ok(self);
        };
        let devices = self.basis().devices_of_question(proposed, guards);
        let selects = |id: &DeviceId| devices.contains(id);
        let Live { client, served } = live;
        let reading =
            cluster::read_pods_and_disruption_inputs(client, served, self.reading, selects).await;
        Ok(Self {
            reading: reading.map_err(failed)?,
            ..self
        })
    }

    /// The pods that are meant, whether they use a device or not. Files hold only those that use a claim.
    pub(crate) async fn find_pods(&self, meant: PodQuery<'_>) -> Result<PodQueryResult, Failure> {
        if let Some(Live { client, served }) = &self.view_warnings.live {
            let found = cluster::find_pods(client, served, meant).await;
            return found.map_err(failed);
        }
        let is_meant = |pod: &&Pod| match meant {
            PodQuery::One(name) => pod.name == *name,
            PodQuery::Called(name) => pod.name.name == *name,
            PodQuery::Chosen(namespace, chosen) => {
                namespace.is_none_or(|name| name == pod.name.namespace.as_str()) && chosen(pod)
            }
        };
        let pods = self.reading.snapshot.pods.iter();
        let found: Vec<Pod> = pods.filter(is_meant).cloned().collect();
        match (meant, found.is_empty()) {
            (PodQuery::One(_), true) => Ok(PodQueryResult::Gone),
            (PodQuery::One(_) | PodQuery::Called(_) | PodQuery::Chosen(..), _) => {
                Ok(PodQueryResult::These(found, Vec::new()))
            }
        }
    }

    /// Adds pods that were found, as far as they are not there yet.
    pub(crate) fn with_found(mut self, pods: &[Pod]) -> Self {
        let known = &mut self.reading.snapshot.pods;
        for pod in pods {
            if !known.iter().any(|other| other.uid == pod.uid) {
                known.push(pod.clone());
            }
        }
        self
    }

    /// Adds what says where claims could be placed: device classes and nodes; files have all already.
    pub(crate) async fn with_places(self, detail: NodeDetail) -> Result<Self, Failure> {
        let Some(Live { client, served }) = &self.view_warnings.live else {
            return Ok(self);
        };
        let reading = cluster::read_places(client, served, self.reading, detail).await;
        Ok(Self {
            reading: reading.map_err(failed)?,
            ..self
        })
    }

    /// Adds the templates of claims that are still to come; files have all already.
    pub(crate) async fn with_templates(self) -> Result<Self, Failure> {
        let Some(Live { client, served }) = &self.view_warnings.live else {
            return Ok(self);
        };
        let read = cluster::read_optional::<ResourceClaimTemplate>(client, served, self.reading);
        Ok(Self {
            reading: read.await.map_err(failed)?,
            ..self
        })
    }

    /// Whether all claims are known: without them nobody can say which device is in use.
    pub(crate) fn knows_usage(&self) -> bool {
        self.basis().knows_usage()
    }

    /// What the `proposed` taints do to what was read.
    pub(crate) fn impact<'a>(&'a self, proposed: &'a [ProposedTaint]) -> Impact<'a> {
        self.basis().impact(proposed)
    }

    /// Whom the `proposed` taints hit, of the pods that were read, and what `guards` say to that.
    pub(crate) fn report(&self, proposed: &[ProposedTaint], guards: &[Guard]) -> ImpactReport {
        let report = self.basis().report(proposed, guards);
        let more = &self.identifying;
        report.with_identities(&identity::identities(proposed, self.snapshot(), more))
    }

    /// What every report says about where it is from.
    pub(crate) fn basis(&self) -> Basis<'_> {
        Basis {
            reading: &self.reading,
            semantics: &self.semantics,
            now: self.now,
        }
    }

    /// A name that matches nothing is a mistake, unless nobody can know what there is.
    pub(crate) fn refuse_missing(&self, proposed: &[ProposedTaint]) -> Result<(), Failure> {
        choice::refuse_missing(proposed, self.basis().reading, &self.semantics)
    }

    /// What there is to say beside what was read.
    pub(crate) fn view_warnings(&self) -> &ViewWarnings {
        &self.view_warnings
    }

    /// Says what there is to say beside what was read.
    pub(crate) fn tell(&self, printer: &Printer<'_>) {
        self.view_warnings.tell(printer);
    }

    /// Drops what was read, and keeps what there is to say beside it.
    pub(crate) fn into_view_warnings(self) -> ViewWarnings {
        self.view_warnings
    }
}
