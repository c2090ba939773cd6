//! Pods that the user has named, with or without devices.

use super::list::List;
use super::lists::{Listing, Selection, object};
use super::placement_inputs::{NodeDetail, PlacementInputs};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::{Kind, NamespacedName, ObjectName, Pod, Reading, Warning};
use crate::wire::Detail;

/// Query for pods.
#[derive(Clone, Copy)]
pub enum PodQuery<'a> {
    /// The one of that name.
    One(&'a NamespacedName),
    /// Pods of that name, in any namespace.
    Called(&'a ObjectName),
    /// Pods of a namespace, or of all, that the function accepts.
    Chosen(Option<&'a str>, &'a (dyn Fn(&Pod) -> bool + Sync)),
}

/// Result of the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodQueryResult {
    /// Pods that use a claim, with warnings about them.
    These(Vec<Pod>, Vec<Warning>),
    /// It is there, and uses no claim.
    WithoutClaims,
    /// There is none.
    Gone,
    /// The user may not read them, for this reason.
    Denied(String),
}

/// Every pod, of the type by which others choose too: what reads a list is long, and made for each.
const ALL: &(dyn Fn(&Pod) -> bool + Sync) = &|_| true;

/// Pods of the query.
///
/// # Errors
///
/// As any read, unless permission is missing.
pub async fn find_pods(
    client: &ApiClient,
    served: &ServedKinds,
    meant: PodQuery<'_>,
) -> Result<PodQueryResult, ClusterError> {
    let Some(version) = served.version_of(Kind::Pod) else {
        return Ok(PodQueryResult::Gone);
    };
    let list = |selection| Listing {
        client,
        version,
        selection,
        detail: Detail::Names,
    };
    let found: Result<List<Pod>, ClusterError> = match meant {
        PodQuery::One(name) => match object(client, version, name).await {
            Ok(None) => return Ok(PodQueryResult::Gone),
            Ok(Some(list)) => {
                let list = list.of_kind::<Pod>();
                // The pod exists: conversion drops pods without claims.
                if list.items.is_empty() {
                    return Ok(PodQueryResult::WithoutClaims);
                }
                Ok(list)
            }
            Err(error) => Err(error),
        },
        PodQuery::Called(name) => {
            // Every resource can be selected by this field, without knowing the namespace.
            let selection = Selection::Fields(format!("metadata.name={name}"));
            list(selection).facts(ALL).await
        }
        PodQuery::Chosen(namespace, chosen) => {
            let selection = match namespace {
                Some(namespace) => Selection::Namespace(namespace.to_owned()),
                None => Selection::All,
            };
            list(selection).facts(chosen).await
        }
    };
    match found {
        Ok(list) => Ok(PodQueryResult::These(list.items, list.warnings)),
        Err(error @ ClusterError::Forbidden { .. }) => {
            Ok(PodQueryResult::Denied(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

/// Adds to `reading` what says where claims could be placed: device classes and nodes. Who may not read
/// them gets an answer without.
///
/// # Errors
///
/// When a list cannot be read completely, unless permission is missing.
pub async fn read_places(
    client: &ApiClient,
    served: &ServedKinds,
    reading: Reading,
    detail: NodeDetail,
) -> Result<Reading, ClusterError> {
    let places = PlacementInputs::read(client, served, reading.known.clone(), detail).await?;
    Ok(places.add_to(reading, Vec::new()))
}
