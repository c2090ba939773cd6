//! Later reads of a view, since only some requests need them. Files have all already.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::cluster_view::{ClusterView, Disruption, Pods, ReadState};
use super::connect::{Live, failed};
use crate::assess::Guard;
use crate::cluster::{self, ClusterError, Detail, NodeDetail, PodQuery, PodQueryResult};
use crate::commands::context::Context;
use crate::decide::choice::{
    Choice, ResolvedChoice, refuse_unmatched, refuse_wide, unknown_on_node,
};
use crate::decide::identity::is_noted;
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::{DeviceId, DeviceTaintRule, Kind, Pod, Reading, ResourceClaimTemplate};

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
