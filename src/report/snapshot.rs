//! Warnings and gaps of a saved snapshot.

use super::metadata::{Affects, Incomplete, Warning};
use crate::model;

/// The warnings about a snapshot and its gaps, a line each.
pub fn lines(warnings: &[model::Warning], gaps: &[model::Gap]) -> Vec<String> {
    let warnings = warnings.iter().map(|warning| Warning::from(warning).line());
    let gaps = incomplete(gaps).into_iter().map(|gap| gap.line());
    warnings.chain(gaps).collect()
}

/// The gaps that can change an answer. Kinds that the input lacks with the same consequence are one.
fn incomplete(gaps: &[model::Gap]) -> Vec<Incomplete> {
    let mut incomplete: Vec<Incomplete> = Vec::new();
    let mut lacking: Vec<&'static str> = Vec::new();
    for gap in gaps {
        let affects = match gap.affects {
            model::Affects::Evictions => Affects::Evictions,
            model::Affects::Details => Affects::Details,
            // No answer from the snapshot depends on this.
            model::Affects::Nothing => continue,
        };
        let lacks = gap
            .kind()
            .filter(|kind| *gap == model::Gap::not_in_input(*kind));
        match lacks.map(model::Kind::without) {
            // The first kind that has this consequence names all of them.
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
    incomplete
}

/// Missing kinds whose absence has the same consequence.
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
        let incomplete = incomplete(&gaps);
        let told = incomplete.iter();
        let told: Vec<&str> = told.map(|gap| &*gap.missing).collect();
        assert_eq!(told, ["pods", "replicasets, jobs", "nodes"]);
        let why = &incomplete[1].message;
        assert!(
            why.starts_with("the input contains no ReplicaSet, no Job: "),
            "{why}"
        );
        assert_eq!(incomplete[0].affects, super::Affects::Evictions);
    }
}
