//! Later reads, since only some requests need them. Files have all already.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::read_state::{Disruption, Pods, ReadState};
use super::view::ClusterView;
use crate::assess::Guard;
use crate::cluster::{self, Detail, NodeDetail, PodQuery, PodQueryResult};
use crate::commands::context::Context;
use crate::commands::work::connect::{Live, failed};
use crate::decide::choice::{Choice, ResolvedChoice, refuse_unmatched};
use crate::decide::identity::is_noted;
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::{DeviceId, DeviceTaintRule, Kind, Pod, ResourceClaimTemplate};

impl<Read: ReadState> ClusterView<Read> {
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

    /// Attributes of devices, and all objects of `kinds`; files have all already.
    pub(crate) async fn with_attributes(self, kinds: &[Kind]) -> Result<Self, Failure> {
        let Some(live) = &self.view_warnings.live else {
            return Ok(self);
        };
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
        let Live { client, served } = live;
        let reading = cluster::read_attributes(client, served, self.reading, &missing).await;
        Ok(Self {
            reading: reading.map_err(failed)?,
            ..self
        })
    }

    /// Reads also the pods that use a device that `selects` chooses.
    pub(crate) async fn with_pods(
        self,
        selects: impl Fn(&DeviceId) -> bool,
    ) -> Result<ClusterView<Pods>, Failure> {
        let Some(Live { client, served }) = &self.view_warnings.live else {
            return Ok(self.into_state());
        };
        let reading = cluster::read_pods(client, served, self.reading, selects).await;
        let view = Self {
            reading: reading.map_err(failed)?,
            ..self
        };
        Ok(view.into_state())
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
        self,
        proposed: &[ProposedTaint],
        guards: &[Guard],
    ) -> Result<ClusterView<Disruption>, Failure> {
        let Some(Live { client, served }) = &self.view_warnings.live else {
            return Ok(self.into_state());
        };
        let devices = self.device_basis().devices_of_question(proposed, guards);
        let selects = |id: &DeviceId| devices.contains(id);
        // Another view of the same reading may have it still.
        let early = self.early.and_then(Arc::into_inner);
        let read =
            cluster::read_pods_and_disruption_inputs(client, served, self.reading, early, selects);
        let view = Self {
            reading: read.await.map_err(failed)?,
            early: None,
            ..self
        };
        Ok(view.into_state())
    }

    /// The pods of the query, with or without devices. Files hold only those that use a claim.
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

    /// Adds device classes and nodes, for the allocation of claims; files have all already.
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
}
