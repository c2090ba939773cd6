//! A reading that is kept current.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::{FutureExt, select_all};
use futures::stream::StreamExt;

use super::by_name::PodsByName;
use super::feed::{Feed, FeedEvent, FeedScope, FeedSubject};
use super::index::Index;
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::discover::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::model::kind::for_each_kind;
use crate::model::{Kind, Pod, Reading, Snapshot, Source, Uid};
use crate::wire::{Change, Fact, Object, WatchEvent};

/// So much news at most is taken in one go, so that whoever looks gets to look.
const AT_ONCE: usize = 256;

/// Stands for those whom no feed tells of.
const BY_NAME: usize = usize::MAX;

/// A reading that is kept as the cluster is.
pub struct Watched {
    pub(super) client: ApiClient,
    pub(super) served: ServedKinds,
    pub(super) reading: Reading,
    indexes: BTreeMap<Kind, Index>,
    lines: Vec<WatchedFeed>,
    pub(super) by_name: PodsByName,
    /// Pods that were told to be gone, as they were last.
    departed: Vec<Pod>,
    /// Whether some pods were listed from time to time, because they cannot be watched.
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
    #[must_use]
    pub fn nothing(client: &ApiClient, served: &ServedKinds) -> Self {
        let reading = Reading {
            snapshot: Snapshot::default(),
            source: Source::Cluster {
                context: client.context().map(str::to_owned),
                server: Some(client.server().url.clone()),
                server_version: served.git_version.clone(),
            },
            observed_at: client.server_time(),
            is_time_guessed: false,
            version: served.version,
            known: BTreeSet::new(),
            resource_versions: BTreeMap::new(),
            warnings: Vec::new(),
            gaps: Vec::new(),
        };
        Self::keep(client, served, reading)
    }

    /// A reading of the cluster that `client` asks, read with `detail`; nothing of it is watched yet.
    ///
    /// Its pods are forgotten: they are a choice that [`Watched::keep_pods`] makes anew.
    #[must_use]
    pub fn keep(client: &ApiClient, served: &ServedKinds, reading: Reading) -> Self {
        let mut reading = reading;
        reading.snapshot.pods = Vec::new();
        Self {
            client: client.clone(),
            served: served.clone(),
            reading,
            indexes: BTreeMap::new(),
            lines: Vec::new(),
            by_name: PodsByName::default(),
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
                let index = Index::of(self.lines.len(), names(&self.reading.snapshot, *kind));
                self.indexes.insert(*kind, index);
                self.add(subject, state);
            }
        }
        self
    }

    /// Everything as it is, as far as the server has told.
    #[must_use]
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
        if self.lines.is_empty() {
            return std::future::pending().await;
        }
        let next = self.lines.iter_mut().map(|line| line.feed.next());
        // The futures that lose are dropped without loss, since every feed keeps its own progress.
        let (news, number, _) = select_all(next).await;
        self.apply(number, news)?;
        for number in 0..self.lines.len() {
            for _ in 0..AT_ONCE {
                let Some(news) = self.lines[number].feed.next().now_or_never() else {
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
        // A feed ends with an error, after which nobody asks it again.
        let Some(news) = news.transpose()? else {
            return Ok(());
        };
        let kind = self.lines[number].kind;
        let mut shelf = FeedObjects {
            kind,
            number,
            index: self.indexes.entry(kind).or_default(),
            snapshot: &mut self.reading.snapshot,
        };
        match news {
            FeedEvent::All(objects) => shelf.replace(objects),
            FeedEvent::Polled(objects) => {
                shelf.replace(objects);
                self.pods_are_polled |= kind == Kind::Pod;
            }
            FeedEvent::Changes(events) => {
                let gone = shelf.change(events);
                self.by_name
                    .gone(gone.iter().map(|pod| pod.uid.clone()).collect());
                self.departed.extend(gone);
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
        self.add(subject, list.metadata.resource_version);
        self.reading.warnings.extend(list.warnings);
        let number = self.lines.len().saturating_sub(1);
        self.apply(number, Some(Ok(FeedEvent::All(list.items))))
    }

    /// Whether the objects of `kind` in `range` are watched.
    pub(super) fn watches(&self, kind: Kind, range: &FeedScope) -> bool {
        let mut lines = self.lines.iter();
        lines.any(|line| line.kind == kind && line.range == *range)
    }

    /// The pods that feeds tell of, by their UIDs.
    pub(super) fn told_pods(&self) -> BTreeSet<Uid> {
        let feeds = self.indexes.get(&Kind::Pod).into_iter();
        let pods = self.reading.snapshot.pods.iter();
        // An index keeps the order of its list, so the two can be zipped.
        let told = pods
            .zip(feeds.flat_map(Index::feeds))
            .filter(|(_, feed)| *feed != BY_NAME);
        told.map(|(pod, _)| pod.uid.clone()).collect()
    }

    /// Changes the pods that no feed tells of.
    pub(super) fn pods_by_name(&mut self, change: impl FnOnce(&mut FeedObjects<'_>)) {
        change(&mut FeedObjects {
            kind: Kind::Pod,
            number: BY_NAME,
            index: self.indexes.entry(Kind::Pod).or_default(),
            snapshot: &mut self.reading.snapshot,
        });
    }

    fn subject(&self, kind: Kind, range: FeedScope) -> Option<FeedSubject> {
        Some(FeedSubject {
            client: self.client.clone(),
            version: self.served.version_of(kind)?,
            range,
        })
    }

    fn add(&mut self, subject: FeedSubject, state: String) {
        self.lines.push(WatchedFeed {
            kind: subject.version.kind,
            range: subject.range.clone(),
            feed: subject.feed(state),
        });
    }
}

/// The facts of one kind that one feed tells of.
pub(super) struct FeedObjects<'a> {
    kind: Kind,
    number: usize,
    index: &'a mut Index,
    snapshot: &'a mut Snapshot,
}

impl FeedObjects<'_> {
    /// These are all of them.
    pub(super) fn replace(&mut self, objects: Vec<Object>) {
        self.clear();
        for object in objects {
            self.put(object);
        }
    }

    /// Gives the pods that are gone.
    fn change(&mut self, events: Vec<WatchEvent>) -> Vec<Pod> {
        let mut gone = Vec::new();
        for event in events {
            match event.change {
                Change::Present(object) => self.put(*object),
                Change::Absent(name) => gone.extend(self.take(&name)),
                Change::Nothing => {}
            }
        }
        gone
    }

    /// The pod, if it was one: it will not come back.
    fn take(&mut self, name: &str) -> Option<Pod> {
        Pod::of(self.take_object(name)?)
    }
}

macro_rules! shelf {
    ($(
        $(#[$facts:meta])*
        $kind:ident in $field:ident { $($columns:tt)* }
    )*) => {
        impl FeedObjects<'_> {
            fn put(&mut self, object: Object) {
                let name = object.name();
                match object {
                    $(Object::$kind(fact) => {
                        self.index.put(&mut self.snapshot.$field, self.number, &name, fact);
                    })*
                }
            }

            fn take_object(&mut self, name: &str) -> Option<Object> {
                match self.kind {
                    $(Kind::$kind => {
                        let fact = self.index.take(&mut self.snapshot.$field, self.number, name);
                        fact.map(Object::$kind)
                    })*
                }
            }

            fn clear(&mut self) {
                match self.kind {
                    $(Kind::$kind => self.index.clear(&mut self.snapshot.$field, self.number),)*
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

for_each_kind!(shelf);
