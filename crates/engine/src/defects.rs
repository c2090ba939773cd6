//! Known defects of Kubernetes releases around device taints.
//!
//! [`Semantics`](super::Semantics) says how versions behave, and verdicts follow it. This lists the unwanted part of
//! that behaviour, since when and until when, and where upstream tells it: to be known before rules are made there.

use crate::model::Minor;

/// Something that releases of Kubernetes do wrong around taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Defect {
    /// Rules that are there can make kube-scheduler panic when a slice changes, or changes of them are
    /// ignored by it: its informer asks for another version of the API than its handlers take.
    SchedulerBreaks,
    /// kube-scheduler can panic when rules and slices change at the same time.
    SchedulerPanics,
    /// The eviction controller does not see that pods use devices through extended resources.
    ExtendedResourcesStay,
    /// The eviction controller stops at the first outdated entry of `reservedFor`.
    StaleReservationsHide,
}

/// Presence of a defect in a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It has.
    Present,
    /// It has not.
    Absent,
    /// Unknown: the version has no patch.
    NotKnown,
}

impl Defect {
    /// Every defect, the worst first.
    pub const ALL: [Self; 4] = [
        Self::SchedulerBreaks,
        Self::SchedulerPanics,
        Self::ExtendedResourcesStay,
        Self::StaleReservationsHide,
    ];

    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::SchedulerBreaks => "scheduler-breaks",
            Self::SchedulerPanics => "scheduler-panics",
            Self::ExtendedResourcesStay => "extended-resources-stay",
            Self::StaleReservationsHide => "stale-reservations-hide",
        }
    }

    /// Consequence, in one line.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::SchedulerBreaks => {
                "kube-scheduler can ignore rules, and any rule can make it panic"
            }
            Self::SchedulerPanics => {
                "kube-scheduler can panic when rules and slices change at the same time"
            }
            Self::ExtendedResourcesStay => {
                "pods that use devices through extended resources are not evicted"
            }
            Self::StaleReservationsHide => {
                "if a claim's reservedFor has an outdated entry, a new rule does not evict the pods listed after \
                 this entry until those Pod objects change"
            }
        }
    }

    /// Where it is told upstream: the number of an issue or a change of kubernetes/kubernetes.
    pub fn upstream(self) -> u32 {
        match self {
            Self::SchedulerBreaks => 139_651,
            Self::SchedulerPanics => 143_378,
            Self::ExtendedResourcesStay => 141_290,
            Self::StaleReservationsHide => 135_686,
        }
    }

    /// The first version that has it, from its first release on.
    pub fn since(self) -> Minor {
        let minor = match self {
            Self::SchedulerBreaks => 36,
            // Before, there are no devices behind extended resources.
            Self::SchedulerPanics | Self::ExtendedResourcesStay => 34,
            Self::StaleReservationsHide => 33,
        };
        Minor { minor, patch: None }
    }

    /// The first release that is without it.
    pub fn repair(self) -> Minor {
        let release = |minor, patch| Minor {
            minor,
            patch: Some(patch),
        };
        match self {
            Self::SchedulerBreaks => release(36, 3),
            Self::SchedulerPanics => release(38, 0),
            Self::ExtendedResourcesStay => release(37, 2),
            Self::StaleReservationsHide => release(36, 0),
        }
    }

    /// Presence in the release. A vendor's suffix plays no part; a version that says no patch, such as a pre-release,
    /// may be before or after the repair.
    pub fn presence(self, release: Option<Minor>) -> Presence {
        let Some(release) = release else {
            return Presence::NotKnown;
        };
        if release.minor < self.since().minor {
            return Presence::Absent;
        }
        let first = self.repair();
        if release.minor != first.minor {
            return if release.minor < first.minor {
                Presence::Present
            } else {
                Presence::Absent
            };
        }
        match (release.patch, first.patch.unwrap_or(0)) {
            (_, 0) => Presence::Absent,
            (Some(patch), needed) if patch < needed => Presence::Present,
            (Some(_), _) => Presence::Absent,
            (None, _) => Presence::NotKnown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_is_in_the_releases_between_its_first_and_its_repair() {
        use Defect::{
            ExtendedResourcesStay, SchedulerBreaks, SchedulerPanics, StaleReservationsHide,
        };
        use Presence::{Absent, NotKnown, Present};
        for (defect, release, expected) in [
            (SchedulerBreaks, "v1.35.9", Absent),
            (SchedulerBreaks, "v1.36.0", Present),
            (SchedulerBreaks, "v1.36.2", Present),
            (SchedulerBreaks, "v1.36.3", Absent),
            (SchedulerBreaks, "v1.36.12", Absent),
            (SchedulerBreaks, "v1.37.0", Absent),
            (SchedulerBreaks, "v1.37", Absent),
            // Managed clusters count by their number.
            (SchedulerBreaks, "v1.36.2-gke.1", Present),
            (SchedulerBreaks, "v1.36.2+k3s1", Present),
            (SchedulerBreaks, "v1.36.3-eks-a5df82f", Absent),
            (SchedulerBreaks, "1.36+", NotKnown),
            (SchedulerBreaks, "v1.36.3-rc.0", NotKnown),
            (SchedulerBreaks, "unknown", NotKnown),
            (ExtendedResourcesStay, "v1.33.4", Absent),
            (ExtendedResourcesStay, "v1.34", Present),
            (ExtendedResourcesStay, "v1.36.7", Present),
            (ExtendedResourcesStay, "v1.37.1", Present),
            (ExtendedResourcesStay, "v1.37", NotKnown),
            (ExtendedResourcesStay, "v1.37.2", Absent),
            (ExtendedResourcesStay, "v1.38.0", Absent),
            (SchedulerPanics, "v1.35.4", Present),
            (SchedulerPanics, "v1.37.2", Present),
            (SchedulerPanics, "v1.37", Present),
            (SchedulerPanics, "v1.38.0", Absent),
            (StaleReservationsHide, "v1.33.0", Present),
            (StaleReservationsHide, "v1.35", Present),
            (StaleReservationsHide, "v1.35.4", Present),
            (StaleReservationsHide, "v1.36.0", Absent),
            (StaleReservationsHide, "v1.36", Absent),
        ] {
            let found = defect.presence(Minor::parse(release));
            assert_eq!(found, expected, "{} in {release}", defect.code());
        }
    }

    #[test]
    fn every_defect_has_a_code_of_its_own_and_a_place_upstream() {
        let codes: std::collections::BTreeSet<_> = Defect::ALL.map(Defect::code).into();
        let places: std::collections::BTreeSet<_> = Defect::ALL.map(Defect::upstream).into();
        assert_eq!((codes.len(), places.len()), (4, 4));
    }
}
