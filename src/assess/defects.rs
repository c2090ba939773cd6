//! Known defects of Kubernetes releases that a change or an answer would run into.

use crate::engine::{Defect, Presence};
use crate::model::{Minor, Warning};

/// The releases that have a defect, such as `1.36.0 to 1.36.2`.
pub fn releases(defect: Defect) -> String {
    let since = defect.since();
    let Minor { minor, patch } = defect.repair();
    let last = match patch.and_then(|patch| patch.checked_sub(1)) {
        Some(patch) => Minor {
            minor,
            patch: Some(patch),
        },
        // Fixed in the first release of a minor version, so that all releases of the one before have the defect.
        None => Minor {
            minor: minor.saturating_sub(1),
            patch: None,
        },
    };
    // With the patch on both sides, or on none.
    let first = Minor {
        patch: last.patch.map(|_| 0),
        ..since
    };
    format!("{first} to {last}")
}

/// Upstream reference of a defect.
pub fn upstream(defect: Defect) -> String {
    format!("kubernetes#{}", defect.upstream())
}

/// Warning where rules exist, or are about to, on this release: that they can break kube-scheduler, or that
/// this is unknown. Absent where they cannot.
pub fn of_rules(release: Option<Minor>) -> Option<Warning> {
    let defect = Defect::SchedulerBreaks;
    let (affected, upstream) = (releases(defect), upstream(defect));
    let message = match (defect.presence(release), release) {
        (Presence::Absent, _) => return None,
        (Presence::Present, Some(release)) => format!(
            "the kube-scheduler of Kubernetes {release} can panic because of any DeviceTaintRule, or ignore the rule: {upstream}"
        ),
        // A defect is present only in a known release, which is matched above; here the version alone cannot tell.
        (Presence::NotKnown | Presence::Present, _) => format!(
            "the server may run Kubernetes {affected}, whose kube-scheduler can panic because of any DeviceTaintRule, \
             or ignore the rule: {upstream}"
        ),
    };
    Some(Warning {
        code: defect.code(),
        message,
        fix: Some(fixed(defect)),
    })
}

fn fixed(defect: Defect) -> String {
    format!("fixed in {}", defect.repair())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(version: Option<&str>) -> Option<String> {
        let version = version.and_then(Minor::parse);
        of_rules(version).map(|warning| warning.message)
    }

    #[test]
    fn rules_are_warned_of_where_they_break_the_scheduler_or_may() {
        let told = message(Some("v1.36.2-gke.1")).unwrap();
        assert!(
            told.contains("kube-scheduler of Kubernetes 1.36.2"),
            "{told}"
        );
        assert!(told.ends_with("kubernetes#139651"), "{told}");
        for unknown in [Some("v1.36"), None] {
            let told = message(unknown).unwrap();
            assert!(told.contains("may run"), "{told}");
        }
        for without in ["v1.35.0", "v1.36.3", "v1.37.0"] {
            assert_eq!(message(Some(without)), None);
        }
    }
}
