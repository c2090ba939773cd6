//! A reading that is kept current.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::{FutureExt, select_all};
use futures::stream::{self, StreamExt};
use tokio::time::Instant;

use super::feed::{Feed, FeedEvent, FeedScope, FeedSubject};
use super::index::Index;
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::cluster::read::claim_consumers::ClaimConsumers;
use crate::cluster::read::devices::reading_of;
use crate::cluster::read::kinds::Notes;
use crate::model::kind::for_each_kind;
use crate::model::{Kind, Pod, Reading, Snapshot, Uid};
use crate::wire::{Change, Fact, Object, WatchEvent};

/// Maximum number of changes that are taken in one go, between two looks.
const AT_ONCE: usize = 256;

/// A reading that is kept as the cluster is.
pub struct Watched {
    pub(super) client: ApiClient,
    pub(super) served: ServedKinds,
    pub(super) reading: Reading,
    indexes: BTreeMap<Kind, Index>,
    feeds: Vec<WatchedFeed>,
    /// The user may not list pods.
    pub(super) confined: bool,
    /// The pods that are asked for by name, and when that was done last.
    pub(super) by_name: ClaimConsumers,
    pub(super) asked: Option<Instant>,
    /// Pods that are gone: no other pod is ever given their UID.
    pub(super) gone: BTreeSet<Uid>,
    /// Deleted pods, in their last version.
    departed: Vec<Pod>,
    /// True if some pods were listed from time to time, because they cannot be watched.
    pub(super) pods_are_polled: bool,
}

/// A feed, and what it is about. Its place in the list is its number.
struct WatchedFeed {
    kind: Kind,
    range: FeedScope,
    feed: Feed,
}

impl Watched {
    /// Only the rules, listed and watched.
    ///
    /// # Errors
    ///
    /// As any read.
    pub async fn rules(client: &ApiClient, served: &ServedKinds) -> Result<Self, ClusterError> {
        let mut watched = Self::nothing(client, served);
        watched.open(Kind::DeviceTaintRule, FeedScope::All).await?;
        Ok(watched)
    }

    /// Nothing at all: for those who may not list what they look at.
    pub fn nothing(client: &ApiClient, served: &ServedKinds) -> Self {
        let reading = reading_of(client, served, Snapshot::default(), Notes::default());
        Self::keep(client, served, reading)
    }

    /// A reading of the cluster that `client` asks, read with `detail`; nothing of it is watched yet.
    ///
    /// Its pods are forgotten: they are a choice that [`Watched::keep_pods`] makes anew.
    pub fn keep(client: &ApiClient, served: &ServedKinds, reading: Reading) -> Self {
        let mut reading = reading;
        reading.snapshot.pods = Vec::new();
        Self {
            client: client.clone(),
            served: served.clone(),
            reading,
            indexes: BTreeMap::new(),
            feeds: Vec::new(),
            confined: false,
            by_name: ClaimConsumers::default(),
            asked: None,
            gone: BTreeSet::new(),
            departed: Vec::new(),
            pods_are_polled: false,
        }
    }

    /// The pods that a watch has told to be gone since this was asked last, as they were last. Of one that went
    /// while no watch was open, nothing is known.
    pub fn take_departed(&mut self) -> Vec<Pod> {
        std::mem::take(&mut self.departed)
    }

    /// Watches these kinds too, from the state on in which they were read.
    ///
    /// A kind that could not be read stays as it is, a gap in the reading.
    #[must_use]
    pub fn watching(mut self, kinds: &[Kind]) -> Self {
        for kind in kinds {
            let state = self.reading.resource_versions.get(kind.plural()).cloned();
            if let (Some(state), Some(subject)) = (state, self.subject(*kind, FeedScope::All)) {
                // The number that `add` gives to the feed next.
                let index = Index::of(self.feeds.len(), names(&self.reading.snapshot, *kind));
                self.indexes.insert(*kind, index);
                self.add(subject, state);
            }
        }
        self
    }

    /// The reading, as of the last change that the server sent.
    pub fn reading(&self) -> &Reading {
        &self.reading
    }

    /// Waits for the next change, and takes everything that has arrived by then.
    ///
    /// For ever when nothing is watched. Can be given up at any time without losing a change.
    ///
    /// # Errors
    ///
    /// When the server cannot be asked any more, for longer than the request timeout.
    pub async fn changed(&mut self) -> Result<(), ClusterError> {
        if self.feeds.is_empty() {
            return std::future::pending().await;
        }
        let next = self.feeds.iter_mut().map(|watched| watched.feed.next());
        // The futures that lose are dropped without loss, since every feed keeps its own progress.
        let (news, number, _) = select_all(next).await;
        self.apply(number, news)?;
        for number in 0..self.feeds.len() {
            for _ in 0..AT_ONCE {
                let Some(news) = self.feeds[number].feed.next().now_or_never() else {
                    break;
                };
                self.apply(number, news)?;
            }
        }
        self.reading.observed_at = self.client.server_time();
        Ok(())
    }

    fn apply(
        &mut self,
        number: usize,
        news: Option<Result<FeedEvent, ClusterError>>,
    ) -> Result<(), ClusterError> {
        // A feed ends with an error, after which it is not polled again.
        let Some(news) = news.transpose()? else {
            return Ok(());
        };
        let kind = self.feeds[number].kind;
        let mut objects = FeedObjects {
            kind,
            number,
            index: self.indexes.entry(kind).or_default(),
            snapshot: &mut self.reading.snapshot,
        };
        match news {
            FeedEvent::All(all) => objects.replace(all),
            FeedEvent::Polled(all) => {
                objects.replace(all);
                self.pods_are_polled |= kind == Kind::Pod;
            }
            FeedEvent::Changes(events) => {
                let departed = objects.change(events);
                self.gone.extend(departed.iter().map(|pod| pod.uid.clone()));
                self.departed.extend(departed);
            }
        }
        Ok(())
    }

    /// Lists the objects of `kind` in `range`, and watches them from then on.
    pub(super) async fn open(&mut self, kind: Kind, range: FeedScope) -> Result<(), ClusterError> {
        let Some(subject) = self.subject(kind, range) else {
            return Ok(());
        };
        let list = subject.list().await?;
        if kind == Kind::Pod && subject.range == FeedScope::All {
            // The list includes the pods of single nodes, and each pod is kept once.
            self.forget_pods();
        }
        self.add(subject, list.metadata.resource_version);
        self.reading.warnings.extend(list.warnings);
        let number = self.feeds.len().saturating_sub(1);
        self.apply(number, Some(Ok(FeedEvent::All(list.items))))
    }

    /// Ends all feeds of pods.
    pub(super) fn forget_pods(&mut self) {
        self.reading.snapshot.pods.clear();
        self.indexes.remove(&Kind::Pod);
        let feeds = self.feeds.iter_mut();
        for watched in feeds.filter(|watched| watched.kind == Kind::Pod) {
            watched.feed = stream::pending().boxed_local();
        }
    }

    /// True if the objects of `kind` in `range` are watched.
    pub(super) fn watches(&self, kind: Kind, range: &FeedScope) -> bool {
        let mut feeds = self.feeds.iter();
        feeds.any(|feed| feed.kind == kind && feed.range == *range)
    }

    fn subject(&self, kind: Kind, range: FeedScope) -> Option<FeedSubject> {
        Some(FeedSubject {
            client: self.client.clone(),
            version: self.served.version_of(kind)?,
            range,
        })
    }

    fn add(&mut self, subject: FeedSubject, state: String) {
        self.feeds.push(WatchedFeed {
            kind: subject.version.kind,
            range: subject.range.clone(),
            feed: subject.feed(state),
        });
    }
}

/// Objects of one kind from one feed.
struct FeedObjects<'a> {
    kind: Kind,
    number: usize,
    index: &'a mut Index,
    snapshot: &'a mut Snapshot,
}

impl FeedObjects<'_> {
    /// Gives the pods that are gone.
    fn change(&mut self, events: Vec<WatchEvent>) -> Vec<Pod> {
        let mut gone = Vec::new();
        for event in events {
            match event.change {
                Change::Present(object) => self.put(*object),
                Change::Absent(name) => gone.extend(self.take(name).and_then(Pod::of)),
                Change::Nothing => {}
            }
        }
        gone
    }
}

macro_rules! feed_objects {
    ($(
        $(#[$facts:meta])*
        $kind:ident in $field:ident { $($columns:tt)* }
    )*) => {
        impl FeedObjects<'_> {
            /// These are all of them.
            fn replace(&mut self, objects: Vec<Object>) {
                match self.kind {
                    $(Kind::$kind => self.index.clear(&mut self.snapshot.$field, self.number),)*
                }
                for object in objects {
                    self.put(object);
                }
            }

            fn put(&mut self, object: Object) {
                let name = object.name();
                match object {
                    $(Object::$kind(fact) => {
                        self.index.put(&mut self.snapshot.$field, self.number, name, fact);
                    })*
                }
            }

            fn take(&mut self, name: String) -> Option<Object> {
                match self.kind {
                    $(Kind::$kind => {
                        let fact = self.index.take(&mut self.snapshot.$field, self.number, name);
                        fact.map(Object::$kind)
                    })*
                }
            }
        }

        /// The names of the facts of `kind`, in their order, as their objects spell them.
        fn names(snapshot: &Snapshot, kind: Kind) -> Box<dyn Iterator<Item = String> + '_> {
            match kind {
                $(Kind::$kind => Box::new(snapshot.$field.iter().map(|fact| fact.name.to_string())),)*
            }
        }
    };
}

for_each_kind!(feed_objects);
