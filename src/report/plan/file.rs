//! A plan that is read back.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::digest::{DigestInput, digest};
use super::view::{PlanUnit, UnitKind};
use crate::decide::drain::{self, PlanFile};
use crate::decide::expectation::UnreadableExpectation;
use crate::model::DeviceId;
use crate::report::impact::{Device, Pod};
use crate::report::metadata::{API_VERSION, Metadata};

/// What a plan calls itself.
const KIND: &str = "PlanReport";

/// Why a text is no plan that could be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadablePlan {
    /// Neither JSON nor YAML, or not this document.
    #[error("it is not a plan: {0}")]
    NotAPlan(String),
    /// A document of another kind.
    #[error("it is of kind {found:?}, not {KIND}")]
    OtherKind {
        /// The kind in it.
        found: String,
    },
    /// A plan of another version.
    #[error("its apiVersion is {found:?}; this plugin reads {API_VERSION}")]
    OtherVersion {
        /// The version in it.
        found: String,
    },
    /// Its contents are not those that were written.
    #[error("it was modified after `plan` wrote it: its digest does not match its contents")]
    Edited,
}

/// The fields that are read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    metadata: Metadata,
    digest: String,
    requested_plan: WrittenRequest,
    planned_units: Vec<PlanUnit>,
    selected_devices: Vec<Device>,
    affected_pods: Vec<Pod>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenRequest {
    unit_kind: UnitKind,
}

/// Reads a plan that was written as JSON or YAML.
///
/// # Errors
///
/// When it is none, or not what was written.
pub fn parse(text: &str) -> Result<PlanFile, UnreadablePlan> {
    // An error of YAML has the lines around it, too.
    let not = |error: &dyn std::fmt::Display| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        UnreadablePlan::NotAPlan(first.trim_start_matches("error: ").to_owned())
    };
    let value: serde_json::Value = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| not(&error))?
    } else {
        serde_yaml::from_str(text).map_err(|error| not(&error))?
    };
    let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let (kind, version) = (field("kind"), field("apiVersion"));
    if kind != KIND {
        return Err(UnreadablePlan::OtherKind { found: kind });
    }
    // Before the fields: another version would be refused for whichever field differs first.
    if version != API_VERSION {
        return Err(UnreadablePlan::OtherVersion { found: version });
    }
    let written: Written = serde_json::from_value(value).map_err(|error| not(&error))?;
    let found = digest(&DigestInput {
        metadata: &written.metadata,
        units: &written.planned_units,
        devices: &written.selected_devices,
        pods: &written.affected_pods,
    });
    // A plan that was edited is not the one whose cost was computed and reviewed.
    if found != written.digest {
        return Err(UnreadablePlan::Edited);
    }
    written
        .plan()
        .map_err(|name| not(&format!("{name:?} is not DRIVER/POOL/DEVICE")))
}

impl From<UnreadablePlan> for UnreadableExpectation {
    fn from(error: UnreadablePlan) -> Self {
        let message = error.to_string();
        match error {
            UnreadablePlan::Edited => Self::Edited(message),
            UnreadablePlan::NotAPlan(_)
            | UnreadablePlan::OtherKind { .. }
            | UnreadablePlan::OtherVersion { .. } => Self::NoReport(message),
        }
    }
}

impl Written {
    /// The plan; else the name that is not that of a device.
    fn plan(self) -> Result<PlanFile, String> {
        let mut units = Vec::new();
        for unit in self.planned_units {
            let mut devices = BTreeSet::new();
            for name in unit.devices {
                devices.insert(DeviceId::parse(&name).ok_or(name)?);
            }
            units.push((unit.unit, devices));
        }
        let hardware = self
            .selected_devices
            .into_iter()
            .filter_map(|it| Some((DeviceId::parse(&it.device)?, it.identity)));
        let pods = self.affected_pods.into_iter();
        let evicted = pods.filter(|pod| pod.outcome.is_evicted());
        Ok(PlanFile {
            server: self.metadata.server,
            unit_kind: match self.requested_plan.unit_kind {
                UnitKind::Device => drain::UnitKind::Device,
                UnitKind::Node => drain::UnitKind::Node,
            },
            units,
            hardware: hardware.collect(),
            evicted: evicted.map(|pod| pod.uid).collect(),
        })
    }
}
