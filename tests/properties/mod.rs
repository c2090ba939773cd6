//! Laws that hold for every cluster, from the objects to the report.
//!
//! Each was checked against the controller first: that one more toleration only ever helps, for
//! example, sounds right and is wrong, since of several that match the shortest counts.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kubectl_devicetaint::assess::{Basis, Limits as Guards, Number};
use kubectl_devicetaint::cluster::{FileSource, Limits, read};
use kubectl_devicetaint::decide::approval::objections;
use kubectl_devicetaint::engine::{ProposedTaint, Semantics, preview};
use kubectl_devicetaint::model::{DeviceSelector, Effect, Minor, Reading, Taint};
use kubectl_devicetaint::report::ImpactReport;
use kubectl_devicetaint::report::impact::saved;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::case::{Family, START, any_case};

/// Every object of any cluster, and a seed for the events.
fn any_objects() -> impl Strategy<Value = Vec<Value>> {
    any_case(Family::Timelines).prop_map(|case| {
        let objects = case.objects();
        // Something that is always there: input without any needed object is refused.
        let claim = json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"name": "of-no-pod", "namespace": "unused", "uid": "of-no-pod"}, "spec": {}});
        [
            vec![claim],
            objects.slices,
            objects.claims,
            objects.pods,
            objects.rules,
        ]
        .concat()
    })
}

fn any_semantics() -> impl Strategy<Value = Semantics> {
    (34u32..38, any::<bool>()).prop_map(|(minor, pod_groups)| {
        let version = Minor { minor, patch: None };
        let semantics = Semantics::of(version).expect("a version with taints");
        if pod_groups {
            semantics.with_pod_groups()
        } else {
            semantics
        }
    })
}

/// Taints in question, with an effect that evicts.
fn any_question() -> impl Strategy<Value = ProposedTaint> {
    let part = |name: fn(u8) -> String, of: u8| proptest::option::of((0..of).prop_map(name));
    let driver = part(driver_name, 2);
    let pool = part(|number| format!("pool-{number}"), 2);
    let device = part(|number| format!("device-{number}"), 3);
    (driver, pool, device, 0u8..2).prop_map(|(driver, pool, device, key)| {
        let (driver, pool, device) = (driver.as_deref(), pool.as_deref(), device.as_deref());
        question(driver, pool, device, key, Effect::NoExecute)
    })
}

fn driver_name(number: u8) -> String {
    format!("driver-{number}.example.com")
}

fn question(
    driver: Option<&str>,
    pool: Option<&str>,
    device: Option<&str>,
    key: u8,
    effect: Effect,
) -> ProposedTaint {
    let selector = DeviceSelector {
        driver: driver.map(Into::into),
        pool: pool.map(Into::into),
        device: device.map(Into::into),
        ..DeviceSelector::default()
    };
    let taint = Taint {
        key: format!("example.com/key-{key}"),
        effect,
        ..Taint::default()
    };
    ProposedTaint::hypothetical(selector, taint, now())
}

fn now() -> Timestamp {
    Timestamp::from_second(START).expect("a time")
}

fn list(objects: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": objects})
}

/// Reads a text as `--from -` does.
fn reading(text: &str) -> Reading {
    read(
        &[FileSource::Stdin],
        &mut text.as_bytes(),
        &Limits::default(),
    )
    .expect("a cluster")
}

fn report(reading: &Reading, asked: &[ProposedTaint], semantics: &Semantics) -> ImpactReport {
    let impact = preview(&reading.snapshot, asked, now(), semantics);
    let basis = Basis::new(reading, semantics, now());
    ImpactReport::new(&impact, &basis, &Guards::default())
}

fn report_of(objects: &[Value], asked: &[ProposedTaint], semantics: &Semantics) -> ImpactReport {
    report(&reading(&list(objects).to_string()), asked, semantics)
}

/// When each pod is evicted; pods that are not are left out.
fn evictions(report: &ImpactReport) -> BTreeMap<String, Timestamp> {
    let evicted = report
        .affected_pods
        .iter()
        .filter_map(|pod| Some((pod.uid.clone(), pod.eviction_time.as_ref()?.0)));
    evicted.collect()
}

/// True if one more taint can only add evictions. In 1.35 it can take one away: the pods of a claim that
/// nothing taints are evaluated again, which brings those to light that an outdated reservation hides
/// elsewhere; another taint on that claim ends it.
fn grows_only(semantics: &Semantics) -> bool {
    !semantics.stale_reservation_hides
}

/// The objects in an order that `seed` decides.
fn shuffled(objects: &[Value], seed: u64) -> Vec<Value> {
    let mut keyed: Vec<(u64, &Value)> = (1u64..)
        .zip(objects)
        .map(|(place, object)| {
            (
                (seed | 1).wrapping_mul(place).rotate_left(29) ^ seed,
                object,
            )
        })
        .collect();
    keyed.sort_by_key(|(key, _)| key.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    keyed
        .into_iter()
        .map(|(_, object)| object.clone())
        .collect()
}

/// Adds a toleration to every allocation result that covers everything forever, in place of all
/// others: of several that match, the shortest counts.
fn tolerating_everything(objects: &[Value]) -> Vec<Value> {
    let mut objects = objects.to_vec();
    for object in &mut objects {
        let results = object.pointer_mut("/status/allocation/devices/results");
        for result in results.and_then(Value::as_array_mut).into_iter().flatten() {
            result["tolerations"] = json!([{"operator": "Exists", "effect": "NoExecute"}]);
        }
    }
    objects
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// The API lists objects in no order that means anything.
    #[test]
    fn order_of_the_objects_does_not_matter(
        objects in any_objects(),
        asked in any_question(),
        semantics in any_semantics(),
        seed in any::<u64>(),
    ) {
        let asked = [asked];
        let report = report_of(&objects, &asked, &semantics);
        prop_assert_eq!(report_of(&shuffled(&objects, seed), &asked, &semantics), report);
    }

    /// Of two taints on one device the earlier eviction wins, so one more can only bring it forward.
    #[test]
    fn one_more_taint_never_spares_a_pod_nor_delays_it(
        objects in any_objects(),
        first in any_question(),
        second in any_question(),
        semantics in any_semantics(),
    ) {
        prop_assume!(grows_only(&semantics));
        let alone = evictions(&report_of(&objects, std::slice::from_ref(&first), &semantics));
        let both = evictions(&report_of(&objects, &[first, second], &semantics));
        for (pod, at) in alone {
            prop_assert!(both.get(&pod).is_some_and(|sooner| *sooner <= at), "{pod}: {both:?}");
        }
    }

    /// A rule that exists takes nothing away: the answer to a question only grows by it.
    #[test]
    fn one_more_rule_never_spares_a_pod_nor_delays_it(
        objects in any_objects(),
        asked in any_question(),
        semantics in any_semantics(),
    ) {
        prop_assume!(grows_only(&semantics));
        let asked = [asked];
        let is_rule = |object: &Value| object["kind"] == "DeviceTaintRule";
        let (rules, without): (Vec<Value>, Vec<Value>) =
            objects.iter().cloned().partition(is_rule);
        let fewer = [without, rules[1..].to_vec()].concat();
        let before = evictions(&report_of(&fewer, &asked, &semantics));
        let after = evictions(&report_of(&objects, &asked, &semantics));
        for (pod, at) in before {
            prop_assert!(after.get(&pod).is_some_and(|sooner| *sooner <= at), "{pod}: {after:?}");
        }
    }

    /// The controller handles rules one by one, each as if it was alone.
    #[test]
    fn what_a_rule_counts_does_not_depend_on_others(
        objects in any_objects(),
        first in any_question(),
        second in any_question(),
        semantics in any_semantics(),
    ) {
        let alone = report_of(&objects, std::slice::from_ref(&first), &semantics);
        let both = report_of(&objects, &[first.clone(), second], &semantics);
        prop_assert_eq!(&both.proposed_taints[0].counts, &alone.proposed_taints[0].counts);
        let without: Vec<Value> = objects
            .into_iter()
            .filter(|object| object["kind"] != "DeviceTaintRule")
            .collect();
        let quiet = report_of(&without, &[first], &semantics);
        prop_assert_eq!(&quiet.proposed_taints[0].counts, &alone.proposed_taints[0].counts);
    }

    /// A toleration without key and seconds is for every taint and forever. Without its effect it
    /// would not be: the controller takes an empty effect for no match.
    #[test]
    fn blanket_toleration_alone_keeps_every_pod(
        objects in any_objects(),
        asked in any_question(),
        semantics in any_semantics(),
    ) {
        let report = report_of(&tolerating_everything(&objects), &[asked], &semantics);
        prop_assert_eq!(evictions(&report), BTreeMap::new());
        prop_assert_eq!(report.proposed_taints[0].counts.evicted_pod_count.counted(), 0);
    }

    /// Only NoExecute evicts; a taint of another effect evicts no pod by itself.
    #[test]
    fn other_effects_evict_nobody(
        objects in any_objects(),
        driver in 0u8..2,
        semantics in any_semantics(),
        effect in proptest::sample::select(vec!["NoSchedule", "Newer"]),
    ) {
        let driver = driver_name(driver);
        let asked = question(Some(&driver), None, None, 0, effect.into());
        let report = report_of(&objects, &[asked], &semantics);
        prop_assert_eq!(report.proposed_taints[0].counts.evicted_pod_count.counted(), 0);
        for pod in &report.affected_pods {
            let by_the_taint = pod.causes.iter().any(|cause| cause.taint.effect == effect);
            prop_assert!(!by_the_taint, "{:?}", pod.causes);
        }
    }

    /// The summary counts the rows, each object once.
    #[test]
    fn summary_agrees_with_the_rows(
        objects in any_objects(),
        first in any_question(),
        second in any_question(),
        semantics in any_semantics(),
    ) {
        let report = report_of(&objects, &[first, second], &semantics);
        let totals = &report.assessment.totals;
        let times: Vec<Timestamp> = evictions(&report).into_values().collect();
        let number = |count: Number| count.counted();
        let now_or_later = number(totals.evicted_now_pod_count) + number(totals.evicted_later_pod_count);
        prop_assert_eq!(number(totals.evicted_pod_count), times.len());
        prop_assert_eq!(now_or_later, times.len());
        prop_assert_eq!(number(totals.evicted_now_pod_count), times.iter().filter(|at| **at <= now()).count());
        prop_assert_eq!(totals.first_eviction_time.map(|time| time.0), times.iter().min().copied());
        prop_assert_eq!(totals.last_eviction_time.map(|time| time.0), times.iter().max().copied());
        prop_assert_eq!(number(totals.device_count), report.selected_devices.len());
        let others = [totals.tolerating_pod_count, totals.terminating_pod_count, totals.not_evicted_pod_count];
        let others: usize = others.into_iter().map(number).sum();
        prop_assert_eq!(times.len() + others, report.affected_pods.len());
        let ordered = report.affected_pods.is_sorted_by_key(|pod| (pod.namespace.clone(), pod.name.clone()));
        prop_assert!(ordered);
        for pod in &report.affected_pods {
            prop_assert!(pod.causes.is_sorted_by_key(|cause| cause.eviction_time.0), "{:?}", pod.causes);
        }
    }

    /// Reports saved for `--expect` are read back whole, whatever their question and time.
    #[test]
    fn every_report_is_read_back_and_objects_to_nothing(
        objects in any_objects(),
        first in any_question(),
        second in any_question(),
        effect in proptest::sample::select(vec!["NoExecute", "NoSchedule", "None", "Newer"]),
        semantics in any_semantics(),
        passed in -10_000i64..10_000,
        nanoseconds in 0i32..1_000_000_000,
    ) {
        let now = now() + jiff::SignedDuration::new(passed, nanoseconds);
        let reading = reading(&list(&objects).to_string());
        let mut second = second;
        second.taint.effect = effect.into();
        let existing = reading.snapshot.rules.iter().map(|rule| ProposedTaint::of_rule(rule, now));
        let questions = [vec![first, second], existing.collect::<Vec<_>>(), Vec::new()];
        for asked in questions {
            let impact = preview(&reading.snapshot, &asked, now, &semantics);
            let basis = Basis::new(&reading, &semantics, now);
            let report = ImpactReport::new(&impact, &basis, &Guards::default());
            let text = serde_json::to_string(&report).expect("JSON");
            let kept = saved::parse(&text);
            prop_assert!(kept.is_ok(), "{kept:?}: {text}");
            let objections = objections(&kept.expect("it is"), &report.assessment.facts);
            prop_assert_eq!(objections, vec![]);
        }
    }

    /// YAML and JSON of one list say the same, and so do several documents.
    #[test]
    fn format_of_the_input_does_not_matter(
        objects in any_objects(),
        asked in any_question(),
        semantics in any_semantics(),
    ) {
        let asked = [asked];
        let expected = report_of(&objects, &asked, &semantics);
        let yaml = serde_yaml::to_string(&list(&objects)).expect("YAML");
        prop_assert_eq!(&report(&reading(&yaml), &asked, &semantics), &expected);
        let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
        let several = documents.join("\n---\n");
        prop_assert_eq!(&report(&reading(&documents.join("\n")), &asked, &semantics), &expected);
        let yaml = format!("---\n{several}\n");
        prop_assert_eq!(&report(&reading(&yaml), &asked, &semantics), &expected);
    }
}
