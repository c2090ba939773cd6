//! Gaps of an answer, and the numbers that they make uncertain.
//!
//! Takes the gaps of a reading and of the engine's answer. A gap makes only those numbers uncertain
//! that are counted from what is missing: without the pods it is still known which devices a taint
//! selects, and without the slices, in most versions, still whom it evicts.

use crate::engine::Semantics;
use crate::model::{Affects, Count, Counted, Gap, Kind};
use crate::naming::phrase::each_once;

/// Something that reports count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CountSubject {
    /// Selected devices in slices.
    Published,
    /// Selected devices in claims, and the claims that hold them.
    Allocated,
    /// Selected devices, in slices or in claims.
    Selected,
    /// The pods that use selected devices, and which of them the proposed taints evict.
    Pods,
    /// The budgets that their loss would overdraw.
    Budgets,
    /// The workloads that they belong to, and which of these have none left.
    Workloads,
    /// What else could serve those who lose a device.
    Replacements,
    /// When the evicted ones leave: other taints may drive them off earlier.
    Times,
    /// Which devices are published, and on which nodes they are.
    Inventory,
    /// Which claims hold a device, and for whom; claims name their users.
    Holders,
    /// Which taints a device has.
    Taints,
    /// The state of the nodes on which pods run, from which pods on nodes that are not ready are counted.
    Nodes,
}

/// In which direction a count may be wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CountUncertainty {
    /// Something could not be read, so that there may be more.
    may_be_more: bool,
    /// Something could not be evaluated and was counted in, so that there may be fewer.
    may_be_fewer: bool,
}

/// The gaps of an answer, and what they mean for its numbers.
#[derive(Clone, Debug)]
pub struct ReportCompleteness<'a> {
    gaps: Vec<&'a Gap>,
    semantics: Semantics,
}

impl<'a> ReportCompleteness<'a> {
    /// What is known with these gaps. Gaps that concern nothing of the question are left out, and
    /// equal ones count once.
    #[must_use]
    pub fn new(gaps: impl IntoIterator<Item = &'a Gap>, semantics: &Semantics) -> Self {
        let mut kept: Vec<&'a Gap> = Vec::new();
        for gap in gaps {
            if gap.affects != Affects::Nothing && !kept.contains(&gap) {
                kept.push(gap);
            }
        }
        Self {
            gaps: kept,
            semantics: *semantics,
        }
    }

    /// The gaps, in the order in which they were met.
    pub fn gaps(&self) -> impl Iterator<Item = &'a Gap> + '_ {
        self.gaps.iter().copied()
    }

    /// What `number`, which was counted, says about `subject`.
    #[must_use]
    pub fn count(&self, subject: CountSubject, number: usize) -> Count {
        let doubt = self.doubt(subject);
        match (doubt.may_be_fewer, doubt.may_be_more) {
            (false, false) => Count::known(number),
            (false, true) => Count::at_least(number),
            (true, false) => Count::between(0, number).having_counted(number),
            (true, true) => Count::at_least(0).having_counted(number),
        }
    }

    /// Whether nothing that `subject` is counted from is missing.
    #[must_use]
    pub fn is_complete(&self, subject: CountSubject) -> bool {
        !self.gaps.iter().any(|gap| self.concerns(gap, subject))
    }

    /// The names of what is missing for any of `subjects`, such as `resourceclaims, pods`; empty when
    /// nothing is.
    #[must_use]
    pub fn missing(&self, subjects: &[CountSubject]) -> String {
        let concerned = |gap: &&&Gap| subjects.iter().any(|subject| self.concerns(gap, *subject));
        let missing = self.gaps.iter().filter(concerned);
        each_once(missing.map(|gap| gap.what.clone())).join(", ")
    }

    /// How far the answer depends on `gap`; a version may depend on more than others.
    #[must_use]
    pub fn affects(&self, gap: &Gap) -> Affects {
        self.semantics.affects(gap)
    }

    fn doubt(&self, subject: CountSubject) -> CountUncertainty {
        let mut doubt = CountUncertainty::default();
        for gap in self.gaps.iter().filter(|gap| self.concerns(gap, subject)) {
            match gap.kind() {
                // What was not read can only add to what was counted.
                Some(_) => doubt.may_be_more = true,
                // The engine takes what it cannot evaluate as selected.
                None => doubt.may_be_fewer = true,
            }
        }
        doubt
    }

    fn concerns(&self, gap: &Gap, subject: CountSubject) -> bool {
        let is = |subjects: &[CountSubject]| subjects.contains(&subject);
        if gap.what == Gap::REPLACEMENTS {
            return subject == CountSubject::Replacements;
        }
        match (gap.kind().map(Kind::counted), gap.affects) {
            (_, Affects::Nothing) | (None, Affects::Details) => false,
            // Before 1.35 a rule hits only devices that a slice publishes, so that pods depend on slices too;
            // later versions match the allocation result.
            (Some(Counted::Slices), _) => {
                is(&[
                    CountSubject::Published,
                    CountSubject::Selected,
                    CountSubject::Times,
                    CountSubject::Budgets,
                    CountSubject::Replacements,
                    CountSubject::Inventory,
                    CountSubject::Taints,
                ]) || (is(&[CountSubject::Pods, CountSubject::Workloads])
                    && self.affects(gap) == Affects::Evictions)
            }
            (Some(Counted::Claims), _) => !is(&[
                CountSubject::Published,
                CountSubject::Inventory,
                CountSubject::Taints,
            ]),
            // Other rules may evict pods earlier and taint devices that would be free; whom these taints
            // evict stays.
            (Some(Counted::Rules), _) => is(&[
                CountSubject::Times,
                CountSubject::Budgets,
                CountSubject::Replacements,
                CountSubject::Taints,
            ]),
            (Some(Counted::Pods), _) => is(&[
                CountSubject::Pods,
                CountSubject::Budgets,
                CountSubject::Workloads,
            ]),
            (Some(Counted::Budgets), _) => subject == CountSubject::Budgets,
            (Some(Counted::Workloads), _) => subject == CountSubject::Workloads,
            (Some(Counted::Nodes), _) => subject == CountSubject::Nodes,
            // Nothing is counted from what answers can do without.
            (Some(Counted::Nothing), _) => false,
            // What cannot be evaluated may select any device, which concerns all but these two.
            (None, _) => !is(&[CountSubject::Inventory, CountSubject::Holders]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::semantics;

    fn gap(what: &str, affects: Affects) -> Gap {
        Gap {
            what: what.to_owned(),
            why: "denied".to_owned(),
            affects,
        }
    }

    fn missing(kind: Kind) -> Gap {
        gap(kind.plural(), kind.affects())
    }

    fn counts(gaps: &[Gap], minor: u32) -> [String; 5] {
        let semantics = semantics(minor);
        let completeness = ReportCompleteness::new(gaps, &semantics);
        [
            CountSubject::Published,
            CountSubject::Allocated,
            CountSubject::Selected,
            CountSubject::Pods,
            CountSubject::Times,
        ]
        .map(|subject| completeness.count(subject, 2).to_string())
    }

    #[test]
    fn what_is_missing_for_several_reasons_is_named_once() {
        let gaps = [
            missing(Kind::Pod),
            missing(Kind::ResourceClaim),
            missing(Kind::Pod),
        ];
        let semantics = semantics(37);
        let completeness = ReportCompleteness::new(&gaps, &semantics);
        assert_eq!(
            completeness.missing(&[CountSubject::Pods]),
            "pods, resourceclaims"
        );
    }

    #[test]
    fn a_number_is_uncertain_only_where_what_it_is_counted_from_is_missing() {
        for (gaps, minor, shown) in [
            (vec![], 37, ["2", "2", "2", "2", "2"]),
            (
                vec![missing(Kind::ResourceSlice)],
                37,
                ["2+", "2", "2+", "2", "2+"],
            ),
            (
                vec![missing(Kind::ResourceSlice)],
                34,
                ["2+", "2", "2+", "2+", "2+"],
            ),
            (
                vec![missing(Kind::ResourceClaim)],
                37,
                ["2", "2+", "2+", "2+", "2+"],
            ),
            (
                vec![missing(Kind::DeviceTaintRule)],
                37,
                ["2", "2", "2", "2", "2+"],
            ),
            (vec![missing(Kind::Pod)], 37, ["2", "2", "2", "2+", "2"]),
            (
                vec![gap("devices of rule drain", Affects::Evictions)],
                34,
                ["0-2", "0-2", "0-2", "0-2", "0-2"],
            ),
            (
                vec![
                    gap("devices of rule drain", Affects::Evictions),
                    missing(Kind::Pod),
                ],
                34,
                ["0-2", "0-2", "0-2", "<unknown>", "0-2"],
            ),
            (
                vec![gap("nodes", Affects::Details), gap("x", Affects::Nothing)],
                37,
                ["2", "2", "2", "2", "2"],
            ),
        ] {
            assert_eq!(counts(&gaps, minor), shown, "{gaps:?} in 1.{minor}");
        }
    }

    #[test]
    fn what_concerns_nothing_is_no_gap_of_the_answer_and_what_occurs_twice_is_one() {
        let gaps = [
            gap("x", Affects::Nothing),
            missing(Kind::Pod),
            missing(Kind::Pod),
        ];
        let completeness = ReportCompleteness::new(&gaps, &semantics(37));
        assert_eq!(completeness.gaps().count(), 1);
        assert_eq!(completeness.missing(&[CountSubject::Pods]), "pods");
        assert!(completeness.is_complete(CountSubject::Selected));
    }

    #[test]
    fn slices_decide_about_evictions_where_only_published_devices_are_reached() {
        let gaps = [missing(Kind::ResourceSlice)];
        let affects = |minor| ReportCompleteness::new(&gaps, &semantics(minor)).affects(&gaps[0]);
        assert_eq!(affects(34), Affects::Evictions);
        assert_eq!(affects(37), Affects::Details);
    }

    #[test]
    fn a_kind_from_which_nothing_is_counted_leaves_no_number_open() {
        let counts_nothing = |kind: &Kind| kind.counted() == Counted::Nothing;
        let mut kinds = Kind::ALL.into_iter().filter(counts_nothing).peekable();
        assert!(kinds.peek().is_some());
        for kind in kinds {
            let gap = gap(kind.plural(), Affects::Details);
            let completeness = semantics(37);
            let completeness = ReportCompleteness::new([&gap], &completeness);
            for subject in [
                CountSubject::Selected,
                CountSubject::Pods,
                CountSubject::Budgets,
                CountSubject::Replacements,
            ] {
                assert!(completeness.is_complete(subject), "{kind:?} {subject:?}");
            }
        }
    }
}
