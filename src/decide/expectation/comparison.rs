//! Comparison of an impact with the approved one (`--expect`).
//!
//! Compares an impact that the user has read and kept with the current one. Less is welcome: only pods that were not in
//! it, and evictions that come earlier, are objections.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use super::refusal::ApprovalRefusal;
use crate::assess::{ImpactFacts, PodFacts};
use crate::engine::ProposedTaint;
use crate::naming::device;

/// Objections to a change that has the impact `found` where `known` was approved.
pub fn objections(known: &ImpactFacts, found: &ImpactFacts) -> Vec<ApprovalRefusal> {
    let mut objections: Vec<ApprovalRefusal> = other_taints(known, found).into_iter().collect();
    let expected: BTreeMap<&str, &PodFacts> =
        known.evicted().map(|pod| (pod.uid.as_str(), pod)).collect();
    // By UID: a later pod of the same name was not in the report that was approved.
    for pod in found.evicted() {
        objections.extend(match expected.get(pod.uid.as_str()) {
            None => Some(ApprovalRefusal::NewPod {
                pod: pod.name.to_string(),
            }),
            Some(expected) => earlier(expected, pod),
        });
    }
    let missing: BTreeSet<&str> = known.gaps.iter().map(|gap| gap.what.as_str()).collect();
    // Missing details change nothing about who is evicted, and so do not refuse what was approved.
    for gap in found.decisive_gaps() {
        if !missing.contains(gap.what.as_str()) {
            let what = gap.what.clone();
            objections.push(ApprovalRefusal::LessKnown { what });
        }
    }
    objections
}

fn other_taints(known: &ImpactFacts, found: &ImpactFacts) -> Option<ApprovalRefusal> {
    let expected = described(&known.taints);
    let described = described(&found.taints);
    let names = |facts: &ImpactFacts| -> BTreeSet<String> {
        let rules = facts.taints.iter().filter_map(|taint| taint.rule.as_ref());
        rules.map(ToString::to_string).collect()
    };
    // A report from before the rule was made has no name to compare.
    let (named, wanted) = (names(known), names(found));
    if expected == described && (named.is_empty() || wanted.is_empty() || named == wanted) {
        return None;
    }
    let with_rules = |taints: BTreeSet<String>, rules: BTreeSet<String>| -> Vec<String> {
        taints
            .into_iter()
            .chain(rules.into_iter().map(|rule| format!("rule {rule}")))
            .collect()
    };
    Some(ApprovalRefusal::OtherTaints {
        expected: with_rules(expected, named),
        found: with_rules(described, wanted),
    })
}

/// Taints and their devices, without times and names.
fn described(taints: &[ProposedTaint]) -> BTreeSet<String> {
    let one = |proposed: &ProposedTaint| {
        let taint = &proposed.taint;
        match &proposed.selector {
            None => format!("{taint} without a selector"),
            Some(selector) => format!("{taint} on {}", device::format(selector)),
        }
    };
    taints.iter().map(one).collect()
}

/// Objection to a pod that leaves earlier than expected: at an earlier time, or with less time left from the moment of
/// the change. An eviction that only comes nearer because time passes is not earlier.
fn earlier(expected: &PodFacts, found: &PodFacts) -> Option<ApprovalRefusal> {
    // Both the time and the delay, since a report that waited for approval has only delays that are over.
    let (then, now) = (expected.eviction_time?, found.eviction_time?);
    let delay = |pod: &PodFacts| pod.evict_in_seconds.unwrap_or_default().max(0);
    let (expected, left) = (delay(expected), delay(found));
    (now != then && left < expected).then(|| ApprovalRefusal::Earlier {
        pod: found.name.to_string(),
        expected: SignedDuration::from_secs(expected),
        found: SignedDuration::from_secs(left),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Outcome;
    use crate::model::{Affects, Gap, Kind};
    use crate::report::testing::Example;

    fn objections_to(found: &ImpactFacts) -> Vec<ApprovalRefusal> {
        objections(&Example::new().facts(), found)
    }

    #[test]
    fn a_new_pod_an_earlier_eviction_and_another_taint_are_not() {
        let mut found = Example::new().facts();
        let later = found
            .pods
            .iter_mut()
            .find(|pod| pod.outcome == Outcome::EvictedLater)
            .unwrap();
        later.eviction_time = Some(crate::report::testing::now());
        later.evict_in_seconds = Some(0);
        let now = found
            .pods
            .iter_mut()
            .find(|pod| pod.outcome == Outcome::EvictedNow)
            .unwrap();
        now.uid = "born later".into();
        found.taints[0].taint.value = "other".to_owned();
        let objections = objections_to(&found);
        assert_eq!(objections.len(), 3, "{objections:?}");
        let texts: Vec<String> = objections.iter().map(ToString::to_string).collect();
        assert!(
            texts
                .iter()
                .any(|text| text.contains("would be evicted in 0s")),
            "{texts:?}"
        );
        assert!(
            texts
                .iter()
                .any(|text| text.contains("does not list that eviction")),
            "{texts:?}"
        );
    }

    #[test]
    fn the_rule_of_a_report_has_to_be_the_same_where_both_have_one() {
        let with = |rule: Option<&str>| {
            let mut facts = Example::new().facts();
            facts.taints[0].rule = rule.map(Into::into);
            facts
        };
        for (before, now, is_same) in [
            (Some("a"), Some("a"), true),
            (None, Some("a"), true),
            (Some("a"), None, true),
            (Some("a"), Some("b"), false),
        ] {
            let objections = objections(&with(before), &with(now));
            assert_eq!(objections.is_empty(), is_same, "{before:?} {now:?}");
        }
    }

    #[test]
    fn what_could_be_read_then_has_to_be_read_now_where_it_decides_who_is_evicted() {
        let known = Example::new().facts();
        let without = |affects| {
            let gap = Gap {
                affects,
                ..Gap::of(Kind::Pod, "access denied")
            };
            ImpactFacts {
                gaps: vec![gap],
                ..known.clone()
            }
        };
        let (unknown, details) = (without(Affects::Evictions), without(Affects::Details));
        assert_eq!(objections(&known, &unknown).len(), 1);
        assert_eq!(objections(&known, &details), []);
        assert_eq!(objections(&unknown, &unknown), []);
        assert_eq!(
            objections(&details, &unknown),
            [],
            "it was missing then, too"
        );
    }

    #[test]
    fn an_eviction_that_time_brings_nearer_is_not_earlier() {
        let mut found = Example::new().facts();
        for pod in &mut found.pods {
            pod.evict_in_seconds = pod.evict_in_seconds.map(|seconds| seconds - 60);
        }
        assert_eq!(objections_to(&found), []);
        for pod in &mut found.pods {
            let later = |time| time + SignedDuration::from_secs(600);
            pod.eviction_time = pod.eviction_time.map(later);
            pod.evict_in_seconds = pod.evict_in_seconds.map(|seconds| seconds + 60);
        }
        assert_eq!(objections_to(&found), []);
    }
}
