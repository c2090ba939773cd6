//! Positions of the objects in an unordered list.

use std::collections::HashMap;
use std::sync::Arc;

/// From which feed an object comes, and its name with the namespace where there is one.
///
/// Two feeds may know an object of the same name for a moment: one that is gone from one node, and its
/// successor on another.
type Key = (usize, Arc<str>);

/// The places of all objects in a list, which it changes itself.
#[derive(Debug, Default)]
pub(super) struct Index {
    places: HashMap<Key, usize>,
    keys: Vec<Key>,
}

impl Index {
    /// The places of objects that are in a list already, by their names in its order.
    pub(super) fn of(feed: usize, names: impl Iterator<Item = String>) -> Self {
        let mut index = Self::default();
        for name in names {
            index.add((feed, name.into()));
        }
        index
    }

    /// Puts `object` in the place of the one of its name, or at the end.
    pub(super) fn put<T>(&mut self, list: &mut Vec<T>, feed: usize, name: &str, object: T) {
        let key = (feed, Arc::from(name));
        match self.places.get(&key).and_then(|place| list.get_mut(*place)) {
            Some(place) => *place = object,
            None => {
                self.add(key);
                list.push(object);
            }
        }
    }

    /// Takes the object of that name out of the list, if it is there.
    pub(super) fn take<T>(&mut self, list: &mut Vec<T>, feed: usize, name: &str) -> Option<T> {
        let place = self.places.remove(&(feed, Arc::from(name)))?;
        // `keys` and `list` are changed in the same way, so a place means the same in both.
        self.keys.swap_remove(place);
        if let Some(moved) = self.keys.get(place) {
            self.places.insert(moved.clone(), place);
        }
        Some(list.swap_remove(place))
    }

    /// Takes all objects of a feed out of the list.
    pub(super) fn clear<T>(&mut self, list: &mut Vec<T>, feed: usize) {
        // Collected first, because taking one object moves another.
        let names: Vec<Arc<str>> = self
            .keys
            .iter()
            .filter(|(from, _)| *from == feed)
            .map(|(_, name)| Arc::clone(name))
            .collect();
        for name in names {
            self.take(list, feed, &name);
        }
    }

    /// The feeds from which the objects come, in the order of the list.
    pub(super) fn feeds(&self) -> impl Iterator<Item = usize> {
        self.keys.iter().map(|(feed, _)| *feed)
    }

    fn add(&mut self, key: Key) {
        self.places.insert(key.clone(), self.keys.len());
        self.keys.push(key);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn successors_on_another_node_outlive_their_predecessors() {
        let mut index = Index::default();
        let mut list = Vec::new();
        index.put(&mut list, 0, "ml/train-0", "old");
        index.put(&mut list, 1, "ml/train-0", "new");
        index.put(&mut list, 0, "ml/train-0", "terminating");
        assert_eq!(index.take(&mut list, 0, "ml/train-0"), Some("terminating"));
        assert_eq!(list, ["new"]);
        assert_eq!(index.take(&mut list, 0, "ml/train-0"), None);
    }

    proptest! {
        /// However objects come and go, the list holds the newest state of each that is there.
        #[test]
        fn list_is_a_map_by_name(steps in proptest::collection::vec((0..2_usize, 0..6_u8, any::<bool>()), 0..60)) {
            let mut index = Index::default();
            let mut list = Vec::new();
            let mut map = std::collections::BTreeMap::new();
            for (number, (feed, name, there)) in steps.into_iter().enumerate() {
                let name = format!("object-{name}");
                if there {
                    index.put(&mut list, feed, &name, (feed, name.clone(), number));
                    map.insert((feed, name), number);
                } else {
                    index.take(&mut list, feed, &name);
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
