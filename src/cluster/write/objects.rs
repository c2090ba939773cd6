//! The objects of one kind in one cluster.

use std::marker::PhantomData;
use std::sync::Arc;

use super::answer;
use super::stored::{Known, Stored, Untyped};
use crate::cluster::client::api::ApiClient;
use crate::cluster::client::request::{JSON, Read};
use crate::cluster::client::retry::AttemptFailure;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::discovery::enablement;
use crate::cluster::error::ClusterError;
use crate::cluster::path::{escaped, path_of};
use crate::cluster::permission::Permission;
use crate::cluster::read::lists::{Listing, Selection};
use crate::model::Kind;
use crate::wire::{Detail, Fact, ListMeta, Version, versions_of};

/// The objects of one kind, at the newest version that the server has: read with everything that it
/// says about them, and changed.
#[derive(Debug)]
pub struct Objects<T> {
    pub(super) client: ApiClient,
    pub(super) version: &'static Version,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Objects<T> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            version: self.version,
            kind: PhantomData,
        }
    }
}

/// All objects that could be understood, and why others could not be.
#[derive(Debug)]
pub struct Listed<T> {
    /// Objects that could be decoded, in the server's order.
    pub objects: Vec<Stored<T>>,
    /// Errors of the other objects, each with its name.
    pub odd: Vec<ClusterError>,
    /// Metadata of the list.
    pub(in crate::cluster) metadata: ListMeta,
}

impl Objects<Untyped> {
    /// The objects of a kind, of which only their JSON is looked at.
    ///
    /// # Errors
    ///
    /// When the cluster that `served` describes does not serve the kind.
    pub fn untyped(
        client: &ApiClient,
        served: &ServedKinds,
        kind: Kind,
    ) -> Result<Self, ClusterError> {
        Self::of_kind(client, served, kind)
    }
}

/// The version of the API in which an object of `kind` is written if no server says what it serves.
pub fn preferred_version(kind: Kind) -> &'static str {
    versions_of(kind)
        .next()
        .map_or("", |version| version.api_version)
}

impl<T: Fact> Objects<T> {
    /// The objects of the cluster that `served` describes.
    ///
    /// # Errors
    ///
    /// When it does not serve the kind.
    pub fn new(client: &ApiClient, served: &ServedKinds) -> Result<Self, ClusterError> {
        Self::of_kind(client, served, T::KIND)
    }

    /// The objects of a cluster whose served versions are unknown: at the first version at which
    /// one of `names` is found. `None` when none is.
    pub async fn found_by(client: &ApiClient, names: &[String]) -> Option<Self> {
        for version in versions_of(T::KIND) {
            let objects = Self {
                client: client.clone(),
                version,
                kind: PhantomData,
            };
            for name in names {
                if let Ok(Some(_)) = objects.get(name).await {
                    return Some(objects);
                }
            }
        }
        None
    }
}

impl<T: Known> Objects<T> {
    /// The objects of a kind of the cluster that `served` describes.
    ///
    /// # Errors
    ///
    /// When it does not serve the kind.
    pub(super) fn of_kind(
        client: &ApiClient,
        served: &ServedKinds,
        kind: Kind,
    ) -> Result<Self, ClusterError> {
        match served.version_of(kind) {
            Some(version) => Ok(Self {
                client: client.clone(),
                version,
                kind: PhantomData,
            }),
            None => Err(ClusterError::NotServed {
                server: Arc::clone(client.server()),
                kind,
                advice: enablement::how_to_serve(kind, served.version),
            }),
        }
    }

    /// The version at which they are read and written.
    pub fn api_version(&self) -> &'static str {
        self.version.api_version
    }

    /// All objects, in the server's order; one that cannot be decoded does not hide the others.
    ///
    /// # Errors
    ///
    /// As any list: an answer that is not a whole list of this kind is none.
    pub async fn list(&self) -> Result<Listed<T>, ClusterError> {
        let listing = Listing {
            client: &self.client,
            version: self.version,
            selection: Selection::All,
            detail: Detail::Attributes,
        };
        let mut listed = Listed {
            objects: Vec::new(),
            odd: Vec::new(),
            metadata: ListMeta::default(),
        };
        // With all fields: the outcome of a change is judged on the stored object, not on its decoded fields.
        let list = listing.served(|_| true).await?;
        listed.metadata = list.metadata;
        for object in list.items {
            let target = self.target("list", None, "");
            match answer::object(self.version, object.get().as_bytes()) {
                Ok(stored) => listed.objects.push(stored),
                Err(reason) => listed.odd.push(self.unreadable(&target, reason)),
            }
        }
        Ok(listed)
    }

    /// The object of that name, if there is one.
    ///
    /// # Errors
    ///
    /// As any read; also when it cannot be understood, or has another name.
    pub async fn get(&self, name: &str) -> Result<Option<Stored<T>>, ClusterError> {
        let target = self.target("get", Some(name), "");
        match self.client.json(&target).await {
            Ok(body) => answer::named(self.version, name, &body)
                .map(Some)
                .map_err(|reason| self.unreadable(&target, reason)),
            Err(ClusterError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{}", path_of(self.version, None), escaped(name))
    }

    pub(super) fn target(&self, verb: &'static str, name: Option<&str>, query: &str) -> Read {
        let path = name.map_or_else(|| path_of(self.version, None), |name| self.path(name));
        Read {
            path: format!("{path}{query}"),
            accept: JSON,
            permission: Permission::new(verb, self.version.kind),
        }
    }

    pub(super) fn unreadable(&self, target: &Read, reason: String) -> ClusterError {
        self.client
            .error(target, AttemptFailure::Unreadable(reason))
    }
}
