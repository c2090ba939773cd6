//! The lines that tolerate taints, and who has them.

use schemars::JsonSchema;
use serde::Serialize;

use super::metadata::{API_VERSION, Incomplete, Metadata, Warning};
use super::table::{Column, Section, Table, View, optional};
use super::taint::{Taint, TolerationView};
use crate::decide::dedication::{Tolerance, Tolerant};
use crate::engine::Semantics;
use crate::engine::tolerate::tolerates_eviction;
use crate::model::{self, Effect};

/// Report of `tolerations --who`: taints, and every claim and claim template that tolerates one of them, with
/// the tolerations.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TolerationList")]
pub struct TolerationReport {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Kind of the report.
    #[schemars(extend("const" = "TolerationList"))]
    pub kind: String,
    /// The cluster, and the data that was read.
    pub metadata: Metadata,
    /// The taints of the command's argument: a single taint, the taint of a rule, or all taints of a device.
    pub taints: Vec<Taint>,
    /// The claims and claim templates that tolerate one of the taints: first those whose toleration names the
    /// key of the taint, then those with a wildcard toleration.
    pub items: Vec<TolerantReport>,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read.
    pub incomplete: Vec<Incomplete>,
}

/// A claim or claim template that tolerates a taint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TolerantReport {
    /// `ResourceClaim` or `ResourceClaimTemplate`.
    pub kind: String,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Kind of toleration: Key or Wildcard.
    pub tolerance: Tolerance,
    /// True if all requests of the claim or claim template that tolerate the taint have admin access.
    pub admin_access: bool,
    /// The tolerations that match the taint.
    pub tolerations: Vec<TolerationView>,
    /// The tolerations as text has them.
    #[serde(skip)]
    pub tolerations_text: Vec<String>,
    /// true if the claim tolerates the taint only for scheduling: with effect NoExecute, the taint evicts its pods. Up
    /// to Kubernetes 1.37, a device toleration without an effect tolerates no NoExecute taint.
    pub scheduling_only: bool,
    /// The devices that the claim holds, as DRIVER/POOL/DEVICE; empty for a claim template.
    pub devices: Vec<String>,
}

/// A claim or template that tolerates one of `taints`, as reports show it.
pub fn tolerant_report(
    one: &Tolerant,
    taints: &[model::Taint],
    semantics: &Semantics,
) -> TolerantReport {
    let evicting: Vec<model::Taint> = taints
        .iter()
        .map(|taint| model::Taint {
            effect: Effect::NoExecute,
            ..taint.clone()
        })
        .collect();
    let stays = |taint: &model::Taint| {
        one.by
            .iter()
            .any(|toleration| tolerates_eviction(toleration, taint, semantics))
    };
    TolerantReport {
        kind: one.kind.kind().as_str().to_owned(),
        namespace: one.name.namespace.to_string(),
        name: one.name.name.to_string(),
        tolerance: one.tolerance,
        admin_access: one.admin_access,
        tolerations: one.by.iter().map(Into::into).collect(),
        tolerations_text: one.by.iter().map(ToString::to_string).collect(),
        scheduling_only: !evicting.iter().any(stays),
        devices: one.devices.iter().map(ToString::to_string).collect(),
    }
}

impl TolerationReport {
    /// Lists the claims and claim templates that tolerate these taints, which are in the order of kind and name.
    pub fn new(
        taints: Vec<Taint>,
        mut items: Vec<TolerantReport>,
        metadata: Metadata,
        warnings: Vec<Warning>,
        incomplete: Vec<Incomplete>,
    ) -> Self {
        items.sort_by_key(|one| one.tolerance);
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "TolerationList".to_owned(),
            metadata,
            taints,
            items,
            warnings,
            incomplete,
        }
    }
}

impl View for TolerationReport {
    fn sections(&self) -> Vec<Section> {
        let reach = |one: &TolerantReport| {
            if one.scheduling_only {
                "scheduler"
            } else {
                "both"
            }
        };
        let admin = |one: &TolerantReport| if one.admin_access { "yes" } else { "no" };
        let table = Table::of(&self.items)
            .column(Column::text("TOLERANCE"), |one| {
                one.tolerance.as_str().to_owned()
            })
            .column(Column::text("KIND"), |one| one.kind.clone())
            .column(Column::text("NAMESPACE"), |one| one.namespace.clone())
            .column(Column::long("NAME"), |one| one.name.clone())
            .column(Column::prose("BY"), |one| one.tolerations_text.join(", "))
            .column(Column::text("TOLERATED-FOR"), |one| reach(one).to_owned())
            .column(Column::text("ADMIN").wide(), |one| admin(one).to_owned())
            .column(Column::long("DEVICES").wide(), |one| {
                optional(Some(&one.devices.join(", ")))
            })
            .table();
        vec![Section::table(table)]
    }

    fn names(&self) -> Vec<String> {
        let name = |one: &TolerantReport| {
            let kind = one.kind.to_ascii_lowercase();
            // As arguments of kubectl, which does not take a namespace as a part of a name.
            format!("{kind}/{} -n {}", one.name, one.namespace)
        };
        self.items.iter().map(name).collect()
    }

    fn missing_from_names(&self) -> Vec<String> {
        self.incomplete.iter().map(Incomplete::line).collect()
    }

    fn doubts(&self) -> (&[Warning], &[Incomplete]) {
        (&self.warnings, &self.incomplete)
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
