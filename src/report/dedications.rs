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

/// Report of `dedicate list` and `dedicate describe`: the dedications, ordered by name.
///
/// Within one apiVersion, fields and enumeration values are only added: ignore those that you do not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DedicationList {
    /// Version of this schema.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Which report this is.
    #[schemars(extend("const" = "DedicationList"))]
    pub kind: String,
    /// The cluster, and the data that was read.
    pub metadata: Metadata,
    /// The dedications.
    pub items: Vec<Dedication>,
    /// Warnings that do not prevent the report.
    pub warnings: Vec<Warning>,
    /// Data that could not be read.
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

/// A dedication: devices that only claims of some namespaces may use, with the taint and the admission policies that
/// enforce this.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dedication {
    /// Name of the dedication: the value of the taint.
    pub name: String,
    /// The effect of the taint, as recorded in the admission policies; if none records it, the effect on the
    /// first dedicated device. Null if there is neither.
    pub effect: Option<String>,
    /// Names of the namespaces to which the devices are dedicated: an admission policy adds a toleration of the taint
    /// to new claims in these namespaces. Null if the namespaces are selected by labels, or if no admission policy
    /// records them.
    pub namespaces: Option<Vec<String>>,
    /// Label selector of the namespaces to which the devices are dedicated; null if the namespaces are listed by
    /// name, or if no admission policy records them.
    pub namespace_selector: Option<String>,
    /// Namespaces, in addition to those of the dedication, in which claims may tolerate the taint of the dedication
    /// (`--allow` of `dedicate`). No toleration is added to claims in these namespaces. Empty if no admission policy
    /// records any.
    pub allowed_namespaces: Vec<String>,
    /// Whether requests with admin access may tolerate the taint of the dedication in every namespace; false if no
    /// admission policy records this permission.
    pub allow_admin_access: bool,
    /// Whether the dedication is enforced by its admission policies, their bindings, and its rules.
    pub enforcement: Enforcement,
    /// The admission policies of the dedication, and their bindings.
    pub policies: Vec<DedicationPolicy>,
    /// The names of the rules that taint the devices.
    pub rules: Vec<String>,
    /// The dedicated devices, ordered by name.
    pub dedicated_devices: Vec<DedicatedDeviceReport>,
    /// Claims in the namespaces of the dedication that do not tolerate its taint, for example because they were
    /// created before the admission policies. Includes claims that already hold a dedicated device.
    pub claims_lacking_toleration: Vec<ObjectReference>,
    /// Claims and claim templates in other namespaces that tolerate the taint of the dedication, also those in
    /// `allowedNamespaces`. If no admission policy records the namespaces, the claims and claim templates of every
    /// namespace are listed.
    pub tolerated_by_others: Vec<TolerantReport>,
}

/// Whether a dedication is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Enforcement {
    /// All admission policies and bindings exist and are unmodified, and all rules have the effect that `dedicate` set.
    Enforced,
    /// An admission policy, binding or rule is missing, or differs from what `dedicate` creates.
    NotEnforced,
    /// There are no admission policies, only the taint.
    TaintOnly,
    /// An admission policy or binding could not be read.
    Unknown,
}

impl Enforcement {
    fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "yes",
            Self::NotEnforced => "no",
            Self::TaintOnly => "taint-only",
            Self::Unknown => UNKNOWN,
        }
    }
}

/// An admission policy of a dedication, or a binding of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DedicationPolicy {
    /// Kind of the object, such as `ValidatingAdmissionPolicy`.
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// State of the admission policy or binding.
    pub policy_state: PolicyStateReport,
    /// Differences from the expected object, each with the path of the field; or why the object could not
    /// be read. Empty if there is nothing to report.
    pub messages: Vec<String>,
}

/// State of an admission policy or binding of a dedication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PolicyStateReport {
    /// The object is as `dedicate` created it.
    Unmodified,
    /// The object does not exist.
    Missing,
    /// An object with this name exists, but was not created for the dedication.
    Foreign,
    /// The object was created for the dedication and modified since.
    Modified,
    /// The object could not be read.
    Unknown,
}

impl DedicationPolicy {
    fn line(&self) -> Vec<String> {
        let (kind, name) = (&self.kind, &self.name);
        let said = match self.policy_state {
            PolicyStateReport::Unmodified => "unchanged",
            PolicyStateReport::Missing => "missing",
            PolicyStateReport::Foreign => "was not created for this dedication",
            PolicyStateReport::Modified => "changed",
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
    /// The device, as DRIVER/POOL/DEVICE.
    pub device: String,
    /// Name of the rule that taints the device.
    pub rule: String,
    /// The effect of the taint on the device.
    pub effect: String,
    /// Whether claims hold the device, and whether these claims are in the namespaces of the dedication.
    pub usage: DedicatedUsage,
    /// The claims that hold the device, including claims with admin access; null if unknown.
    pub claims: Option<Vec<ObjectReference>>,
}

/// Whether claims hold a dedicated device, and whether these claims are in the namespaces of the dedication
/// (`namespaces` or `namespaceSelector`). Claims with admin access do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DedicatedUsage {
    /// No claim holds the device.
    Free,
    /// Claims hold the device, and all of these claims are in the namespaces of the dedication.
    Used,
    /// At least one of the claims that hold the device is in another namespace, which may be an allowed one. The claim
    /// keeps the device until its pods end or are evicted.
    UsedByOthers,
    /// Unknown: claims or admission policies could not be read.
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
        // The policies note the effect of their rules at first; a rule can be changed since, and then both are shown.
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
        // A device of unknown use may belong to any of the columns, so that none of their numbers is known then.
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
            // A policy that could not be read may define it: that none does is known only if all were read.
            (None, None) if self.is_unread() => {
                format!("{UNKNOWN}: its policies could not be read")
            }
            (None, None) => format!(
                "{UNKNOWN}: no admission policy defines the namespaces that may use the devices"
            ),
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
                "Claims without the toleration; the scheduler no longer allocates these devices to them",
                names(&self.claims_lacking_toleration),
            ),
            Section::list(
                match (&self.namespaces, &self.namespace_selector) {
                    // Without terms it is not known which namespaces are others.
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
            ("taint-only", Tone::Doubtful),
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
