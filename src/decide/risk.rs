//! Known defects of a release that a change would run into.
//!
//! Where any rule can break the scheduler, that is asked about before a rule is made or made to do more,
//! whatever the rule itself does: with effect None too, and although everything else was agreed to.

use super::question::Question;
use crate::assess::defects;
use crate::engine::{Defect, Presence};
use crate::model::{Minor, Warning};

/// Whether somebody has said that they know the defects of the release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Risk {
    /// Nobody has.
    #[default]
    Open,
    /// Somebody has: `--accept-known-defects`.
    Accepted,
}

impl From<bool> for Risk {
    fn from(is_accepted: bool) -> Self {
        if is_accepted {
            Self::Accepted
        } else {
            Self::Open
        }
    }
}

/// What there is to know before rules are made or made to do more, and what has to be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRisk {
    /// What the release does wrong, to be told in any case.
    pub warning: Warning,
    /// What is asked; nothing where somebody has accepted it.
    pub question: Option<Question>,
}

/// What is known against a `action`, which makes rules or lets them do more, on a server of this
/// `release`; absent where rules cannot break its scheduler.
#[must_use]
pub fn known(risk: Risk, release: Option<Minor>, action: &str) -> Option<KnownRisk> {
    let warning = defects::of_rules(release)?;
    let question = match risk {
        Risk::Accepted => None,
        Risk::Open => Some(Question::Defect {
            action: action.to_owned(),
            why: format!("{}: {}", warning.code, warning.message),
        }),
    };
    Some(KnownRisk { warning, question })
}

/// Which release a server is, as far as that is known.
///
/// What it says itself goes first; what was `typed` only fills in what that leaves open, such as the
/// patch of a pre-release. Who says nothing and serves rules `at` v1 is 1.37 at least.
#[must_use]
pub fn release_of(said: Option<Minor>, typed: Option<Minor>, at: Option<&str>) -> Option<Minor> {
    // Where it is known whether the defect is there, nothing has to be guessed.
    if Defect::SchedulerBreaks.presence(said) != Presence::NotKnown {
        return said;
    }
    let fits = |typed: &Minor| said.is_none_or(|said| said.minor == typed.minor);
    let least = at
        .filter(|at| said.is_none() && *at == "resource.k8s.io/v1")
        .map(|_| FIRST_WITH_V1);
    typed.filter(fits).or(least).or(said)
}

/// The first version that serves rules as v1.
const FIRST_WITH_V1: Minor = Minor {
    minor: 37,
    patch: None,
};

#[cfg(test)]
mod tests {
    use super::*;

    fn minor(text: &str) -> Option<Minor> {
        Minor::parse(text)
    }

    #[test]
    fn what_can_break_the_scheduler_is_asked_about_unless_it_was_accepted() {
        for (release, known_here) in [
            (minor("v1.36.2"), true),
            (minor("v1.36"), true),
            (None, true),
            (minor("v1.36.3"), false),
            (minor("v1.37.0"), false),
            (minor("v1.35.1"), false),
        ] {
            let open = known(Risk::Open, release, "Add rule a");
            assert_eq!(open.is_some(), known_here, "{release:?}");
            let Some(open) = open else { continue };
            let Some(Question::Defect { action, why }) = open.question else {
                panic!("it is asked");
            };
            assert_eq!(action, "Add rule a");
            assert!(why.contains("kubernetes#139651"), "{why}");
            let accepted = known(Risk::Accepted, release, "Add rule a").unwrap();
            assert_eq!(accepted.question, None, "it is told all the same");
        }
    }

    #[test]
    fn what_a_server_says_goes_before_what_was_typed() {
        let v1 = Some("resource.k8s.io/v1");
        for (said, typed, at, release) in [
            ("v1.36.2", "1.37", None, minor("1.36.2")),
            ("v1.36.2", "", v1, minor("1.36.2")),
            ("v1.36.3-rc.0", "1.36.3", None, minor("1.36.3")),
            ("v1.36.0-rc.0", "1.37", None, minor("1.36")),
            ("v1.36.0-rc.0", "", None, minor("1.36")),
            ("", "1.36.2", v1, minor("1.36.2")),
            ("", "", v1, minor("1.37")),
            ("", "", Some("resource.k8s.io/v1beta2"), None),
            ("", "", None, None),
        ] {
            let found = release_of(minor(said), minor(typed), at);
            assert_eq!(found, release, "{said:?} {typed:?} {at:?}");
        }
    }

    #[test]
    fn a_flag_accepts() {
        assert_eq!(Risk::from(true), Risk::Accepted);
        assert_eq!(Risk::from(false), Risk::default());
    }
}
