//! Workloads whose pods several units of a drain would take at the same time.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::Uid;

/// The workloads that each unit takes pods of.
#[derive(Clone, Debug, Default)]
pub struct OccupiedWorkloads(BTreeMap<String, BTreeSet<Uid>>);

impl OccupiedWorkloads {
    /// Notes the workloads that `unit` takes pods of now.
    pub fn occupy(&mut self, unit: &str, workloads: BTreeSet<Uid>) {
        self.0.insert(unit.to_owned(), workloads);
    }

    /// Notes that `unit` is over.
    pub fn release(&mut self, unit: &str) {
        self.0.remove(unit);
    }

    /// The workloads that units other than `unit` take pods of.
    #[must_use]
    pub fn beside(&self, unit: &str) -> BTreeSet<Uid> {
        let others = self.0.iter().filter(|(name, _)| *name != unit);
        others
            .flat_map(|(_, workloads)| workloads.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_kept_from_workloads_of_others_until_these_are_over() {
        let set =
            |names: &[&str]| -> BTreeSet<Uid> { names.iter().map(|&uid| uid.into()).collect() };
        let mut occupied = OccupiedWorkloads::default();
        assert_eq!(occupied.beside("one"), set(&[]));
        occupied.occupy("one", set(&["web", "api"]));
        occupied.occupy("two", set(&["db"]));
        assert_eq!(occupied.beside("one"), set(&["db"]));
        assert_eq!(occupied.beside("two"), set(&["api", "web"]));
        occupied.occupy("one", set(&["api"]));
        assert_eq!(occupied.beside("three"), set(&["api", "db"]));
        occupied.release("one");
        assert_eq!(occupied.beside("two"), set(&[]));
    }
}
