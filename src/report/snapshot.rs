//! Warnings and gaps of a saved snapshot.

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
    /// gap counts that can change an answer. Kinds that the input lacks with the same consequence are
    /// told together.
    #[must_use]
    pub fn new(warnings: &[model::Warning], gaps: &[model::Gap]) -> Self {
        let mut incomplete: Vec<Incomplete> = Vec::new();
        let mut lacking: Vec<&'static str> = Vec::new();
        for gap in gaps {
            let affects = match gap.affects {
                model::Affects::Evictions => Affects::Evictions,
                model::Affects::Details => Affects::Details,
                // Whatever the snapshot is asked later, nothing of it depends on this.
                model::Affects::Nothing => continue,
            };
            let lacks = gap
                .kind()
                .filter(|kind| *gap == model::Gap::not_in_input(*kind));
            match lacks.map(model::Kind::without) {
                // Said already, together with the first kind that has this consequence.
                Some(without) if lacking.contains(&without) => continue,
                Some(without) => {
                    lacking.push(without);
                    incomplete.push(without_kinds(gaps, without, affects));
                }
                None => incomplete.push(Incomplete {
                    missing: gap.what.clone(),
                    message: gap.why.clone(),
                    affects,
                }),
            }
        }
        Self {
            warnings: warnings.iter().map(Warning::from).collect(),
            incomplete,
        }
    }
}

/// That the input lacks all kinds the absence of which means the same.
fn without_kinds(gaps: &[model::Gap], without: &str, affects: Affects) -> Incomplete {
    let counted = gaps
        .iter()
        .filter(|gap| gap.affects != model::Affects::Nothing);
    let kinds: Vec<model::Kind> = counted
        .filter_map(model::Gap::kind)
        .filter(|kind| kind.without() == without)
        .filter(|kind| gaps.contains(&model::Gap::not_in_input(*kind)))
        .collect();
    let plurals: Vec<&str> = kinds.iter().map(|kind| kind.plural()).collect();
    let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    Incomplete {
        missing: plurals.join(", "),
        message: format!("the input contains no {}: {without}", names.join(", no ")),
        affects,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Affects, Gap, Kind};

    #[test]
    fn what_the_input_lacks_is_told_once_for_each_consequence() {
        let of_nobody = Gap {
            affects: Affects::Nothing,
            ..Gap::not_in_input(Kind::CronJob)
        };
        let gaps = [
            Gap::not_in_input(Kind::Pod),
            Gap::not_in_input(Kind::ReplicaSet),
            Gap::of(Kind::Node, "denied"),
            of_nobody,
            Gap::not_in_input(Kind::Job),
        ];
        let account = SnapshotAccount::new(&[], &gaps);
        let told = account.incomplete.iter();
        let told: Vec<&str> = told.map(|gap| &*gap.missing).collect();
        assert_eq!(told, ["pods", "replicasets, jobs", "nodes"]);
        let why = &account.incomplete[1].message;
        assert!(
            why.starts_with("the input contains no ReplicaSet, no Job: "),
            "{why}"
        );
        assert_eq!(account.incomplete[0].affects, super::Affects::Evictions);
    }
}
