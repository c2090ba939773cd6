//! A reading that is kept current.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use futures::future::{FutureExt, select_all};
use futures::stream::{self, StreamExt};
use tokio::time::Instant;

use super::feed::{Feed, FeedEvent, FeedScope, FeedSubject};
use crate::cluster::client::api::ApiClient;
use crate::cluster::discovery::ServedKinds;
use crate::cluster::error::ClusterError;
use crate::cluster::read::devices::{ClaimConsumers, reading_of};
use crate::cluster::read::kinds::Notes;
use crate::cluster::read::pods::{Found, Reader};
use crate::model::kind::for_each_kind;
use crate::model::{DeviceId, Kind, Pod, Reading, Snapshot, Uid};
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

/// From which feed an object comes, and its name with the namespace where there is one.
///
/// Two feeds may know an object of the same name for a moment: one that is gone from one node, and its
/// successor on another.
type Key = (usize, String);

/// The positions of all objects in a list, which it changes itself: an eviction of thousands of pods must not search the
/// list for each of them.
#[derive(Debug, Default)]
pub(super) struct Index {
    positions: HashMap<Key, usize>,
    keys: Vec<Key>,
}

impl Index {
    /// The positions of objects that are in a list already, by their names in its order.
    pub(super) fn of(feed: usize, names: impl Iterator<Item = String>) -> Self {
        let keys: Vec<Key> = names.map(|name| (feed, name)).collect();
        let numbered = keys.iter().cloned().zip(0..);
        Self {
            positions: numbered.collect(),
            keys,
        }
    }

    /// Puts `object` in the position of the one of its name, or at the end.
    pub(super) fn put<T>(&mut self, list: &mut Vec<T>, feed: usize, name: String, object: T) {
        let key = (feed, name);
        let known = self.positions.get(&key);
        if let Some(old) = known.and_then(|position| list.get_mut(*position)) {
            *old = object;
        } else {
            self.positions.insert(key.clone(), list.len());
            self.keys.push(key);
            list.push(object);
        }
    }

    /// Takes the object of that name out of the list, if it is there.
    pub(super) fn take<T>(&mut self, list: &mut Vec<T>, feed: usize, name: String) -> Option<T> {
        let position = self.positions.remove(&(feed, name))?;
        // `keys` and `list` are changed in the same way, so a position means the same in both.
        self.keys.swap_remove(position);
        if let Some(moved) = self.keys.get(position) {
            self.positions.insert(moved.clone(), position);
        }
        Some(list.swap_remove(position))
    }

    /// Takes all objects of a feed out of the list.
    pub(super) fn clear<T>(&mut self, list: &mut Vec<T>, feed: usize) {
        // Collected first, because taking one object moves another.
        let keys = self.keys.iter().filter(|(from, _)| *from == feed);
        for (_, name) in keys.cloned().collect::<Vec<Key>>() {
            self.take(list, feed, name);
        }
    }
}

/// Maximum number of nodes that are watched one by one.
const NODE_BY_NODE: usize = 24;
/// Pods are asked for by name once in so long at most.
const INTERVAL: Duration = Duration::from_secs(1);

/// The places to watch.
fn places(wanted: &ClaimConsumers, snapshot: &Snapshot) -> Vec<FeedScope> {
    match wanted.nodes(snapshot) {
        // A PodGroup does not name its pods, so only a list of all pods shows its members.
        Some(nodes) if nodes.len() <= NODE_BY_NODE && wanted.groups.is_empty() => {
            let nodes = nodes.iter();
            nodes
                .map(|node| FeedScope::Node(node.as_str().to_owned()))
                .collect()
        }
        Some(_) | None => vec![FeedScope::All],
    }
}

impl Watched {
    /// Keeps, of now on, the pods that use a device that `selects` chooses.
    ///
    /// To be called before every look, since the claims name the pods, and they change. Costs nothing
    /// while all pods are in places that are watched. Without permission to read them, the reading has a gap.
    ///
    /// # Errors
    ///
    /// When pods cannot be read, unless permission is missing.
    pub async fn keep_pods(
        &mut self,
        selects: impl Fn(&DeviceId) -> bool,
    ) -> Result<(), ClusterError> {
        if self.watches(Kind::Pod, &FeedScope::All) {
            return Ok(());
        }
        let wanted = ClaimConsumers::new(&self.reading.snapshot, selects);
        for place in places(&wanted, &self.reading.snapshot) {
            self.watch_pods(place).await?;
        }
        if !self.missing(&wanted).is_empty() {
            self.watch_pods(FeedScope::All).await?;
        }
        if self.confined {
            self.ask(self.missing(&wanted)).await?;
        }
        Ok(())
    }

    /// True if some pods are read each time anew, since they cannot be watched.
    pub fn asks_by_name(&self) -> bool {
        !self.by_name.is_empty()
    }

    /// True if the end of some pods cannot be seen, so that force deletions are not detected.
    pub fn misses_force_deletions(&self) -> bool {
        self.confined || self.pods_are_polled
    }

    /// Watches the pods in a place, unless that is done or not allowed.
    async fn watch_pods(&mut self, place: FeedScope) -> Result<(), ClusterError> {
        if self.confined || self.watches(Kind::Pod, &place) {
            return Ok(());
        }
        match self.open(Kind::Pod, place).await {
            // The permission to list does not depend on the node, so no other list is tried.
            Err(ClusterError::Forbidden { permission, .. }) => {
                self.confined = true;
                self.forget_pods();
                self.client.notice(&format!(
                    "no permission to {permission}: reading each pod by its name; force deletions are not detected"
                ));
                Ok(())
            }
            result => result,
        }
    }

    /// Those of `wanted` that are not among the pods of the reading and may still exist: no other pod is ever given the
    /// UID of one that is gone.
    fn missing(&self, wanted: &ClaimConsumers) -> ClaimConsumers {
        let known = self.reading.snapshot.pods.iter().map(|pod| &pod.uid);
        let known: std::collections::BTreeSet<_> = known.filter(|_| !self.confined).collect();
        let mut missing = ClaimConsumers::default();
        for (name, uids) in &wanted.pods {
            for uid in uids {
                if !known.contains(uid) && !self.gone.contains(uid) {
                    missing.add(name.clone(), uid.clone());
                }
            }
        }
        missing.groups.clone_from(&wanted.groups);
        missing
    }

    async fn ask(&mut self, wanted: ClaimConsumers) -> Result<(), ClusterError> {
        let is_fresh = self.asked.is_some_and(|at| at.elapsed() < INTERVAL);
        let Some(version) = self.served.version_of(Kind::Pod) else {
            return Ok(());
        };
        if is_fresh && wanted == self.by_name {
            return Ok(());
        }
        let reader = Reader {
            client: &self.client,
            version,
            wanted: &wanted,
            note: &|_| {},
        };
        let mut found = Found::default();
        let names = wanted.pods.keys().collect();
        reader.by_name(names, &mut found).await?;
        reader.in_namespaces(&self.gone, &mut found).await?;
        // After a gap, a pod that was not found may still exist.
        if found.gap.is_none() {
            let pods = found.pods.values();
            let there: std::collections::BTreeSet<_> = pods.map(|pod| &pod.uid).collect();
            let uids = wanted.uids().map(|(_, uid)| uid);
            let gone: Vec<_> = uids.filter(|uid| !there.contains(uid)).cloned().collect();
            self.gone.extend(gone);
        }
        self.reading.snapshot.pods = found.pods.into_values().collect();
        self.by_name = wanted;
        self.asked = Some(Instant::now());
        for warning in found.warnings {
            if !self.reading.warnings.contains(&warning) {
                self.reading.warnings.push(warning);
            }
        }
        let gaps = &mut self.reading.gaps;
        gaps.retain(|gap| gap.what != Kind::Pod.plural());
        gaps.extend(found.gap);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However objects come and go, the list holds the newest state of each that is there, by feed and name.
        #[test]
        fn list_is_a_map_by_name(steps in proptest::collection::vec((0..2_usize, 0..6_u8, any::<bool>()), 0..60)) {
            let mut index = Index::default();
            let mut list = Vec::new();
            let mut map = std::collections::BTreeMap::new();
            for (number, (feed, name, there)) in steps.into_iter().enumerate() {
                let name = format!("object-{name}");
                if there {
                    index.put(&mut list, feed, name.clone(), (feed, name.clone(), number));
                    map.insert((feed, name), number);
                } else {
                    index.take(&mut list, feed, name.clone());
                    map.remove(&(feed, name));
                }
            }
            let mut found = list.clone();
            found.sort_unstable();
            let expected: Vec<_> = map.iter().map(|((feed, name), number)| (*feed, name.clone(), *number)).collect();
            prop_assert_eq!(found, expected);
            index.clear(&mut list, 0);
            prop_assert!(list.iter().all(|(feed, _, _)| *feed == 1));
            prop_assert_eq!(list.len(), map.keys().filter(|(feed, _)| *feed == 1).count());
        }
    }
}
