//! The Kubernetes version whose behaviour is assumed, and doubts about it.

use crate::assess::defects;
use crate::engine::{Defect, Presence, Semantics};
use crate::error::Failure;
use crate::model::{Minor, Reading, ResourceClaim, Warning};

/// Behaviour of a cluster of the version `found`, unless that of another version is `asked` for.
///
/// # Errors
///
/// A version that is not supported.
pub fn semantics_of(asked: Option<Minor>, found: Option<Minor>) -> Result<Semantics, Failure> {
    match asked.or(found) {
        None => Ok(Semantics::assumed()),
        Some(version) => behaviour_of(version).map_err(Failure::usage),
    }
}

/// Refuses a version of which evictions are not predicted, to commands that predict them or change rules.
///
/// # Errors
///
/// A version before [`Semantics::OLDEST`].
pub fn require_predictions(semantics: &Semantics) -> Result<(), Failure> {
    if semantics.predicts_evictions() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "Kubernetes {} is not supported by this command: it needs Kubernetes {} or later",
        semantics.version,
        Semantics::OLDEST
    )))
}

/// Behaviour of `version`.
///
/// # Errors
///
/// The reason, for a version that is not supported.
pub fn behaviour_of(version: Minor) -> Result<Semantics, String> {
    Semantics::of(version).ok_or_else(|| {
        format!(
            "Kubernetes {version} is not supported: this plugin needs Kubernetes {} or later",
            Semantics::OLDEST
        )
    })
}

/// Says that `semantics` are those of an older version, where the version is newer than all that are
/// known.
pub fn newer_version(semantics: &Semantics) -> Option<Warning> {
    let asked = semantics.version;
    (asked.minor > Semantics::NEWEST.minor).then(|| Warning {
        code: "newer-kubernetes",
        message: format!(
            "Kubernetes {asked} is newer than the versions that this plugin knows; the plugin \
            applies the behavior of {}",
            Semantics::NEWEST_RELEASE
        ),
        fix: Some("update the plugin, if a newer version exists".to_owned()),
    })
}

/// Warning of a pre-release of 1.38, for a cluster whose version is `found`: its releases differ from each other.
fn pre_release(semantics: &Semantics, found: Option<Minor>) -> Option<Warning> {
    // A pre-release has no patch, and a release always has one.
    let is_early = |found: &Minor| found.minor == 38 && found.patch.is_none();
    let found = found.filter(is_early).filter(|it| *it == semantics.version);
    found.map(|_| Warning {
        code: "pre-release",
        message: "the cluster runs a pre-release of Kubernetes 1.38; the plugin applies the behavior of 1.38.0-beta.0"
            .to_owned(),
        fix: Some(
            "before 1.38.0-beta.0, tolerations without an effect can be ignored as in 1.37: --kubernetes 1.37"
                .to_owned(),
        ),
    })
}

/// Warns that `semantics` are those of a newer version, where evictions of the version are not predicted.
pub fn older_version(semantics: &Semantics) -> Option<Warning> {
    (!semantics.predicts_evictions()).then(|| Warning {
        code: "older-kubernetes",
        message: format!(
            "Kubernetes {} is older than the versions that this plugin supports; the plugin applies \
            the behavior of {}, and evictions can differ",
            semantics.version,
            Semantics::OLDEST
        ),
        fix: None,
    })
}

/// Warnings about the version of a cluster, which was `found` to be this one: it is newer or older than all that are
/// supported, it is a pre-release, or the rules that are there can break its scheduler.
pub fn doubts_about(
    semantics: &Semantics,
    found: Option<Minor>,
    reading: &Reading,
) -> Vec<Warning> {
    let has_rules = !reading.snapshot.rules.is_empty();
    let defect = defects::of_rules(Some(semantics.version)).filter(|_| has_rules);
    newer_version(semantics)
        .into_iter()
        .chain(older_version(semantics))
        .chain(pre_release(semantics, found))
        .chain(defect)
        .collect()
}

/// Warning about an object that cannot be interpreted.
pub fn odd_object(problem: &str) -> Warning {
    Warning {
        code: "odd-object",
        message: problem.to_owned(),
        fix: None,
    }
}

/// Warning about the time when the server does not tell it.
pub fn clock_of_this_machine() -> Warning {
    Warning {
        code: "clock-of-this-machine",
        message: "the server sends no Date header; the times of evictions are computed with the clock of this machine"
            .to_owned(),
        fix: None,
    }
}

/// The behavior of the cluster in which this was read: a claim that is reserved for a PodGroup shows that the feature
/// gate `DRAWorkloadResourceClaims` is on.
pub fn with_evident_gates(semantics: Semantics, reading: &Reading) -> Semantics {
    let mut claims = reading.snapshot.claims.iter();
    if claims.any(ResourceClaim::is_reserved_for_group) {
        semantics.with_pod_groups()
    } else {
        semantics
    }
}

/// Release of a server, as far as that is known.
///
/// The server's own statement goes first; `typed` only fills in what that leaves open, such as the patch of a
/// pre-release. A server that says nothing and serves rules `at` v1 is 1.37 at least.
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
    use crate::error::ExitStatus;
    use crate::report::testing;

    #[test]
    fn what_was_typed_goes_before_what_the_cluster_says() {
        let minor = |minor| Some(Minor { minor, patch: None });
        for (typed, found, version) in [
            (None, None, Semantics::ASSUMED.minor),
            (None, minor(35), 35),
            (minor(34), minor(36), 34),
        ] {
            let semantics = semantics_of(typed, found).unwrap();
            assert_eq!(semantics.version.minor, version);
        }
        assert!(semantics_of(None, minor(32)).is_err());
    }

    #[test]
    fn pre_release_of_1_38_is_named_unless_another_version_is_asked_for() {
        let reading = testing::reading();
        let codes = |asked: &str, found: Option<&str>| {
            let version = |text: &str| Minor::parse(text).unwrap();
            let semantics = behaviour_of(version(asked)).unwrap();
            let found = doubts_about(&semantics, found.map(version), &reading);
            found.iter().map(|it| it.code).collect::<Vec<_>>()
        };
        for early in ["v1.38.0-alpha.1", "v1.38.0-beta.0.12+5f2a"] {
            assert_eq!(codes(early, Some(early)), ["pre-release"]);
            assert!(codes("1.37", Some(early)).is_empty());
        }
        assert!(codes("v1.38.0", Some("v1.38.0")).is_empty());
        assert!(codes("v1.37.3-rc.0", Some("v1.37.3-rc.0")).is_empty());
        assert!(codes("1.38", None).is_empty());
    }

    #[test]
    fn version_before_the_oldest_one_is_refused_only_where_evictions_are_predicted() {
        for (minor, predicts) in [(34, false), (35, true)] {
            let semantics = behaviour_of(Minor { minor, patch: None }).unwrap();
            assert_eq!(older_version(&semantics).is_none(), predicts, "1.{minor}");
            let required = require_predictions(&semantics);
            assert_eq!(required.is_ok(), predicts, "1.{minor}");
            if let Err(failure) = required {
                assert_eq!(failure.status(), ExitStatus::Usage);
                let text = failure.to_string();
                assert!(text.contains("1.34") && text.contains("1.35"), "{text}");
            }
        }
    }

    #[test]
    fn only_a_version_that_is_newer_than_all_known_is_told() {
        let warned = |minor| {
            let semantics = behaviour_of(Minor { minor, patch: None }).unwrap();
            newer_version(&semantics).is_some()
        };
        assert!(warned(99));
        assert!(!warned(Semantics::NEWEST.minor));
    }

    #[test]
    fn what_a_server_says_goes_before_what_was_typed() {
        let (minor, v1) = (Minor::parse, Some("resource.k8s.io/v1"));
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
}
