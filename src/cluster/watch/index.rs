//! Positions of the objects in an unordered list.

use std::collections::HashMap;

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
