//! Behaviour of Kubernetes versions: the one table of differences.

use crate::model::Minor;

/// Treatment of device taints by one Kubernetes version, where versions differ.
///
/// The one place that knows versions; everything else asks for a behaviour by name. Chosen once per
/// run: from the server's version, from what the files show, or by the user.
///
/// Source: the registries, trackers, controllers and schedulers of Kubernetes 1.35.4, 1.36.3, 1.37.2
/// and 1.38.0-beta.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Semantics {
    /// The version this describes.
    pub version: Minor,
    /// True if a rule without a selector blocks the allocation of every device (up to 1.37.0).
    pub nil_selector_blocks: bool,
    /// True if the API server sets `timeAdded` anew when a rule's effect changes (since 1.36).
    pub server_renews_time_added: bool,
    /// True if an outdated entry of `reservedFor` hides the consumers behind it from a new rule until their pods change
    /// (up to 1.35).
    pub stale_reservation_hides: bool,
    /// True if the controller evicts pods that got their devices through an extended resource (since 1.37.2).
    pub evicts_extended_resources: bool,
    /// True if a toleration without effect tolerates `NoExecute` (since 1.38), not only for the scheduler.
    pub effectless_tolerates_no_execute: bool,
    /// True if shared devices and partitions are modelled (since 1.36, where their feature gates are on by default).
    pub models_parts_of_devices: bool,
    /// True if a request for all devices also needs those of which no capacity is left, and so fails (since 1.37);
    /// before, it leaves them out.
    pub all_has_full_devices: bool,
    /// True if the scheduler allocates devices as 1.38 does: a capacity has one name, with the driver or without; a
    /// device with shares is not allocated exclusively; versions are equal by semver; a request for all devices skips a
    /// node with an incomplete or invalid pool instead of ending the attempt; a negative consumed capacity of any claim
    /// ends every attempt.
    pub allocates_as_1_38: bool,
    /// True if a reservation for a PodGroup counts for its pods: the feature gate `DRAWorkloadResourceClaims`, off by
    /// default in every version, unknown before 1.36.
    pub honours_pod_groups: bool,
}

impl Semantics {
    /// The newest minor version that is known.
    pub const NEWEST: Minor = Minor {
        minor: 38,
        patch: None,
    };
    /// The newest release that is known: what versions after [`Semantics::NEWEST`] are taken to behave like.
    pub const NEWEST_RELEASE: Minor = release(38, 0);
    /// The version of [`Semantics::assumed`]: the newest that is released.
    pub const ASSUMED: Minor = Minor {
        minor: 37,
        patch: None,
    };
    /// The oldest version that is supported.
    pub const OLDEST: Minor = Minor {
        minor: 35,
        patch: None,
    };

    /// The releases that behave differently, oldest first.
    pub const RELEASES: [Minor; 6] = [
        release(35, 0),
        release(36, 0),
        release(37, 0),
        release(37, 1),
        release(37, 2),
        Self::NEWEST_RELEASE,
    ];

    /// Semantics of `version` with its default feature gates, or `None` for a version before 1.34.
    ///
    /// 1.34 serves the same claims and slices as [`Semantics::OLDEST`], and is described like it.
    /// A version without a patch behaves like the minor's first release. One newer than
    /// [`Semantics::NEWEST`] behaves like [`Semantics::NEWEST_RELEASE`].
    pub fn of(version: Minor) -> Option<Self> {
        (version.minor >= 34).then(|| Self::known(version))
    }

    /// As [`Semantics::of`], for a version that is not too old.
    fn known(version: Minor) -> Self {
        let minor = version.minor;
        let at_least = |wanted: u32, patch: u32| {
            minor > wanted || (minor == wanted && version.patch.unwrap_or(0) >= patch)
        };
        Self {
            version,
            nil_selector_blocks: !at_least(37, 1),
            server_renews_time_added: minor >= 36,
            stale_reservation_hides: minor <= 35,
            evicts_extended_resources: at_least(37, 2),
            effectless_tolerates_no_execute: minor >= 38,
            models_parts_of_devices: minor >= 36,
            all_has_full_devices: minor >= 37,
            allocates_as_1_38: minor >= 38,
            honours_pod_groups: false,
        }
    }

    /// The version that is assumed where none is known, with its default feature gates.
    pub fn assumed() -> Self {
        Self::known(Self::ASSUMED)
    }

    /// True if enough is known of the version to say which pods it evicts.
    pub fn predicts_evictions(&self) -> bool {
        self.version.minor >= Self::OLDEST.minor
    }

    /// Turns the feature gate `DRAWorkloadResourceClaims` on, where the version has it.
    #[must_use]
    pub fn with_pod_groups(self) -> Self {
        Self {
            honours_pod_groups: self.version.minor >= 36,
            ..self
        }
    }
}

const fn release(minor: u32, patch: u32) -> Minor {
    Minor {
        minor,
        patch: Some(patch),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(minor: u32, patch: Option<u32>) -> Semantics {
        Semantics::of(Minor { minor, patch }).expect("a known version")
    }

    #[test]
    fn version_before_the_oldest_one_is_described_like_it_and_older_ones_are_not() {
        let (before, oldest) = (version(34, None), version(35, None));
        assert!(!before.predicts_evictions() && oldest.predicts_evictions());
        let version = oldest.version;
        assert_eq!(Semantics { version, ..before }, oldest);
        let minor = 33;
        assert_eq!(Semantics::of(Minor { minor, patch: None }), None);
    }

    #[test]
    fn the_assumed_version_is_released() {
        assert_eq!(Semantics::assumed(), version(37, None));
    }

    #[test]
    fn a_version_from_the_future_behaves_like_the_newest_patch() {
        let future = version(41, None);
        assert!(future.evicts_extended_resources && !future.nil_selector_blocks);
    }

    #[test]
    fn behaviour_changes_where_upstream_changed_it() {
        // The behaviour, whether there is any since it was changed, and the first version of these that has the change.
        type Row = (&'static str, fn(&Semantics) -> bool, bool, usize);
        let rows: [Row; 8] = [
            ("nil selector blocks", |s| s.nil_selector_blocks, false, 3),
            ("timeAdded renewed", |s| s.server_renews_time_added, true, 1),
            ("reservation hides", |s| s.stale_reservation_hides, false, 1),
            ("extended", |s| s.evicts_extended_resources, true, 4),
            ("no effect", |s| s.effectless_tolerates_no_execute, true, 5),
            ("parts of devices", |s| s.models_parts_of_devices, true, 1),
            ("all, full ones too", |s| s.all_has_full_devices, true, 2),
            ("allocator of 1.38", |s| s.allocates_as_1_38, true, 5),
        ];
        let versions = [
            version(35, None),
            version(36, None),
            version(37, Some(0)),
            version(37, Some(1)),
            version(37, Some(2)),
            version(38, Some(0)),
        ];
        for (name, behaviour, is_there, since) in rows {
            for (version, place) in versions.iter().zip(0..) {
                assert_eq!(behaviour(version) == is_there, place >= since, "{name}");
            }
        }
    }

    #[test]
    fn pod_groups_cannot_be_switched_on_before_they_exist() {
        assert!(!version(35, None).with_pod_groups().honours_pod_groups);
        assert!(version(36, None).with_pod_groups().honours_pod_groups);
    }
}
