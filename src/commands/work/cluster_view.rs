//! View of a cluster or of saved files, as they were at one moment.
//!
//! Every command that answers or decides does so from a [`ClusterView`]. Its source (a live cluster or
//! files), the objects read, the behavior of that version of Kubernetes and the moment of the question are
//! known here and nowhere else. Later reads, which only some requests need, come last; files have all already.
//!
//! Kinds that were not read are known as such at run time, and are gaps in an answer. Of a live cluster's pods only
//! those of the devices in question are read, so that no list of kinds can say whether they are the right ones; and
//! without them, pods that are evicted would look like none. So the facts read of pods are part of a view's type: a
//! verdict on pods that were not read does not compile.

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::connect::{Live, Source, failed, reach, read_instead, semantics_for};
use crate::assess::{Basis, DeviceBasis, Guard};
use crate::cluster::{
    self, ClusterError, Detail, EarlyInputs, NodeDetail, PodQuery, PodQueryResult, Purpose,
    ReadMore, preferred_version,
};
use crate::commands::context::{self, Context};
use crate::decide::choice::{
    Choice, ResolvedChoice, refuse_unmatched, refuse_wide, unknown_on_node,
};
use crate::decide::chooser::{rule_named, rules_in};
use crate::decide::identity::is_noted;
use crate::decide::version::{self, doubts_about, release_of, with_evident_gates};
use crate::engine::{Impact, ProposedTaint, Selection, Semantics};
use crate::error::Failure;
use crate::model::{
    DeviceId, DeviceTaintRule, Kind, Minor, Pod, Reading, ResourceClaimTemplate, Snapshot, Warning,
};
use crate::output::Printer;
use crate::report::ImpactReport;
use crate::report::metadata::Warning as Oddity;

/// Slices, claims and rules were read, and no pods.
#[derive(Clone)]
pub(crate) enum Devices {}

/// The pods of the devices in question, too.
#[derive(Clone)]
pub(crate) enum Pods {}

/// Also the disruption of these pods: budgets, owners, nodes, and where their claims could be allocated again.
#[derive(Clone)]
pub(crate) enum Disruption {}

/// Facts read about pods.
pub(crate) trait ReadState: Clone {}

/// The pods of the devices in question were read.
pub(crate) trait WithPods: ReadState {}

impl ReadState for Devices {}
impl ReadState for Pods {}
impl ReadState for Disruption {}
impl WithPods for Pods {}
impl WithPods for Disruption {}

/// A cluster or saved files, as they were when they were read; `Read` is the facts read of pods.
#[derive(Clone)]
pub(crate) struct ClusterView<Read: ReadState = Devices> {
    /// The reading.
    pub(crate) reading: Reading,
    /// Behavior of that version of Kubernetes.
    pub(crate) semantics: Semantics,
    /// For which moment questions are answered: the server's clock, or the files' time.
    pub(crate) now: Timestamp,
    /// Warnings beside the reading.
    pub(super) view_warnings: ViewWarnings,
    /// Request of the view.
    pub(super) request: ViewRequest,
    /// Objects read beside devices; the first request for pods takes them.
    pub(super) early: Option<Arc<EarlyInputs>>,
    pub(super) read: PhantomData<Read>,
}

/// Request of a view, to read it again.
#[derive(Clone)]
pub(super) struct ViewRequest {
    /// The version whose behavior was requested.
    pub(super) kubernetes: Option<Minor>,
    /// Detail needed of each object.
    pub(super) wanted: Detail,
    /// Objects read beside devices at once.
    pub(super) more: ReadMore,
}

impl ViewRequest {
    fn new(kubernetes: Option<Minor>, wanted: Detail) -> Self {
        Self {
            kubernetes,
            wanted,
            more: ReadMore::No,
        }
    }
}

/// Warnings about a view beside its reading. They are all that is left of a large cluster while a long text
/// about it is printed.
#[derive(Clone, Default)]
pub(crate) struct ViewWarnings {
    /// Doubts about the reading itself; among its warnings too.
    pub(super) doubts: Vec<Warning>,
    /// The cluster, unless files were read.
    pub(super) live: Option<Live>,
    /// The time of the report, if it is the newest time in files that do not state when they were saved.
    pub(super) guessed_time: Option<Timestamp>,
}

impl ViewWarnings {
    /// The line that belongs to tables with a guessed time.
    pub(crate) fn guessed_time(&self) -> Option<String> {
        let time = self.guessed_time?;
        Some(format!("as of {time}, the newest time in the files"))
    }

    /// Prints warnings of the server and doubts about the reading.
    pub(crate) fn tell(&self, printer: &Printer<'_>) {
        for doubt in &self.doubts {
            printer.warn(&Oddity::from(doubt).line());
        }
        if let Some(live) = &self.live {
            live.tell(printer);
        }
    }
}

impl<Read: ReadState> ClusterView<Read> {
    /// The view in another state, once more was read, or no pods are needed.
    pub(super) fn into_state<Now: ReadState>(self) -> ClusterView<Now> {
        ClusterView {
            reading: self.reading,
            semantics: self.semantics,
            now: self.now,
            view_warnings: self.view_warnings,
            request: self.request,
            early: self.early,
            read: PhantomData,
        }
    }

    /// Reads the cluster again, without its pods. Files do not change; they are as they were.
    pub(crate) async fn again(&self) -> Result<ClusterView, Failure> {
        match &self.view_warnings.live {
            Some(live) => ClusterView::of_live(live.clone(), self.request.clone()).await,
            None => Ok(self.clone().into_state()),
        }
    }

    /// The release of the cluster; absent if it is unknown. Saved files without one count as the newest.
    pub(crate) fn release(&self) -> Option<Minor> {
        let rules = Kind::DeviceTaintRule;
        let (version, rules) = match self.live() {
            Some(Live { served, .. }) => {
                let rules = served.version_of(rules);
                (served.version, rules.map(|version| version.api_version))
            }
            None => (self.reading.version, Some(preferred_version(rules))),
        };
        release_of(version, self.request.kubernetes, rules)
    }

    /// The cluster, unless files were read.
    pub(crate) fn live(&self) -> Option<&Live> {
        self.view_warnings.live.as_ref()
    }

    /// The facts.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.reading.snapshot
    }

    /// All rules. A failure when they could not be read: unknown is not none.
    pub(crate) fn rules(&self) -> Result<&[DeviceTaintRule], Failure> {
        // Where rules are not served, this failure says what to switch on, which a gap cannot.
        if let Some(live) = &self.view_warnings.live {
            live.rules()?;
        }
        rules_in(&self.reading)
    }

    /// The rule of that name. A failure when there is none, with similar names; and when the rules could not be read.
    pub(crate) fn rule(&self, name: &str) -> Result<&DeviceTaintRule, Failure> {
        rule_named(name, self.rules()?)
    }

    /// The devices that the `proposed` taints select; which they are does not depend on pods.
    pub(crate) fn selected(&self, proposed: &[ProposedTaint]) -> Selection {
        self.device_basis().selected(proposed)
    }

    /// Basis of answers about devices, claims and rules.
    pub(crate) fn device_basis(&self) -> DeviceBasis<'_> {
        DeviceBasis {
            reading: &self.reading,
            semantics: &self.semantics,
            now: self.now,
        }
    }

    /// Warnings beside the reading.
    pub(crate) fn view_warnings(&self) -> &ViewWarnings {
        &self.view_warnings
    }

    /// Prints the warnings beside the reading.
    pub(crate) fn tell(&self, printer: &Printer<'_>) {
        self.view_warnings.tell(printer);
    }

    /// Drops the reading, and keeps the warnings beside it.
    pub(crate) fn into_view_warnings(self) -> ViewWarnings {
        let reading = self.reading;
        // Freeing a large cluster takes as long as printing the answer. Where no thread can be had, it is freed here.
        let _ = std::thread::Builder::new().spawn(move || drop(reading));
        self.view_warnings
    }
}

impl<Read: WithPods> ClusterView<Read> {
    /// Source that every report states.
    pub(crate) fn basis(&self) -> Basis<'_> {
        Basis::new(&self.reading, &self.semantics, self.now)
    }

    /// Impact of the `proposed` taints on the objects that were read.
    pub(crate) fn impact<'a>(&'a self, proposed: &'a [ProposedTaint]) -> Impact<'a> {
        self.basis().impact(proposed)
    }
}

impl ClusterView<Disruption> {
    /// Report of the pods read that the `proposed` taints affect, and of the results of `guards`.
    pub(crate) fn report(&self, proposed: &[ProposedTaint], guards: &[Guard]) -> ImpactReport {
        self.basis().report(proposed, guards)
    }
}

impl ClusterView {
    /// Reads the files that were named, or connects and reads the cluster without its pods; of each object as
    /// much as is `wanted`.
    pub(crate) async fn open(
        source: &Source,
        context: &Context,
        wanted: Detail,
    ) -> Result<Self, Failure> {
        Self::open_as(source, context, ViewRequest::new(source.kubernetes, wanted)).await
    }

    /// As [`ClusterView::open`], for an answer about evictions from the devices of `choice`, which also needs budgets,
    /// device classes and nodes: they are read at the same time, and all pods with claims if whole drivers are selected.
    pub(crate) async fn open_for_impact(
        source: &Source,
        context: &Context,
        choice: &Choice,
    ) -> Result<Self, Failure> {
        let mut request = ViewRequest::new(source.kubernetes, Detail::Terms);
        request.more = match choice.has_whole_driver() {
            true => ReadMore::EarlyInputsAndPods,
            false => ReadMore::EarlyInputs,
        };
        Self::open_as(source, context, request).await
    }

    async fn open_as(
        source: &Source,
        context: &Context,
        request: ViewRequest,
    ) -> Result<Self, Failure> {
        if source.from.is_empty() {
            // On the heap: several lists are read in it, and every command does so.
            let live = reach(context).await?;
            return Box::pin(Self::of_live(live, request)).await;
        }
        let reading = read_instead(&source.from, context, cluster::read).await?;
        Self::of_files(reading, source, request, context)
    }

    /// As [`ClusterView::open`], with the rules by name as they are served or in the files, with all their fields.
    pub(crate) async fn open_with_objects(
        source: &Source,
        context: &Context,
    ) -> Result<(Self, BTreeMap<String, Value>), Failure> {
        let request = ViewRequest::new(source.kubernetes, Detail::Names);
        if !source.from.is_empty() {
            let read = read_instead(&source.from, context, cluster::read_with_rules);
            let (reading, objects) = read.await?;
            return Ok((Self::of_files(reading, source, request, context)?, objects));
        }
        let live = reach(context).await?;
        let semantics = live.semantics(source.kubernetes)?;
        let read = cluster::read_devices_with_objects(&live.client, &live.served).await;
        let (reading, objects, odd) = read.map_err(failed)?;
        let mut view = Self::of_cluster(reading, semantics, live, request);
        let odd = odd
            .iter()
            .map(|error| version::odd_object(&error.to_string()));
        view.view_warnings.doubts.extend(odd);
        Ok((view, objects))
    }

    /// Reads a cluster that is connected already, without its pods; of each object as much as is `wanted`.
    pub(crate) async fn of(live: Live, wanted: Detail) -> Result<Self, Failure> {
        Self::of_live(live, ViewRequest::new(None, wanted)).await
    }

    async fn of_live(live: Live, request: ViewRequest) -> Result<Self, Failure> {
        let semantics = live.semantics(request.kubernetes)?;
        let Live { client, served } = &live;
        let read = cluster::read_devices_and(client, served, request.wanted, request.more);
        let (reading, early) = read.await.map_err(failed)?;
        Ok(Self {
            early: early.map(Arc::new),
            ..Self::of_cluster(reading, semantics, live, request)
        })
    }

    fn of_cluster(
        mut reading: Reading,
        semantics: Semantics,
        live: Live,
        request: ViewRequest,
    ) -> Self {
        let semantics = with_evident_gates(semantics, &reading);
        let mut doubts = doubts_about(&semantics, live.served.version, &reading);
        // This machine's clock is better than none, and causes a warning.
        let now = reading.observed_at.unwrap_or_else(|| {
            doubts.push(version::clock_of_this_machine());
            context::now()
        });
        reading.warnings.extend_from_slice(&doubts);
        let view_warnings = ViewWarnings {
            doubts,
            live: Some(live),
            guessed_time: None,
        };
        Self {
            reading,
            semantics,
            now,
            view_warnings,
            request,
            early: None,
            read: PhantomData,
        }
    }

    fn of_files(
        mut reading: Reading,
        source: &Source,
        request: ViewRequest,
        context: &Context,
    ) -> Result<Self, Failure> {
        let purpose = context.connection.purpose;
        // Devices, their taints and their claims have no times in tables.
        let is_timeless = purpose == Some(Purpose::Devices);
        let semantics = semantics_for(purpose, source.kubernetes, reading.version)?;
        let semantics = with_evident_gates(semantics, &reading);
        if request.wanted == Detail::Names {
            // Objects that a live cluster is not asked for cannot be odd.
            let concerns_names = |warning: &Warning| warning.code != "unknown-attribute-type";
            reading.warnings.retain(concerns_names);
        }
        let doubts = doubts_about(&semantics, reading.version, &reading);
        reading.warnings.extend_from_slice(&doubts);
        // The clock of this machine does not show when the files were saved.
        let now = match source.now.or(reading.observed_at) {
            Some(now) => now,
            None if is_timeless => Timestamp::UNIX_EPOCH,
            None => {
                let text = "the files contain no timestamp, so the times of evictions are unknown";
                let failure = Failure::usage(text);
                return Err(match purpose.is_none_or(Purpose::only_reads) {
                    true => failure.hint("set the time of the report: --now 2026-11-21T01:00:00Z"),
                    false => failure,
                });
            }
        };
        let is_guessed = source.now.is_none() && reading.is_time_guessed && !is_timeless;
        let view_warnings = ViewWarnings {
            doubts,
            live: None,
            guessed_time: is_guessed.then_some(now),
        };
        Ok(Self {
            reading,
            semantics,
            now,
            view_warnings,
            request,
            early: None,
            read: PhantomData,
        })
    }
}

impl<Read: ReadState> ClusterView<Read> {
    /// The view after `read`, if it is one of a cluster.
    async fn after<Now: ReadState>(
        mut self,
        read: impl AsyncFnOnce(&Live, Reading) -> Result<Reading, ClusterError>,
    ) -> Result<ClusterView<Now>, Failure> {
        if let Some(live) = &self.view_warnings.live {
            self.reading = read(live, self.reading).await.map_err(failed)?;
        }
        Ok(self.into_state())
    }

    /// Resolves a selection of devices to their names, with the attributes that this needs, and prints its notes.
    pub(crate) async fn resolved(
        self,
        choice: &Choice,
        context: &Context,
    ) -> Result<(Self, Choice), Failure> {
        // On the heap: it reads a list, and is part of what several commands do.
        let view = if choice.needs_attributes() {
            Box::pin(self.with_attributes(&[])).await?
        } else {
            self
        };
        let ResolvedChoice { choice, notes } = choice.resolved(&view.reading, &view.semantics)?;
        for note in notes {
            context.printer.note(&note);
        }
        Ok((view, choice))
    }

    /// The devices of a selection, with the attributes that this needs.
    pub(crate) async fn devices_of(
        self,
        choice: &Choice,
        context: &Context,
    ) -> Result<(Self, BTreeSet<DeviceId>), Failure> {
        let (view, choice) = self.resolved(choice, context).await?;
        let rule = |name: &str| view.rule(name);
        let proposed = choice.proposed(&[], rule, view.snapshot(), view.now)?;
        refuse_unmatched(&proposed, &view.reading, &view.semantics)?;
        let devices = view.selected(&proposed).devices;
        Ok((view, devices))
    }

    /// The taints that `choice` proposes, for which these manifests were read, and warnings about them.
    pub(crate) async fn proposed(
        self,
        choice: &Choice,
        manifests: &[DeviceTaintRule],
        context: &Context,
    ) -> Result<(Self, Vec<ProposedTaint>), Failure> {
        refuse_wide(manifests)?;
        let filter = choice.filter.as_ref();
        let (mut view, choice) = Box::pin(self.resolved(choice, context)).await?;
        let rule = |name: &str| view.rule(name);
        let proposed = choice.proposed(manifests, rule, view.snapshot(), view.now)?;
        let warnings = [
            choice.warning(manifests, view.snapshot()),
            unknown_on_node(filter, &choice, &view.snapshot().slices),
        ];
        view.reading.warnings.extend(warnings.into_iter().flatten());
        Ok((view, proposed))
    }

    /// Attributes of devices, if one of `rules` notes the hardware of its device.
    pub(crate) async fn with_identities_of(
        self,
        rules: &[DeviceTaintRule],
    ) -> Result<Self, Failure> {
        if is_noted(rules) {
            return self.with_attributes(&[]).await;
        }
        Ok(self)
    }

    /// Attributes of devices, and all objects of `kinds`.
    pub(crate) async fn with_attributes(self, kinds: &[Kind]) -> Result<Self, Failure> {
        let mut missing = Vec::new();
        // Slices that were read with more than names have the attributes already.
        if self.request.wanted == Detail::Names {
            missing.push(Kind::ResourceSlice);
        }
        let classes = Kind::DeviceClass;
        if kinds.contains(&classes) && !self.reading.known.contains(&classes) {
            missing.push(classes);
        }
        if missing.is_empty() {
            return Ok(self);
        }
        let read = async |Live { client, served }: &Live, reading| {
            cluster::read_attributes(client, served, reading, &missing).await
        };
        self.after(read).await
    }

    /// Reads also the pods that use a device that `selects` chooses.
    pub(crate) async fn with_pods(
        self,
        selects: impl Fn(&DeviceId) -> bool,
    ) -> Result<ClusterView<Pods>, Failure> {
        let read = async |Live { client, served }: &Live, reading| {
            cluster::read_pods(client, served, reading, selects).await
        };
        self.after(read).await
    }

    /// As [`ClusterView::with_pods`], for the devices of the `proposed` taints.
    pub(crate) async fn with_pods_of(
        self,
        proposed: &[ProposedTaint],
    ) -> Result<ClusterView<Pods>, Failure> {
        let selected = self.selected(proposed).devices;
        self.with_pods(|id| selected.contains(id)).await
    }

    /// As [`ClusterView::with_pods_of`], with all other pods that `guards` take a share of, and with the
    /// disruption: budgets, owners, nodes, and where claims could be allocated again. The requests of claims
    /// have to be read already.
    pub(crate) async fn with_pods_for(
        mut self,
        proposed: &[ProposedTaint],
        guards: &[Guard],
    ) -> Result<ClusterView<Disruption>, Failure> {
        if self.live().is_none() {
            return Ok(self.into_state());
        }
        let devices = self.device_basis().devices_of_question(proposed, guards);
        // Another view of the same reading may have it still.
        let early = self.early.take().and_then(Arc::into_inner);
        let read = async |Live { client, served }: &Live, reading| {
            let selects = |id: &DeviceId| devices.contains(id);
            cluster::read_pods_and_disruption_inputs(client, served, reading, early, selects).await
        };
        self.after(read).await
    }

    /// The pods of the query, with or without devices. Files hold only those that use a claim.
    pub(crate) async fn find_pods(&self, query: PodQuery<'_>) -> Result<PodQueryResult, Failure> {
        if let Some(Live { client, served }) = self.live() {
            let found = cluster::find_pods(client, served, query).await;
            return found.map_err(failed);
        }
        let is_wanted = |pod: &&Pod| match query {
            PodQuery::One(name) => pod.name == *name,
            PodQuery::Called(name) => pod.name.name == *name,
            PodQuery::Chosen(namespace, chosen) => {
                namespace.is_none_or(|name| name == pod.name.namespace.as_str()) && chosen(pod)
            }
        };
        let pods = self.reading.snapshot.pods.iter();
        let found: Vec<Pod> = pods.filter(is_wanted).cloned().collect();
        match (query, found.is_empty()) {
            (PodQuery::One(_), true) => Ok(PodQueryResult::Gone),
            (PodQuery::One(_) | PodQuery::Called(_) | PodQuery::Chosen(..), _) => {
                Ok(PodQueryResult::These(found, Vec::new()))
            }
        }
    }

    /// Adds pods that were found, unless they are known.
    pub(crate) fn with_found(mut self, pods: &[Pod]) -> Self {
        let known = &mut self.reading.snapshot.pods;
        for pod in pods {
            if !known.iter().any(|other| other.uid == pod.uid) {
                known.push(pod.clone());
            }
        }
        self
    }

    /// Adds device classes and nodes, for the allocation of claims.
    pub(crate) async fn with_places(self, detail: NodeDetail) -> Result<Self, Failure> {
        let read = async |Live { client, served }: &Live, reading| {
            cluster::read_places(client, served, reading, detail).await
        };
        self.after(read).await
    }

    /// Adds the templates of claims that are still to come.
    pub(crate) async fn with_templates(self) -> Result<Self, Failure> {
        let read = async |Live { client, served }: &Live, reading| {
            cluster::read_optional::<ResourceClaimTemplate>(client, served, reading).await
        };
        self.after(read).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    /// Fallback of a call where the view itself has no method of that name.
    struct NotRead;

    /// Is found only where the view itself has nothing of that name.
    trait Otherwise {
        fn basis(&self) -> NotRead {
            NotRead
        }

        fn impact(&self) -> NotRead {
            NotRead
        }

        fn report(&self) -> NotRead {
            NotRead
        }
    }

    impl<Read: ReadState> Otherwise for ClusterView<Read> {}

    type Refused<Read> = fn(&ClusterView<Read>) -> NotRead;

    /// This does not compile: the view needs more than it has read.
    #[test]
    fn verdicts_on_pods_that_were_not_read_do_not_compile() {
        let of_devices: [Refused<Devices>; 3] = [
            |view| view.basis(),
            |view| view.impact(),
            |view| view.report(),
        ];
        let of_pods: [Refused<Pods>; 1] = [|view| view.report()];
        assert_eq!((of_devices.len(), of_pods.len()), (3, 1));
    }
}
