//! Comparison of a report with the approved one (`--expect`).
//!
//! Compares a report that somebody has read and kept with the one of the moment. Less is welcome:
//! only pods that were not in it, and evictions that come earlier, are objections.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use super::refusal::ApprovalRefusal;
use super::report_digest::ReportDigest;
use super::self_check::contradiction;
use super::view::{Device, ImpactReport, Pod, TaintImpact};
use crate::report::metadata::{API_VERSION, Affects};

/// A report that was read back and is what it was when it was written, or what identifies one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedReport(Expected);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Expected {
    Whole(Box<ImpactReport>),
    Marked(ReportDigest),
}

/// Why a text is no report that a change could be compared with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableReport {
    /// Not JSON, or not this document.
    #[error("it is not an impact report: {0}")]
    NotAReport(String),
    /// A report of another kind.
    #[error("it is a {found}, not an ImpactReport")]
    OtherKind {
        /// The kind in it.
        found: String,
    },
    /// A report of another version.
    #[error("its apiVersion is {found}; this plugin reads {API_VERSION}")]
    OtherVersion {
        /// The version in it.
        found: String,
    },
    /// Not what `metadata.digest` of a report says.
    #[error(
        "it is not a digest as printed by `preview`, which is `sha256:` or `hardware:` with 16 to 64 \
         hexadecimal digits"
    )]
    NotADigest,
    /// What is in it does not fit together.
    #[error("it was modified after `preview` wrote it: {contradiction}")]
    Edited {
        /// What does not fit what.
        contradiction: String,
    },
}

impl ExpectedReport {
    /// Reads a report that was written as JSON.
    ///
    /// # Errors
    ///
    /// When it is none, or not what was written.
    pub fn parse(text: &str) -> Result<Self, UnreadableReport> {
        let not = |error: serde_json::Error| UnreadableReport::NotAReport(error.to_string());
        let value: serde_json::Value = serde_json::from_str(text).map_err(not)?;
        let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let (kind, version) = (field("kind"), field("apiVersion"));
        // Before the fields: another version would be refused for whichever field differs first.
        if !version.is_empty() && version != API_VERSION {
            return Err(UnreadableReport::OtherVersion { found: version });
        }
        if !kind.is_empty() && kind != "ImpactReport" {
            return Err(UnreadableReport::OtherKind { found: kind });
        }
        let report: ImpactReport = serde_json::from_value(value).map_err(not)?;
        match contradiction(&report) {
            Some(contradiction) => Err(UnreadableReport::Edited { contradiction }),
            None => Ok(Self(Expected::Whole(Box::new(report)))),
        }
    }

    /// The report with this digest, or with one that begins so; or any that is about this hardware.
    ///
    /// # Errors
    ///
    /// When it is no digest, or too few of its digits; `None` where it is not meant to be one.
    pub fn with_digest(text: &str) -> Option<Result<Self, UnreadableReport>> {
        let report_digest = ReportDigest::parse(text)?.ok_or(UnreadableReport::NotADigest);
        Some(report_digest.map(|report_digest| Self(Expected::Marked(report_digest))))
    }

    /// The report that somebody was shown a moment ago.
    #[must_use]
    pub fn of(shown: ImpactReport) -> Self {
        Self(Expected::Whole(Box::new(shown.as_written())))
    }

    /// What speaks against a change that has the impact `found`; empty when nothing does.
    #[must_use]
    pub fn objections(&self, found: &ImpactReport) -> Vec<ApprovalRefusal> {
        let known = match &self.0 {
            Expected::Whole(known) => known,
            Expected::Marked(report_digest) => {
                return report_digest.objection(found).into_iter().collect();
            }
        };
        let mut objections: Vec<ApprovalRefusal> = other_taints(known, found).into_iter().collect();
        objections.extend(replaced_hardware(known, found));
        let incomplete = &known.incomplete;
        let known: BTreeMap<&str, &Pod> = known
            .affected_pods
            .iter()
            .filter(|pod| pod.outcome.is_evicted())
            .map(|pod| (pod.uid.as_str(), pod))
            .collect();
        // By UID: a later pod of the same name was not in the report that was approved.
        for pod in found
            .affected_pods
            .iter()
            .filter(|pod| pod.outcome.is_evicted())
        {
            objections.extend(match known.get(pod.uid.as_str()) {
                None => Some(ApprovalRefusal::NewPod {
                    pod: pod.full_name(),
                }),
                Some(expected) => earlier(expected, pod),
            });
        }
        let known: BTreeSet<&str> = incomplete.iter().map(|gap| gap.missing.as_str()).collect();
        // Missing details change nothing about who is evicted, and so do not refuse what was approved.
        let decisive = found.incomplete.iter();
        for gap in decisive.filter(|gap| gap.affects == Affects::Evictions) {
            if !known.contains(gap.missing.as_str()) {
                let what = gap.missing.clone();
                objections.push(ApprovalRefusal::LessKnown { what });
            }
        }
        objections
    }
}

/// The devices that are other hardware than they were, or of which that is not known any more. One number
/// of the hardware that is as it was is enough.
fn replaced_hardware(known: &ImpactReport, found: &ImpactReport) -> Vec<ApprovalRefusal> {
    let before: BTreeMap<&str, &Device> = known
        .selected_devices
        .iter()
        .map(|device| (device.device.as_str(), device))
        .collect();
    let one = |device: &Device| {
        let before = &before.get(device.device.as_str())?.identity;
        let now = |name: &String| device.identity.get(name);
        let differs = |(name, was): &(&String, &String)| now(name).is_some_and(|is| is != *was);
        let is_same = |(name, was): (&String, &String)| now(name) == Some(was);
        // A number that differs comes before one that is missing, since it proves that the hardware is another.
        let other = before.iter().find(differs);
        let lost = || before.iter().next().filter(|_| !before.iter().any(is_same));
        let (attribute, was) = other.or_else(lost)?;
        Some(ApprovalRefusal::Exchanged {
            device: device.device.clone(),
            attribute: attribute.clone(),
            was: was.clone(),
            is: now(attribute).cloned(),
        })
    };
    found.selected_devices.iter().filter_map(one).collect()
}

fn other_taints(known: &ImpactReport, found: &ImpactReport) -> Option<ApprovalRefusal> {
    let expected = described(&known.proposed_taints);
    let described = described(&found.proposed_taints);
    let names = |report: &ImpactReport| -> BTreeSet<String> {
        report
            .proposed_taints
            .iter()
            .filter_map(|taint| taint.rule.clone())
            .collect()
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

/// What taints which devices, without times and names.
fn described(taints: &[TaintImpact]) -> BTreeSet<String> {
    let one = |impact: &TaintImpact| {
        let taint = &impact.taint;
        match &impact.selector {
            None => format!("{taint} without a selector"),
            Some(selector) => format!("{taint} on {}", super::sections::selector(selector)),
        }
    };
    taints.iter().map(one).collect()
}

/// Whether the pod leaves earlier than expected: at an earlier time, or with less time left from the
/// moment of the change. An eviction that only comes nearer because time passes is not earlier.
fn earlier(expected: &Pod, found: &Pod) -> Option<ApprovalRefusal> {
    // Both the time and the delay, since a report that waited for approval has only delays that are over.
    let (then, now) = (expected.eviction_time?, found.eviction_time?);
    let delay = |pod: &Pod| pod.evict_in_seconds.unwrap_or_default().max(0);
    let (expected, left) = (delay(expected), delay(found));
    (now != then && left < expected).then(|| ApprovalRefusal::Earlier {
        pod: found.full_name(),
        expected: SignedDuration::from_secs(expected),
        found: SignedDuration::from_secs(left),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::Outcome;
    use crate::report::testing::Example;
    use crate::report::time::Time;

    fn expected() -> ExpectedReport {
        ExpectedReport::of(Example::new().report())
    }

    fn text(change: impl FnOnce(&mut serde_json::Value)) -> String {
        let mut value = serde_json::to_value(Example::new().report()).unwrap();
        change(&mut value);
        value.to_string()
    }

    #[test]
    fn a_report_is_read_back_unless_it_is_another_or_was_changed() {
        assert_eq!(ExpectedReport::parse(&text(|_| ())), Ok(expected()));
        for (name, text, wanted) in [
            (
                "edited",
                text(|value| value["affectedPods"][0]["uid"] = "other".into()),
                "it was modified",
            ),
            (
                "outcome",
                text(|value| value["affectedPods"][0]["outcome"] = "EvictedNow".into()),
                "it was modified",
            ),
            (
                "time",
                text(|value| value["affectedPods"][3]["evictInSeconds"] = 86_400.into()),
                "it was modified",
            ),
            (
                "version",
                text(|value| value["apiVersion"] = "devicetaint.dev/v9".into()),
                "its apiVersion is",
            ),
            (
                "kind",
                text(|value| value["kind"] = "DeviceList".into()),
                "it is a DeviceList",
            ),
            ("nothing", "{}".to_owned(), "it is not an impact report"),
            ("no JSON", "NAME".to_owned(), "it is not an impact report"),
        ] {
            let error = ExpectedReport::parse(&text).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{name}: {error}");
        }
    }

    #[test]
    fn the_same_and_less_are_fine() {
        let mut found = Example::new().report();
        assert_eq!(expected().objections(&found), []);
        found.affected_pods.clear();
        assert_eq!(expected().objections(&found), []);
    }

    #[test]
    fn a_device_that_was_exchanged_or_is_not_known_any_more_is_not_what_was_agreed_to() {
        let with = |attributes: &[(&str, &str)]| {
            let attributes = attributes.iter();
            let identity =
                attributes.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let name = "gpu.example.com/node-7/gpu-0".to_owned();
            let identities = [(name, identity.collect())].into();
            Example::new().report().with_identities(&identities)
        };
        let objections = |before: &ImpactReport, now: &ImpactReport| {
            // As it is read back from a file.
            let text = serde_json::to_string(before).unwrap();
            let expected = ExpectedReport::parse(&text).unwrap();
            let objections = expected.objections(now);
            assert!(objections.iter().all(ApprovalRefusal::is_about_hardware));
            let texts = objections.iter().map(ToString::to_string);
            texts.collect::<Vec<_>>().join("; ")
        };
        let before = with(&[("d/serial", "1"), ("d/uuid", "A")]);
        for now in [&before, &with(&[("d/uuid", "A")])] {
            assert_eq!(objections(&before, now), "");
        }
        assert_eq!(
            objections(&before, &with(&[("d/serial", "1"), ("d/uuid", "B")])),
            "gpu.example.com/node-7/gpu-0 is not the same hardware as in the report: d/uuid was A and \
             is B"
        );
        assert_eq!(
            objections(&before, &with(&[])),
            "gpu.example.com/node-7/gpu-0 may not be the same hardware as in the report: d/serial was 1 \
             and is now unknown"
        );
        // Nobody has said what it was.
        assert_eq!(objections(&with(&[]), &before), "");
    }

    #[test]
    fn a_new_pod_an_earlier_eviction_and_another_taint_are_not() {
        let mut found = Example::new().report();
        let later = found
            .affected_pods
            .iter_mut()
            .find(|pod| pod.outcome == Outcome::EvictedLater)
            .unwrap();
        later.eviction_time = Some(found.metadata.observed());
        later.evict_in_seconds = Some(0);
        let now = found
            .affected_pods
            .iter_mut()
            .find(|pod| pod.outcome == Outcome::EvictedNow)
            .unwrap();
        now.uid = "born later".to_owned();
        found.proposed_taints[0].taint.value = "other".to_owned();
        let objections = expected().objections(&found);
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
    fn an_eviction_that_time_brings_nearer_is_not_earlier() {
        let mut found = Example::new().report();
        for pod in &mut found.affected_pods {
            pod.evict_in_seconds = pod.evict_in_seconds.map(|seconds| seconds - 60);
        }
        assert_eq!(expected().objections(&found), []);
        for pod in &mut found.affected_pods {
            pod.eviction_time = pod
                .eviction_time
                .map(|time| Time(time.0 + SignedDuration::from_secs(600)));
            pod.evict_in_seconds = pod.evict_in_seconds.map(|seconds| seconds + 60);
        }
        assert_eq!(expected().objections(&found), []);
    }
}
