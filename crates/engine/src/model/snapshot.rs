//! Everything that was read, and what is known about the reading itself.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::affects::Affects;
use super::kind::for_each_kind;
use super::kind::{Kind, Need};
use super::minor::Minor;

macro_rules! snapshot {
    ($(
        $(#[$facts:meta])*
        $kind:ident in $field:ident { $($columns:tt)* }
    )*) => {
        /// The cluster at one moment. The order of the objects carries no meaning.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Snapshot {
            $( $(#[$facts])* pub $field: Vec<super::$kind>, )*
        }
    };
}

for_each_kind!(snapshot);

/// A snapshot, with where it is from and what it lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The facts.
    pub snapshot: Snapshot,
    /// Source of the objects.
    pub source: Source,
    /// The cluster's time when it was read: the server's clock, or the newest time in the files.
    pub observed_at: Option<Timestamp>,
    /// True if that is the newest time in files that do not state when they were saved.
    pub is_time_guessed: bool,
    /// The Kubernetes version that the source shows, as far as it does.
    pub version: Option<Minor>,
    /// The kinds that were read completely, also those of which there is nothing.
    pub known: BTreeSet<Kind>,
    /// The state of each list, by the resource's plural; opaque.
    pub resource_versions: BTreeMap<String, String>,
    /// Warnings, in the order in which they were met.
    pub warnings: Vec<Warning>,
    /// Data that could not be read.
    pub gaps: Vec<Gap>,
}

impl Reading {
    /// Gap of an answer that uses an optional kind, if that kind was not read.
    ///
    /// Required kinds are in `gaps` already.
    pub fn without(&self, kind: Kind) -> Option<Gap> {
        if self.known.contains(&kind) {
            return None;
        }
        let mut gaps = self.gaps.iter();
        if let Some(gap) = gaps.find(|gap| gap.kind() == Some(kind)) {
            return Some(gap.clone());
        }
        Some(match self.source {
            Source::Cluster { .. } => Gap::of(kind, "they were not read"),
            Source::Files => Gap::not_in_input(kind),
        })
    }
}

/// Source of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A live cluster.
    Cluster {
        /// Name of the kubeconfig context, if there is one.
        context: Option<String>,
        /// The server, as its URL, if it is known.
        server: Option<String>,
        /// The server's own version, such as `v1.37.0`.
        server_version: Option<String>,
    },
    /// Saved files.
    Files,
}

/// Warning about an object, which can be used all the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning {
    /// Stable, such as `duplicate-object`.
    pub code: &'static str,
    /// Finding, naming the object.
    pub message: String,
    /// Remedy, if any.
    pub fix: Option<String>,
}

/// A part of the answer that is missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gap {
    /// Missing data, such as `pods`.
    pub what: String,
    /// Why, and what that means for the answer.
    pub why: String,
    /// Parts of the answer that depend on it.
    pub affects: Affects,
}

impl Gap {
    /// Missing data where the question whether claims could be allocated again has no answer, of all the data
    /// that only this question needs.
    pub const REPLACEMENTS: &'static str = "replacements";

    /// Gap for an unknown replacement of claims, for this reason.
    pub fn of_replacements(reason: &str) -> Self {
        Self {
            what: Self::REPLACEMENTS.to_owned(),
            why: format!("{reason}: it is unknown whether claims can be reallocated"),
            affects: Affects::Details,
        }
    }

    /// The kind of object that could not be read, at all or completely; absent when something else
    /// is missing.
    pub fn kind(&self) -> Option<Kind> {
        Kind::ALL
            .into_iter()
            // Gaps about anything else have names that are no plural of a kind.
            .find(|kind| kind.plural() == self.what)
    }

    /// Gap of an answer to files without any object of `kind`.
    pub fn not_in_input(kind: Kind) -> Self {
        // Most clusters have no rule at most times, and only a list can say so.
        let remedy = match kind.need() {
            Need::WhereServed => format!(" (to state that there is none: an empty {kind}List)"),
            Need::Always | Need::Optional => String::new(),
        };
        Self::of(kind, &format!("the input contains no {kind}{remedy}"))
    }

    /// Gap of an answer without `kind`, for this reason.
    pub fn of(kind: Kind, reason: &str) -> Self {
        Self {
            what: kind.plural().to_owned(),
            why: format!("{reason}: {}", kind.without()),
            affects: kind.affects(),
        }
    }
}
