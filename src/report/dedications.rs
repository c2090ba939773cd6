//! The dedications of a cluster: who has which devices, and whether others are kept out.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answer::{Answer, beside};
use super::metadata::{API_VERSION, Incomplete, Metadata, Warning};
use super::reference::ObjectReference;
use super::table::{Column, NONE, Section, Table, Tone, View, first_of, optional};
use super::tolerations::TolerantReport;
use crate::model::UNKNOWN;

/// Dedications, in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DedicationList {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "DedicationList"))]
    pub kind: String,
    /// Where it is from.
    pub metadata: Metadata,
    /// The dedications.
    pub items: Vec<Dedication>,
    /// What is odd, without keeping the question from being answered.
    pub warnings: Vec<Warning>,
    /// What could not be read.
    pub incomplete: Vec<Incomplete>,
    #[serde(skip)]
    extent: Extent,
}

/// How much of each dedication is shown to people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// A row.
    #[default]
    Row,
    /// Everything.
    Whole,
}

/// A dedication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dedication {
    /// Its name, the value of the taint `dedicated`.
    pub name: String,
    /// The effect of the taint, as its policies note it; null when none does.
    pub effect: Option<String>,
    /// The namespaces whose claims are let in, by name; null when they are selected by labels, or no policy
    /// notes them.
    pub namespaces: Option<Vec<String>>,
    /// The labels of the namespaces whose claims are let in; null when they are named.
    pub namespace_selector: Option<String>,
    /// Namespaces whose claims may tolerate the taint all the same.
    pub allowed_namespaces: Vec<String>,
    /// Whether requests with admin access may, in every namespace.
    pub allow_admin_access: bool,
    /// Whether the policies are there, bound and as they were made.
    pub enforcement: Enforcement,
    /// The policies and their bindings.
    pub policies: Vec<DedicationPolicy>,
    /// The names of the rules that taint the devices.
    pub rules: Vec<String>,
    /// The devices, in order.
    pub dedicated_devices: Vec<DedicatedDeviceReport>,
    /// Claims that are let in and lack the toleration, since they were made before.
    pub claims_lacking_toleration: Vec<ObjectReference>,
    /// Claims and templates of other namespaces that tolerate the taint.
    pub tolerated_by_others: Vec<TolerantReport>,
}

/// Whether a dedication lets claims in and keeps others out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Enforcement {
    /// By its policies, which are as they were made.
    Enforced,
    /// Not as it was made: a policy is missing or different.
    NotEnforced,
    /// There are no policies; the taint is all there is.
    TaintOnly,
    /// A policy could not be read.
    Unknown,
}

impl Enforcement {
    fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "yes",
            Self::NotEnforced => "no",
            Self::TaintOnly => "taint-alone",
            Self::Unknown => UNKNOWN,
        }
    }
}

/// A policy or binding of a dedication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DedicationPolicy {
    /// Such as `ValidatingAdmissionPolicy`.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What became of it.
    pub policy_state: PolicyStateReport,
    /// What is different, a line each with the path of the field; or why it could not be read.
    pub messages: Vec<String>,
}

/// What became of a policy since it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PolicyStateReport {
    /// It is as it was made.
    AsMade,
    /// It is not there.
    Missing,
    /// One of its name is there that was not made for the dedication.
    NotOurs,
    /// It is different.
    Changed,
    /// It could not be read.
    Unknown,
}

impl DedicationPolicy {
    fn line(&self) -> Vec<String> {
        let (kind, name) = (&self.kind, &self.name);
        let said = match self.policy_state {
            PolicyStateReport::AsMade => "unchanged",
            PolicyStateReport::Missing => "missing",
            PolicyStateReport::NotOurs => "belongs to another dedication",
            PolicyStateReport::Changed => "changed",
            PolicyStateReport::Unknown => UNKNOWN,
        };
        let head = format!("{kind} {name}: {said}");
        if self.messages.is_empty() {
            return vec![head];
        }
        let with = |message: &String| format!("{head}: {message}");
        self.messages.iter().map(with).collect()
    }
}

/// A device of a dedication.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DedicatedDeviceReport {
    /// `DRIVER/POOL/DEVICE`.
    pub device: String,
    /// The rule that taints it.
    pub rule: String,
    /// The effect of its taint.
    pub effect: String,
    /// Who has it.
    pub usage: DedicatedUsage,
    /// The claims that hold it; null when that is not known.
    pub claims: Option<Vec<ObjectReference>>,
}

/// Who has a dedicated device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DedicatedUsage {
    /// No claim but such with admin access.
    Free,
    /// Claims that it is dedicated to.
    Used,
    /// A claim that it is not dedicated to, which keeps it until it is released or evicted.
    UsedByOthers,
    /// Claims could not be read, or not the terms of the dedication.
    Unknown,
}

impl DedicatedUsage {
    fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Used => "used",
            Self::UsedByOthers => "others",
            Self::Unknown => UNKNOWN,
        }
    }
}

impl DedicationList {
    /// Those dedications, from what `metadata` says.
    #[must_use]
    pub fn new(dedications: Vec<Dedication>, metadata: Metadata, extent: Extent) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "DedicationList".to_owned(),
            metadata,
            items: dedications,
            warnings: Vec::new(),
            incomplete: Vec::new(),
            extent,
        }
    }

    /// With what is odd, and what could not be read.
    #[must_use]
    pub fn with(mut self, warnings: Vec<Warning>, incomplete: Vec<Incomplete>) -> Self {
        self.warnings = warnings;
        self.incomplete = incomplete;
        self
    }

    fn table(&self) -> Table {
        let columns = vec![
            Column::text("NAME"),
            Column::prose("FOR"),
            Column::text("EFFECT"),
            Column::number("DEVICES"),
            Column::number("FREE"),
            Column::number("USED"),
            Column::number("OTHERS"),
            Column::text("ENFORCED"),
        ];
        let rows = self.items.iter().map(Dedication::row);
        Table {
            columns,
            rows: rows.collect(),
        }
    }
}

impl Dedication {
    /// Who is let in, in words.
    fn members(&self) -> String {
        match (&self.namespaces, &self.namespace_selector) {
            (Some(names), _) => first_of(names),
            (None, Some(selector)) => selector.clone(),
            (None, None) => UNKNOWN.to_owned(),
        }
    }

    /// Whether a policy of it could not be read, so that its terms are unknown.
    fn is_unread(&self) -> bool {
        let mut policies = self.policies.iter();
        policies.any(|policy| policy.policy_state == PolicyStateReport::Unknown)
    }

    /// The effect, with the others that devices have.
    fn effects(&self) -> String {
        let of_devices = self
            .dedicated_devices
            .iter()
            .map(|device| device.effect.as_str());
        let all: BTreeSet<&str> = self
            .effect
            .as_deref()
            .into_iter()
            .chain(of_devices)
            .collect();
        let effects: Vec<&str> = all.into_iter().collect();
        optional(Some(&effects.join(", ")))
    }

    fn row(&self) -> Vec<String> {
        let count = |usage: DedicatedUsage| {
            if self
                .dedicated_devices
                .iter()
                .any(|device| device.usage == DedicatedUsage::Unknown)
            {
                return UNKNOWN.to_owned();
            }
            let devices = self
                .dedicated_devices
                .iter()
                .filter(|device| device.usage == usage);
            devices.count().to_string()
        };
        vec![
            self.name.clone(),
            self.members(),
            self.effects(),
            self.dedicated_devices.len().to_string(),
            count(DedicatedUsage::Free),
            count(DedicatedUsage::Used),
            count(DedicatedUsage::UsedByOthers),
            self.enforcement.as_str().to_owned(),
        ]
    }

    fn sections(&self) -> Vec<Section> {
        let members = match (&self.namespaces, &self.namespace_selector) {
            (Some(names), _) => names.join(", "),
            (None, Some(selector)) => format!("namespaces with {selector}"),
            (None, None) if self.is_unread() => {
                format!("{UNKNOWN}: its policies could not be read")
            }
            (None, None) => format!("{UNKNOWN}: no policy defines it"),
        };
        let mut lines = vec![
            format!("Name:      {}", self.name),
            format!("For:       {members}"),
            format!(
                "Taint:     dedicated={}:{}",
                self.name,
                optional(self.effect.as_deref())
            ),
            format!("Enforced:  {}", self.enforcement.as_str()),
        ];
        if !self.allowed_namespaces.is_empty() {
            lines.push(format!("Allowed:   {}", self.allowed_namespaces.join(", ")));
        }
        if self.allow_admin_access {
            lines.push("Allowed:   requests with admin access".to_owned());
        }
        let policies = self.policies.iter().flat_map(DedicationPolicy::line);
        let table = Table {
            columns: vec![
                Column::long("DEVICE"),
                Column::text("EFFECT"),
                Column::text("USE"),
                Column::prose("CLAIMS"),
                Column::long("RULE").leaves(1),
            ],
            rows: self
                .dedicated_devices
                .iter()
                .map(DedicatedDeviceReport::row)
                .collect(),
        };
        let others = self.tolerated_by_others.iter().map(TolerantReport::line);
        vec![
            Section::sentences(lines),
            Section::list("Policies", policies.collect()),
            Section::table(table).captioned("Devices"),
            Section::list(
                "Claims created before, without the toleration: they cannot get these devices",
                names(&self.claims_lacking_toleration),
            ),
            Section::list(
                match (&self.namespaces, &self.namespace_selector) {
                    (None, None) => "Claims that tolerate the taint, in any namespace",
                    _ => "Claims in other namespaces that tolerate the taint",
                },
                others.collect(),
            ),
        ]
    }
}

impl DedicatedDeviceReport {
    fn row(&self) -> Vec<String> {
        let claims = match &self.claims {
            None => UNKNOWN.to_owned(),
            Some(claims) if claims.is_empty() => NONE.to_owned(),
            Some(claims) => names(claims).join(", "),
        };
        vec![
            self.device.clone(),
            self.effect.clone(),
            self.usage.as_str().to_owned(),
            claims,
            self.rule.clone(),
        ]
    }
}

/// The names of objects, as text has them.
fn names(objects: &[ObjectReference]) -> Vec<String> {
    objects.iter().map(ToString::to_string).collect()
}

impl View for DedicationList {
    fn sections(&self) -> Vec<Section> {
        let mut sections: Vec<Section> = beside(&self.warnings, &self.incomplete).into();
        match self.extent {
            Extent::Row if self.items.is_empty() => {}
            Extent::Row => sections.push(Section::table(self.table())),
            Extent::Whole => {
                sections.extend(self.items.iter().flat_map(Dedication::sections));
            }
        }
        sections
    }

    fn names(&self) -> Vec<String> {
        self.items.iter().map(|one| one.name.clone()).collect()
    }

    fn tones(&self) -> &'static [(&'static str, Tone)] {
        &[
            (UNKNOWN, Tone::Doubtful),
            ("others", Tone::Doubtful),
            ("taint-alone", Tone::Doubtful),
        ]
    }

    fn missing_from_names(&self) -> Vec<String> {
        self.incomplete.iter().map(Incomplete::line).collect()
    }
}

impl Answer for DedicationList {
    fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn incomplete(&self) -> &[Incomplete] {
        &self.incomplete
    }

    fn says_what_is_not_known(&self) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
