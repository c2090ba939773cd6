//! Classes that have to be decided together: regions.
//!
//! Two classes belong together where a coupling or a pod counts units of both. What is taken of
//! one region changes nothing about the others but how many units are left to take.

use std::collections::BTreeMap;

use super::classes::{Classes, UnitClass};

/// What units of several classes may have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Common {
    /// A coupling.
    Coupling(usize),
    /// A pod that several units evict.
    Pod(usize),
}

/// All that a class may have in common with others.
pub(super) fn commons(class: &UnitClass, classes: &Classes) -> Vec<Common> {
    let counted = class.counted.iter();
    let mut commons: Vec<Common> = counted
        .map(|(coupling, _)| Common::Coupling(*coupling))
        .collect();
    for pod in &class.shared {
        commons.push(Common::Pod(*pod));
        let couplings = classes.couplings_of_pods.get(*pod).into_iter().flatten();
        commons.extend(couplings.map(|coupling| Common::Coupling(*coupling)));
    }
    commons.sort_unstable();
    commons.dedup();
    commons
}

/// The regions: places of classes, those with more in common next to each other.
pub(super) fn regions(classes: &Classes) -> Vec<Vec<usize>> {
    let mut sets = DisjointSets::new(classes.all.len());
    let mut first: BTreeMap<Common, usize> = BTreeMap::new();
    let mut keys = Vec::with_capacity(classes.all.len());
    for (place, class) in classes.all.iter().enumerate() {
        let commons = commons(class, classes);
        for common in &commons {
            let known = *first.entry(*common).or_insert(place);
            sets.join(place, known);
        }
        keys.push(commons);
    }
    let mut regions: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for place in 0..classes.all.len() {
        regions.entry(sets.root(place)).or_default().push(place);
    }
    let mut regions: Vec<Vec<usize>> = regions.into_values().collect();
    for region in &mut regions {
        // What is in common is remembered from its first class to its last: the nearer they are, the less there is
        // to remember at a time.
        region.sort_by(|left, right| {
            let key = |place: &usize| (keys.get(*place), *place);
            key(left).cmp(&key(right))
        });
    }
    regions
}

/// Sets of places without common members.
struct DisjointSets(Vec<usize>);

impl DisjointSets {
    fn new(len: usize) -> Self {
        Self((0..len).collect())
    }

    /// The place that stands for the set of this one.
    fn root(&mut self, place: usize) -> usize {
        let mut at = place;
        while let Some(&above) = self.0.get(at)
            && above != at
        {
            // Halves the way for whoever asks next.
            let next = self.0.get(above).copied().unwrap_or(above);
            if let Some(entry) = self.0.get_mut(at) {
                *entry = next;
            }
            at = next;
        }
        at
    }

    fn join(&mut self, left: usize, right: usize) {
        let (left, right) = (self.root(left), self.root(right));
        // The lower one stays, so that regions are in the order of their first classes.
        let (above, below) = (left.min(right), left.max(right));
        if let Some(entry) = self.0.get_mut(below) {
            *entry = above;
        }
    }
}
