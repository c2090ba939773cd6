//! The rules of a live cluster: read as they are served, and changed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::client::ApiClient;
use super::discovery::ServedKinds;
use super::error::ClusterError;
use super::read::list::List;
use super::read::read_devices_beside;
use super::write::{Objects, Stored};
use crate::model::{DeviceTaintRule, Reading};

/// The rules of one cluster.
pub type Rules = Objects<DeviceTaintRule>;

/// A rule as the server has it.
pub type StoredRule = Stored<DeviceTaintRule>;

/// Reads devices as [`read_devices`](super::read_devices) does, with the rules as they are served, by name, from the
/// list that the reading is made from, and why others of it cannot be understood.
///
/// # Errors
///
/// As [`read_devices`](super::read_devices), and when the rules cannot be read.
pub async fn read_devices_with_objects(
    client: &ApiClient,
    served: &ServedKinds,
) -> Result<(Reading, BTreeMap<String, Value>, Vec<ClusterError>), ClusterError> {
    let rules = Rules::new(client, served)?;
    let mut objects = BTreeMap::new();
    let mut odd = Vec::new();
    let listed = async {
        let listed = rules.list().await?;
        odd = listed.odd;
        let mut facts = List {
            first: None,
            items: Vec::with_capacity(listed.objects.len()),
            metadata: listed.metadata,
            warnings: Vec::new(),
        };
        for stored in listed.objects {
            objects.insert(stored.fact.name.to_string(), stored.object);
            facts.items.push(stored.fact);
        }
        Ok(facts)
    };
    let reading = read_devices_beside(client, served, listed).await?;
    Ok((reading, objects, odd))
}
