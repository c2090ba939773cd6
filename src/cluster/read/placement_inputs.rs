//! Device classes and nodes, on which reallocation of claims depends.
//!
//! All device classes, and all nodes: of nodes the metadata alone where that is enough, for where devices are is
//! decided by names and labels, and the rest of a node is much. Cordoned nodes are read whole in any case: they are few,
//! and the server selects them. Who may not read them gets an answer without.

use std::collections::{BTreeMap, BTreeSet};

use super::kinds::{Outcome, Reader};
use super::lists::Selection;
use super::optional::{all, with};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::{DeviceClass, Gap, Kind, Node, NodeName, Reading};
use crate::wire::{Detail, Fact};

/// The field selector of cordoned nodes.
///
/// Upstream: `NodeToSelectableFields` in `pkg/registry/core/node/strategy.go`.
const CORDONED: &str = "spec.unschedulable=true";

/// Detail in which nodes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeDetail {
    /// Names and labels, by which it is known where devices are; all of cordoned nodes.
    Metadata,
    /// Also taints, by which it is known where a pod can be scheduled.
    Whole,
}

/// Outcomes of both lists; of classes nothing where they were read before.
pub(super) struct PlacementInputs {
    classes: Option<Outcome<DeviceClass>>,
    nodes: Option<Outcome<Node>>,
}

impl PlacementInputs {
    /// Reads them side by side, without what is `known` already.
    pub(super) async fn read(
        client: &ApiClient,
        served: &ServedKinds,
        known: BTreeSet<Kind>,
        detail: NodeDetail,
    ) -> Result<Self, ClusterError> {
        let classes = async {
            if known.contains(&Kind::DeviceClass) {
                return Ok(None);
            }
            match all(client, served).await {
                // `Outcome::new` takes this for absence of optional kinds only, and some answers need device classes.
                Err(ClusterError::NotFound { .. }) => Ok(Some(Outcome::Absent)),
                outcome => outcome.map(Some),
            }
        };
        let (classes, nodes) = futures::try_join!(classes, all_nodes(client, served, detail))?;
        Ok(Self {
            classes,
            nodes: Some(nodes),
        })
    }

    /// These without the nodes.
    pub(super) fn without_nodes(self) -> Self {
        Self {
            nodes: None,
            ..self
        }
    }

    /// Adds them to `reading`, beside the nodes `of_pods`, which were read whole and count more.
    pub(super) fn add_to(self, reading: Reading, of_pods: Vec<Node>) -> Reading {
        let mut reading = match self.classes {
            Some(outcome) => or_gap(reading, outcome),
            None => reading,
        };
        let mut nodes: BTreeMap<NodeName, Node> = BTreeMap::new();
        if let Some(outcome) = self.nodes {
            reading = or_gap(reading, outcome);
            let listed = std::mem::take(&mut reading.snapshot.nodes);
            nodes.extend(listed.into_iter().map(|node| (node.name.clone(), node)));
        }
        // Last, so that they replace the nodes of the list, of which only metadata was read.
        nodes.extend(of_pods.into_iter().map(|node| (node.name.clone(), node)));
        reading.snapshot.nodes = nodes.into_values().collect();
        reading
    }
}

/// The reading with a kind without which it is only not known whether there are replacements.
fn or_gap<T: Fact>(mut reading: Reading, outcome: Outcome<T>) -> Reading {
    let reason = match outcome {
        Outcome::Read(_) => return with(reading, outcome),
        Outcome::Denied(error) => error.to_string(),
        Outcome::Absent => format!("the server does not serve {}", T::KIND.plural()),
    };
    reading.gaps.push(Gap::of_replacements(&reason));
    reading
}

async fn all_nodes(
    client: &ApiClient,
    served: &ServedKinds,
    detail: NodeDetail,
) -> Result<Outcome<Node>, ClusterError> {
    if detail == NodeDetail::Whole {
        return all(client, served).await;
    }
    let reader = Reader {
        client,
        served,
        detail: Detail::Names,
    };
    let Some(listing) = reader.listing(Kind::Node, Selection::All) else {
        return Ok(Outcome::Absent);
    };
    let metadata = async { Outcome::new(Kind::Node, listing.metadata(Node::of).await) };
    let cordoned = reader.selected::<Node>(Selection::Fields(CORDONED.to_owned()));
    match futures::try_join!(metadata, cordoned)? {
        (Outcome::Read(mut nodes), Outcome::Read(cordoned)) => {
            // Last, so that they replace those of which only metadata was read: `add_to` keeps one node of a name.
            nodes.items.extend(cordoned.items);
            nodes.warnings.extend(cordoned.warnings);
            Ok(Outcome::Read(nodes))
        }
        (Outcome::Read(_), without) | (without, _) => Ok(without),
    }
}
