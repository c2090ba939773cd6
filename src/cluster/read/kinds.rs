//! All objects of one kind, and what it means when there are none to be had.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::list::List;
use super::lists::{Listing, Selection};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::discovery::enablement;
use crate::cluster::error::ClusterError;
use crate::model::{Gap, Kind, Need, Warning};
use crate::wire::{Detail, Fact, Version};

/// Outcome of a list.
pub(super) enum Outcome<T> {
    Read(List<T>),
    /// The server does not have the kind.
    Absent,
    /// The user may not read it.
    Denied(ClusterError),
}

impl<T> Outcome<T> {
    /// Distinguishes missing permissions and missing kinds from failures.
    pub(super) fn new(
        kind: Kind,
        result: Result<List<T>, ClusterError>,
    ) -> Result<Self, ClusterError> {
        match result {
            Ok(list) => Ok(Self::Read(list)),
            Err(error @ ClusterError::Forbidden { .. }) => Ok(Self::Denied(error)),
            // Discovery has not asked for a kind that has one version only.
            Err(ClusterError::NotFound { .. }) if kind.need() == Need::Optional => Ok(Self::Absent),
            Err(error) => Err(error),
        }
    }
}

/// Reads kinds of one cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    pub(super) client: &'a ApiClient,
    pub(super) served: &'a ServedKinds,
    pub(super) detail: Detail,
}

impl<'a> Reader<'a> {
    /// All facts of a kind.
    pub(super) async fn all<T: Fact>(&self) -> Result<Outcome<T>, ClusterError> {
        self.selected(Selection::All).await
    }

    /// The facts of a kind that the server selects.
    pub(super) async fn selected<T: Fact>(
        &self,
        selection: Selection,
    ) -> Result<Outcome<T>, ClusterError> {
        match self.listing(T::KIND, selection) {
            Some(listing) => Outcome::new(T::KIND, listing.facts(|_: &T| true).await),
            None => Ok(Outcome::Absent),
        }
    }

    /// The facts of a kind that the server selects, where an answer cannot do without them.
    pub(super) async fn required<T: Fact>(
        &self,
        selection: Selection,
    ) -> Result<List<T>, ClusterError> {
        let listing = Listing {
            client: self.client,
            version: self.version::<T>()?,
            selection,
            detail: self.detail,
        };
        listing.facts(|_: &T| true).await
    }

    /// The version of a kind.
    ///
    /// # Errors
    ///
    /// When the server does not have the kind.
    pub(super) fn version<T: Fact>(&self) -> Result<&'static Version, ClusterError> {
        let version = self.served.version_of(T::KIND);
        version.ok_or_else(|| ClusterError::NotServed {
            server: Arc::clone(self.client.server()),
            kind: T::KIND,
            advice: enablement::how_to_serve(T::KIND, self.served.version),
        })
    }

    /// The list, unless the server does not have the kind.
    pub(super) fn listing(&self, kind: Kind, selection: Selection) -> Option<Listing<'a>> {
        Some(Listing {
            client: self.client,
            version: self.served.version_of(kind)?,
            selection,
            detail: self.detail,
        })
    }
}

/// Warnings and gaps of the lists.
#[derive(Default)]
pub(in crate::cluster) struct Notes {
    /// The kinds of which everything was read.
    pub(super) known: BTreeSet<Kind>,
    pub(super) warnings: Vec<Warning>,
    pub(super) gaps: Vec<Gap>,
    pub(super) resource_versions: BTreeMap<String, String>,
}

impl Notes {
    /// The objects, as far as there are any.
    pub(super) fn take<T>(&mut self, kind: Kind, outcome: Outcome<T>) -> Vec<T> {
        match outcome {
            Outcome::Read(list) => {
                let version = list.metadata.resource_version;
                self.known.insert(kind);
                self.resource_versions
                    .insert(kind.plural().to_owned(), version);
                self.warnings.extend(list.warnings);
                return list.items;
            }
            Outcome::Denied(error) => self.denied(kind, &error),
            Outcome::Absent => self.absent(kind),
        }
        Vec::new()
    }

    /// The user may not read the kind.
    pub(super) fn denied(&mut self, kind: Kind, error: &ClusterError) {
        self.gaps.push(Gap::of(kind, &error.to_string()));
    }

    /// The server does not have the kind.
    pub(super) fn absent(&mut self, kind: Kind) {
        match kind.need() {
            // Then nothing of it can be missing, and discovery has told so.
            Need::WhereServed => {
                self.known.insert(kind);
            }
            // So it is with workloads of an API that has to be installed.
            Need::Optional if kind.is_workload() => {
                self.known.insert(kind);
            }
            Need::Always | Need::Optional => {
                self.gaps
                    .push(Gap::of(kind, "the server does not serve them"));
            }
        }
    }
}
