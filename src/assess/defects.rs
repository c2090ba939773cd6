//! Known defects of Kubernetes releases that a change or an answer would run into.

use crate::engine::{Defect, Impact, NotEvicted, Presence, Semantics, Verdict};
use crate::model::{Minor, Warning};
use crate::naming::phrase::counted;

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

/// The defects that an answer depends on, beside those of any rule.
pub fn of_impact(impact: &Impact<'_>, semantics: &Semantics) -> Vec<Warning> {
    let stays = |reason: NotEvicted| {
        let is = |verdict: &Verdict| *verdict == Verdict::NotEvicted(reason);
        impact
            .pods
            .iter()
            .filter(move |pod| is(&pod.verdict))
            .count()
    };
    let release = semantics.version;
    let extended = Defect::ExtendedResourcesStay;
    let stale = Defect::StaleReservationsHide;
    let ask = "run `preview --publish`: it compares the preview with the number of pods that the cluster's \
        eviction controller would evict";
    let warning = |defect: Defect, message: String, fix: &str| Warning {
        code: defect.code(),
        message: format!("{message}: {}", upstream(defect)),
        fix: Some(fix.to_owned()),
    };
    let left = |reason| Some(stays(reason)).filter(|pods| *pods > 0);
    let warnings = [
        left(NotEvicted::ExtendedResource).map(|pods| {
            let pods = counted(pods, "pod");
            let message = format!(
                "Kubernetes {release} does not evict {pods} with devices requested as extended \
                 resources"
            );
            warning(extended, message, ask)
        }),
        left(NotEvicted::HiddenByStaleReservation).map(|pods| {
            let pods = counted(pods, "pod");
            let message = format!(
                "Kubernetes {release} does not evict {pods} until a field of the Pod object changes: an \
                 outdated entry in a claim's reservedFor hides the pods from the controller"
            );
            warning(stale, message, &fixed(stale))
        }),
    ];
    warnings.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::{self, Example};

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

    #[test]
    fn what_a_release_leaves_alone_by_mistake_is_told_where_it_does() {
        let example = Example::new();
        let codes = |verdict: Verdict, extended: bool, version: &str| {
            let mut pod = testing::pod("team-a", "train-0");
            pod.extended_resource_claim = extended.then(|| "x".into());
            let mut impact = example.impact();
            impact.pods = vec![testing::with_verdict(&pod, verdict)];
            let semantics = Semantics::of(Minor::parse(version).unwrap()).unwrap();
            let found = of_impact(&impact, &semantics);
            found
                .into_iter()
                .map(|found| found.code)
                .collect::<Vec<_>>()
        };
        let extended = Verdict::NotEvicted(NotEvicted::ExtendedResource);
        let hidden = Verdict::NotEvicted(NotEvicted::HiddenByStaleReservation);
        let evicted = Verdict::Evicted { at: testing::now() };
        assert_eq!(codes(extended, true, "1.37.1"), ["extended-resources-stay"]);
        assert_eq!(codes(hidden, false, "1.35.2"), ["stale-reservations-hide"]);
        assert!(codes(evicted.clone(), true, "1.37.2").is_empty());
        assert!(codes(evicted, true, "1.36.4").is_empty());
        assert!(codes(Verdict::Tolerates, true, "1.37.1").is_empty());
    }
}
