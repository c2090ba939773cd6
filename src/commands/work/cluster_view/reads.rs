//! What is read later, since only some questions need it. Files have all already.

use std::sync::Arc;

use super::read_state::{Disruption, Pods, ReadState};
use super::view::ClusterView;
use crate::assess::Guard;
use crate::cluster::{self, Detail, NodeDetail, PodQuery, PodQueryResult};
use crate::commands::work::connect::{Live, failed};
use crate::decide::choice::{
    self, Choice, DeviceFilter, FilterResult, IdleNode, ShownDevices, numbers,
};
use crate::decide::identity::hardware::may_be_number;
use crate::decide::identity::{Hardware, NotedHardware};
use crate::decide::in_use_elsewhere;
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::{DeviceId, DeviceTaintRule, Kind, Pod, ResourceClaimTemplate};

impl<Read: ReadState> ClusterView<Read> {
    /// What devices are beside their names, as far as `filter` asks for it; files have all already.
    pub(crate) async fn with_attributes_for(
        self,
        filter: Option<&DeviceFilter>,
    ) -> Result<Self, Failure> {
        let view = match filter {
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
        let Some(idle) = IdleNode::of(name, self.snapshot()) else {
            return Ok(None);
        };
        if self.is_there(&idle).await? {
            return Ok(Some(idle.describe()));
        }
        Err(choice::no_such_node(name, self.snapshot()))
    }

    /// Whether the node exists, as far as that can be found out.
    async fn is_there(&self, idle: &IdleNode) -> Result<bool, Failure> {
        let view = self.clone().with_places(NodeDetail::Metadata).await?;
        Ok(idle.is_there(view.snapshot()))
    }

    /// The device that has the word for its number, such as a serial number, if there is one; what it takes
    /// to know that is read.
    pub(crate) async fn by_number(&mut self, word: &str) -> Result<FilterResult, Failure> {
        if !may_be_number(word) {
            return Ok(FilterResult::default());
        }
        // On the heap, as below: it reads a list, and is part of what several commands do.
        *self = Box::pin(self.clone().with_attributes(&[])).await?;
        let hardware = numbers(&[word], self.snapshot());
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
        let hardware = numbers(&words, view.snapshot());
        Ok((view, hardware))
    }

    /// The choice with its words that are numbers of hardware as such, with what it takes to know that.
    pub(crate) async fn with_numbers_of(self, choice: Choice) -> Result<(Self, Choice), Failure> {
        if choice.words(&self.reading).is_empty() {
            return Ok((self, choice));
        }
        let view = Box::pin(self.with_attributes(&[])).await?;
        let choice = choice.with_numbers(&view.reading)?;
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

    /// As [`ClusterView::with_identities_of`], also where it takes attributes to tell whether the devices of `rules`
    /// are in use through another driver.
    pub(crate) async fn with_hardware_of(self, rules: &[DeviceTaintRule]) -> Result<Self, Failure> {
        if in_use_elsewhere::needs_attributes(rules, self.snapshot(), &self.semantics) {
            return self.with_attributes(&[]).await;
        }
        self.with_identities_of(rules).await
    }

    /// What devices are beside their names, and all objects of `kinds`; files have all already.
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

    /// Looks at the pods too that use a device that `selects` chooses.
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

    /// As [`ClusterView::with_pods`], for all that the `proposed` taints hit.
    pub(crate) async fn with_pods_of(
        self,
        proposed: &[ProposedTaint],
    ) -> Result<ClusterView<Pods>, Failure> {
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
}
