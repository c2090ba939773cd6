//! Known defects of Kubernetes releases, in words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::casing::pascal_case;
use super::table::{Column, Table};
use crate::assess::defects::{releases, upstream};
use crate::engine::{Defect, Presence};
use crate::model::Minor;

/// A known defect of Kubernetes releases that affects taints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KnownDefect {
    /// Name of the defect; stable.
    pub defect: String,
    /// Description of the defect.
    pub message: String,
    /// The first release with the defect.
    pub introduced_in: String,
    /// The first release without the defect.
    pub fixed_in: String,
    /// Kubernetes issue, such as `kubernetes#139651`.
    pub upstream: String,
}

/// Known defect of servers, and its presence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerDefect {
    /// Name of the defect, as in knownDefects.
    pub defect: String,
    /// Presence of the defect in the server.
    pub presence: DefectPresence,
}

/// Presence of a defect in a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DefectPresence {
    /// The server has the defect.
    Present,
    /// The server does not have the defect.
    Absent,
    /// Unknown from the server's version alone.
    Unknown,
}

impl From<Presence> for DefectPresence {
    fn from(presence: Presence) -> Self {
        match presence {
            Presence::Present => Self::Present,
            Presence::Absent => Self::Absent,
            Presence::NotKnown => Self::Unknown,
        }
    }
}

impl DefectPresence {
    fn word(self) -> &'static str {
        match self {
            Self::Present => "yes",
            Self::Absent => "no",
            Self::Unknown => "not known",
        }
    }
}

/// All that are known.
pub fn known() -> Vec<KnownDefect> {
    let view = |defect: Defect| KnownDefect {
        defect: pascal_case(defect.code()),
        message: defect.meaning().to_owned(),
        introduced_in: defect.since().to_string(),
        fixed_in: defect.repair().to_string(),
        upstream: upstream(defect),
    };
    Defect::ALL.into_iter().map(view).collect()
}

/// Known defects, with their presence in a server of this version.
pub fn of_server(version: Option<Minor>) -> Vec<ServerDefect> {
    let view = |defect: Defect| ServerDefect {
        defect: pascal_case(defect.code()),
        presence: defect.presence(version).into(),
    };
    Defect::ALL.into_iter().map(view).collect()
}

/// The table of all defects; with their presence `here`, where a server is known.
pub(super) fn table(here: Option<&[ServerDefect]>) -> Table {
    let mut columns = vec![
        Column::text("RELEASES"),
        Column::text("UPSTREAM"),
        Column::prose("KNOWN DEFECT"),
    ];
    if here.is_some() {
        columns.insert(2, Column::text("HERE"));
    }
    let row = |defect: Defect| {
        let mut row = vec![
            releases(defect),
            upstream(defect),
            defect.meaning().to_owned(),
        ];
        if let Some(here) = here {
            let found = here
                .iter()
                .find(|found| found.defect == pascal_case(defect.code()));
            let presence = found.map_or(DefectPresence::Unknown, |found| found.presence);
            row.insert(2, presence.word().to_owned());
        }
        row
    };
    Table {
        columns,
        rows: Defect::ALL.into_iter().map(row).collect(),
    }
}
