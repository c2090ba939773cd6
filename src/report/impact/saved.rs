//! Reports that were saved and are read back, as the facts that decisions are made on.

use super::view::{Device, ImpactReport, Pod, Selector, TaintImpact};
use crate::assess::{DeviceFacts, ImpactFacts, PodFacts};
use crate::engine::ProposedTaint;
use crate::model::{self, DeviceSelector, Gap, NamespacedName};
use crate::report::metadata::{API_VERSION, Affects, Incomplete};
use crate::report::taint::{Taint, TaintSource};

/// Why a text is no report that a change could be compared with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableReport {
    /// Not JSON, or not this document.
    #[error("it is not an impact report: {0}")]
    NotAReport(String),
    /// A report of another kind.
    #[error("it is of kind {found}, not ImpactReport")]
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
}

/// Reads a report that was written as JSON.
///
/// # Errors
///
/// When it is none.
pub fn parse(text: &str) -> Result<ImpactFacts, UnreadableReport> {
    let not = |error: serde_json::Error| UnreadableReport::NotAReport(error.to_string());
    let value: serde_json::Value = serde_json::from_str(text).map_err(not)?;
    let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let (kind, version) = (field("kind"), field("apiVersion"));
    // Before the fields: another version would be refused for the first field that differs.
    if !version.is_empty() && version != API_VERSION {
        return Err(UnreadableReport::OtherVersion { found: version });
    }
    if !kind.is_empty() && kind != "ImpactReport" {
        return Err(UnreadableReport::OtherKind { found: kind });
    }
    let report: ImpactReport = serde_json::from_value(value).map_err(not)?;
    Ok(ImpactFacts::from(&report))
}

impl From<&ImpactReport> for ImpactFacts {
    /// Facts of a report. Data unknown when it was written is unknown here, too.
    fn from(report: &ImpactReport) -> Self {
        Self {
            taints: report.proposed_taints.iter().map(proposed).collect(),
            pods: report.affected_pods.iter().map(pod).collect(),
            devices: report.selected_devices.iter().map(device).collect(),
            gaps: report.incomplete.iter().map(gap).collect(),
        }
    }
}

fn proposed(impact: &TaintImpact) -> ProposedTaint {
    ProposedTaint {
        rule: impact.rule.as_deref().map(Into::into),
        selector: impact.selector.as_ref().map(selector),
        taint: taint(&impact.taint),
    }
}

fn taint(taint: &Taint) -> model::Taint {
    model::Taint {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: taint.effect.as_str().into(),
        time_added: taint.time_added.map(|time| time.0),
    }
}

fn selector(selector: &Selector) -> DeviceSelector {
    DeviceSelector {
        driver: selector.driver.as_deref().map(Into::into),
        pool: selector.pool.as_deref().map(Into::into),
        device: selector.device.as_deref().map(Into::into),
        unknown_fields: selector.unknown_fields.clone(),
    }
}

fn pod(pod: &Pod) -> PodFacts {
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

fn device(device: &Device) -> DeviceFacts {
    DeviceFacts {
        name: device.device.clone(),
    }
}

fn gap(gap: &Incomplete) -> Gap {
    Gap {
        what: gap.missing.clone(),
        why: gap.message.clone(),
        affects: match gap.affects {
            Affects::Evictions => model::Affects::Evictions,
            Affects::Details => model::Affects::Details,
        },
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
        let read = parse(&text(|_| ())).unwrap();
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
