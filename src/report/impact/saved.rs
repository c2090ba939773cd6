//! Reports that were saved and are read back, as the facts that decisions are made on.

use serde::Deserialize;

use crate::assess::{ImpactFacts, Outcome, PodFacts};
use crate::engine::ProposedTaint;
use crate::model::{self, DeviceSelector, Gap, NamespacedName};
use crate::report::metadata::{API_VERSION, Incomplete};
use crate::report::taint::{Taint, TaintSource, Time};

/// Why a text is no report that a change could be compared with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnreadableReport(String);

/// The fields of an impact report on which decisions are made; those of a later version are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedReport {
    proposed_taints: Vec<SavedTaint>,
    affected_pods: Vec<SavedPod>,
    selected_devices: Vec<SavedDevice>,
    incomplete: Vec<Incomplete>,
}

#[derive(Deserialize)]
struct SavedTaint {
    rule: Option<String>,
    selector: Option<DeviceSelector>,
    taint: Taint,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SavedPod {
    namespace: String,
    name: String,
    uid: String,
    outcome: Outcome,
    eviction_time: Option<Time>,
    evict_in_seconds: Option<i64>,
    causes: Vec<SavedCause>,
}

#[derive(Deserialize)]
struct SavedCause {
    taint: Taint,
}

#[derive(Deserialize)]
struct SavedDevice {
    device: String,
}

/// Reads a report that was written as JSON. Data unknown when it was written is unknown here, too.
///
/// # Errors
///
/// When it is none.
pub fn parse(text: &str) -> Result<ImpactFacts, UnreadableReport> {
    let not =
        |error: serde_json::Error| UnreadableReport(format!("it is not an impact report: {error}"));
    let value: serde_json::Value = serde_json::from_str(text).map_err(not)?;
    let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let (kind, version) = (field("kind"), field("apiVersion"));
    // Before the fields: another version would be refused for the first field that differs.
    if !version.is_empty() && version != API_VERSION {
        let message = format!("its apiVersion is {version}; this plugin reads {API_VERSION}");
        return Err(UnreadableReport(message));
    }
    if !kind.is_empty() && kind != "ImpactReport" {
        let message = format!("it is of kind {kind}, not ImpactReport");
        return Err(UnreadableReport(message));
    }
    let report: SavedReport = serde_json::from_value(value).map_err(not)?;
    let devices = report.selected_devices.into_iter();
    Ok(ImpactFacts {
        taints: report.proposed_taints.into_iter().map(proposed).collect(),
        pods: report.affected_pods.iter().map(pod).collect(),
        devices: devices.map(|saved| saved.device).collect(),
        gaps: report.incomplete.into_iter().map(gap).collect(),
    })
}

fn proposed(saved: SavedTaint) -> ProposedTaint {
    ProposedTaint {
        rule: saved.rule.as_deref().map(Into::into),
        selector: saved.selector,
        taint: model::Taint {
            key: saved.taint.key,
            value: saved.taint.value,
            effect: saved.taint.effect.as_str().into(),
            time_added: saved.taint.time_added.map(|time| time.0),
        },
    }
}

fn pod(pod: &SavedPod) -> PodFacts {
    let first = pod.causes.first().map(|cause| &cause.taint);
    let is_of_rule = |taint: &&Taint| taint.source == TaintSource::DeviceTaintRule;
    let first_rule = first.filter(is_of_rule);
    PodFacts {
        name: NamespacedName {
            namespace: pod.namespace.as_str().into(),
            name: pod.name.as_str().into(),
        },
        uid: pod.uid.as_str().into(),
        outcome: pod.outcome,
        eviction_time: pod.eviction_time.map(|time| time.0),
        evict_in_seconds: pod.evict_in_seconds,
        first_rule: first_rule.and_then(|taint| Some(taint.source_name.as_deref()?.into())),
    }
}

fn gap(gap: Incomplete) -> Gap {
    Gap {
        what: gap.missing,
        why: gap.message,
        affects: gap.affects,
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::Example;

    fn text(change: impl FnOnce(&mut serde_json::Value)) -> String {
        let mut value = serde_json::to_value(Example::new().report()).unwrap();
        change(&mut value);
        value.to_string()
    }

    #[test]
    fn a_report_is_read_back_unless_it_is_another() {
        let later = |value: &mut serde_json::Value| {
            value["affectedPods"][0]["hazards"] = serde_json::json!(["FromTheFuture"]);
            value["affectedPods"][0]["fromTheFuture"] = true.into();
        };
        let read = parse(&text(later)).unwrap();
        let written = Example::new().facts();
        assert_eq!((&read.taints, &read.gaps), (&written.taints, &written.gaps));
        assert_eq!(read.pods, written.pods);
        assert_eq!(read.devices, written.devices);
        for (name, text, wanted) in [
            (
                "version",
                text(|value| value["apiVersion"] = "devicetaint.dev/v9".into()),
                "its apiVersion is",
            ),
            (
                "kind",
                text(|value| value["kind"] = "DeviceList".into()),
                "it is of kind DeviceList",
            ),
            ("nothing", "{}".to_owned(), "it is not an impact report"),
            ("no JSON", "NAME".to_owned(), "it is not an impact report"),
        ] {
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{name}: {error}");
        }
    }
}
