//! What is there to say about a snapshot, beside the objects in it?

use serde::Serialize;

use super::answer::Answer;
use super::metadata::{Affects, Incomplete, Warning};
use super::table::{Section, View};
use crate::model;

/// What is odd about a snapshot, and what it lacks. The objects themselves are written as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SnapshotAccount {
    warnings: Vec<Warning>,
    incomplete: Vec<Incomplete>,
}

impl SnapshotAccount {
    /// Of a snapshot with these oddities and gaps. Nobody knows yet what it will be asked, so that every
    /// gap counts.
    #[must_use]
    pub fn new(warnings: &[model::Warning], gaps: &[model::Gap]) -> Self {
        let incomplete = gaps.iter().map(|gap| Incomplete {
            what: gap.what.clone(),
            why: gap.why.clone(),
            affects: match gap.affects {
                model::Affects::Evictions => Affects::Evictions,
                model::Affects::Details | model::Affects::Nothing => Affects::Details,
            },
        });
        Self {
            warnings: warnings.iter().map(Warning::from).collect(),
            incomplete: incomplete.collect(),
        }
    }
}

impl View for SnapshotAccount {
    fn sections(&self) -> Vec<Section> {
        Vec::new()
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Answer for SnapshotAccount {
    fn subject(&self) -> &'static str {
        "snapshot"
    }

    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    fn says_what_is_not_known(&self) -> bool {
        false
    }
}
