//! Everything that was read, and what is known about the reading itself.

use super::kind::{Kind, Need, for_each_kind};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    /// Gaps of these kinds: the input lacks their objects, or they could not be read.
    pub fn gaps_of<'a>(&'a self, kinds: &'a [Kind]) -> impl Iterator<Item = &'a Gap> {
        let gaps = self.gaps.iter();
        gaps.filter(|gap| gap.kind().is_some_and(|kind| kinds.contains(&kind)))
    }
}

/// Source of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    #[default]
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

/// Parts of an answer that depend on something unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Affects {
    /// Without this data, it is not fully known which pods are evicted by taints with effect NoExecute, or how many.
    Evictions,
    /// This data does not determine which pods are evicted: for example, PodDisruptionBudgets, nodes or events.
    Details,
    /// Nothing of this question.
    #[cfg_attr(feature = "schemars", schemars(skip))]
    Nothing,
}

/// A Kubernetes minor version, printed `1.37`; with a patch where one is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor {
    /// The number after `1.`.
    pub minor: u32,
    /// The number after that, when it is known.
    pub patch: Option<u32>,
}

impl Minor {
    /// Reads `v1.37.0`, `1.37`, and what vendors append, such as `v1.36.2-gke.100`, `v1.35.1+k3s1` or
    /// `1.35+`; `None` for anything else.
    ///
    /// The patch of a pre-release (`v1.37.2-rc.0`) is left open: it is not that release yet.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let numbers = text.strip_prefix('v').unwrap_or(text);
        let (release, suffix) = match numbers.find(['-', '+']) {
            Some(at) => numbers.split_at(at),
            None => (numbers, ""),
        };
        let mut parts = release.split('.').map(number);
        if parts.next()?? != 1 {
            return None;
        }
        let minor = parts.next()??;
        let patch = match parts.next() {
            None => None,
            Some(patch) => Some(patch?),
        };
        let unreleased = ["-alpha", "-beta", "-rc"]
            .iter()
            .any(|stage| suffix.starts_with(stage));
        parts.next().is_none().then_some(Self {
            minor,
            patch: patch.filter(|_| !unreleased),
        })
    }
}

/// Digits and nothing else: `parse` alone would take a sign too.
fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

impl fmt::Display for Minor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.patch {
            Some(patch) => write!(formatter, "1.{}.{patch}", self.minor),
            None => write!(formatter, "1.{}", self.minor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_may_append_what_they_like_and_a_pre_release_has_no_patch() {
        for (text, expected) in [
            ("v1.37.0", Some("1.37.0")),
            ("1.37.0", Some("1.37.0")),
            (" v1.37.0\n", Some("1.37.0")),
            ("v1.36.2-gke.100", Some("1.36.2")),
            ("v1.35.1+k3s1", Some("1.35.1")),
            ("v1.34.4-eks-a5df82f", Some("1.34.4")),
            ("v1.37.1-rc.0+abc", Some("1.37")),
            ("v1.37.2-rc.0", Some("1.37")),
            ("v1.38.0-alpha.1", Some("1.38")),
            ("v1.38.0-beta.0.12+5f2a", Some("1.38")),
            ("v1.37", Some("1.37")),
            ("v1.35+", Some("1.35")),
            ("1.36", Some("1.36")),
            ("v2.0.0", None),
            ("v1.37.x", None),
            ("v1.37.0.1", None),
            ("v1.+37", None),
            ("v1.", None),
            ("1", None),
            ("v1.99999999999", None),
            ("v1.37.99999999999", None),
            ("newest", None),
            ("", None),
        ] {
            let found = Minor::parse(text).map(|version| version.to_string());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
    }
}
