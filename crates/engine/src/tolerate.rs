//! Tolerations, and the time for which they tolerate a taint.

use super::expression::DeviceExpression;
use super::semantics::Semantics;
use crate::model::{
    ClaimSpec, Device, DriverName, Effect, NamespacedName, Operator, RequestKind, RequestTerms,
    ResourceClaim, Snapshot, Taint, Toleration,
};
use jiff::{SignedDuration, Timestamp};
use std::fmt;

/// Time that a set of tolerations gives for one taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deadline {
    /// The pod has to leave then; a time in the past means at once.
    At(Timestamp),
    /// The taint never counts: a toleration without seconds covers it.
    Never,
}

/// Decision about one taint, and the toleration that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TolerationDecision {
    /// When the taint drives its users away.
    pub deadline: Deadline,
    /// The toleration that decided it, by its place; absent where none covers the taint.
    pub by: Option<usize>,
}

/// True if `toleration` covers `taint`, the way the scheduler compares them.
///
/// An empty key covers every key, an absent effect every effect; with operator `Equal` values must
/// be the same, also when the key is empty.
///
/// Upstream: `resourceclaim.ToleratesTaint` in `devicetoleration.go`.
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = toleration.effect.as_ref();
    let value = match &toleration.operator {
        Operator::Equal => toleration.value == taint.value,
        Operator::Exists => true,
        Operator::Unknown(_) => false,
    };
    value
        && (toleration.key.is_empty() || toleration.key == taint.key)
        && effect.is_none_or(|effect| *effect == taint.effect)
}

/// True if `toleration` keeps the eviction controller from acting on `taint`, for a while or forever.
///
/// Up to 1.37 more than [`tolerates`]: the toleration's own effect has to be `NoExecute`, literally. One
/// without effect, which the API documents as "all effects", lets a pod be scheduled and does not keep it.
///
/// Upstream: `claimEvictionTime` in `device_taint_eviction.go`.
pub fn tolerates_eviction(toleration: &Toleration, taint: &Taint, semantics: &Semantics) -> bool {
    let counts = match &toleration.effect {
        None => semantics.effectless_tolerates_no_execute,
        Some(effect) => *effect == Effect::NoExecute,
    };
    counts && tolerates(toleration, taint)
}

/// When `taint` drives its users away: see [`decision`].
pub fn deadline(
    taint: &Taint,
    tolerations: &[Toleration],
    now: Timestamp,
    semantics: &Semantics,
) -> Deadline {
    decision(taint, tolerations, now, semantics).deadline
}

/// When `taint` drives its users away, and which toleration says so.
///
/// `tolerations` are those in the claim's allocation result, not in its request. One without seconds
/// wins over all others; among the rest the smallest number of seconds counts, from the taint's
/// `time_added`. Zero and negative seconds mean at once. A taint without `time_added` is one that no
/// API server has seen, which would set it to `now`.
///
/// Seconds are multiplied to nanoseconds in 64 bits and wrap around as they do upstream, so that
/// more than 9,223,372,036 seconds may lie in the past.
///
/// Upstream: `claimEvictionTime` in `device_taint_eviction.go`.
pub fn decision(
    taint: &Taint,
    tolerations: &[Toleration],
    now: Timestamp,
    semantics: &Semantics,
) -> TolerationDecision {
    let added = taint.time_added.unwrap_or(now);
    let mut shortest: Option<(i64, usize)> = None;
    for (place, toleration) in tolerations.iter().enumerate() {
        if !tolerates_eviction(toleration, taint, semantics) {
            continue;
        }
        let Some(seconds) = toleration.seconds else {
            return TolerationDecision {
                deadline: Deadline::Never,
                by: Some(place),
            };
        };
        // Pairs compare by seconds first: of equal ones the first toleration is named.
        let offer = (seconds.max(0), place);
        shortest = Some(shortest.map_or(offer, |shortest| shortest.min(offer)));
    }
    TolerationDecision {
        deadline: Deadline::At(shortest.map_or(added, |(seconds, _)| after(added, seconds))),
        by: shortest.map(|(_, place)| place),
    }
}

/// `seconds` after `start`, with the wrap-around of a 64-bit nanosecond duration.
fn after(start: Timestamp, seconds: i64) -> Timestamp {
    let delay = SignedDuration::from_nanos(seconds.wrapping_mul(1_000_000_000));
    // Where the sum is no timestamp any more, the limit keeps on which side of `now` it lies.
    let limit = if delay.is_negative() {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    start.checked_add(delay).unwrap_or(limit)
}

/// Claim or template that tolerates the taints of a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TolerantClaim {
    /// A claim that holds nothing now.
    Claim(NamespacedName),
    /// A template, from which every pod that names it gets a claim.
    Template(NamespacedName),
}

impl fmt::Display for TolerantClaim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Claim(name) => write!(formatter, "claim {name}"),
            Self::Template(name) => write!(formatter, "claim template {name}"),
        }
    }
}

/// Claims and templates that tolerate all of `taints`, and could get a device of `driver`, as far as published.
pub fn tolerant(
    snapshot: &Snapshot,
    taints: &[&Taint],
    driver: &DriverName,
    device: Option<&Device>,
) -> Vec<TolerantClaim> {
    let place = TaintedDevice {
        snapshot,
        taints,
        driver,
        device,
    };
    let claims = idle(snapshot)
        .filter(|(_, spec)| place.takes(spec))
        .map(|(claim, _)| TolerantClaim::Claim(claim.name.clone()));
    let templates = snapshot
        .templates
        .iter()
        .filter(|template| place.takes(&template.spec))
        .map(|template| TolerantClaim::Template(template.name.clone()));
    let mut found: Vec<TolerantClaim> = claims.chain(templates).collect();
    found.sort();
    found
}

/// The claims that hold nothing, with what they ask for.
fn idle(snapshot: &Snapshot) -> impl Iterator<Item = (&ResourceClaim, &ClaimSpec)> {
    let claims = snapshot.claims.iter();
    let idle = claims.filter(|claim| claim.allocation.is_none());
    idle.filter_map(|claim| Some((claim, claim.spec.as_deref()?)))
}

/// A device with its taints.
struct TaintedDevice<'a> {
    snapshot: &'a Snapshot,
    taints: &'a [&'a Taint],
    driver: &'a DriverName,
    device: Option<&'a Device>,
}

impl TaintedDevice<'_> {
    /// True if a claim that asks for this could get the device.
    fn takes(&self, spec: &ClaimSpec) -> bool {
        spec.requests.iter().any(|request| match &request.kind {
            RequestKind::Exactly(terms) => self.fits(terms),
            RequestKind::FirstAvailable(terms) => terms.iter().any(|(_, terms)| self.fits(terms)),
            RequestKind::Unknown => true,
        })
    }

    fn fits(&self, terms: &RequestTerms) -> bool {
        self.is_tolerated(&terms.tolerations) && self.may_be_chosen(terms)
    }

    fn is_tolerated(&self, tolerations: &[Toleration]) -> bool {
        let covers = |taint: &Taint| tolerations.iter().any(|one| tolerates(one, taint));
        self.taints.iter().all(|taint| covers(taint))
    }

    /// Unless one of the class's or the request's expressions says no.
    fn may_be_chosen(&self, terms: &RequestTerms) -> bool {
        let class = self
            .snapshot
            .classes
            .iter()
            .find(|class| class.name == terms.class);
        let of_class = class.into_iter().flat_map(|class| &class.expressions);
        let own = terms.expressions.iter().map(|text| &**text);
        let mut all = of_class.map(String::as_str).chain(own);
        !all.any(|text| self.is_refused_by(text))
    }

    fn is_refused_by(&self, expression: &str) -> bool {
        let Ok(expression) = DeviceExpression::compile(expression) else {
            return false;
        };
        let verdict = match self.device {
            Some(device) => expression.matches(self.driver, device),
            None => expression.matches_unpublished(self.driver),
        };
        verdict == Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::semantics;

    const ADDED: i64 = 1_000;

    fn deadline(taint: &Taint, tolerations: &[Toleration], now: Timestamp) -> Deadline {
        super::deadline(taint, tolerations, now, &Semantics::assumed())
    }

    fn taint(effect: Effect) -> Taint {
        Taint {
            key: "example.com/ecc".into(),
            value: "high".into(),
            effect,
            time_added: Some(at(ADDED)),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
        Toleration {
            key: key.into(),
            operator: operator.into(),
            value: value.into(),
            effect: (!effect.is_empty()).then(|| effect.into()),
            seconds: None,
        }
    }

    fn lasting(seconds: i64) -> Toleration {
        Toleration {
            seconds: Some(seconds),
            ..toleration("", "Exists", "", "NoExecute")
        }
    }

    #[test]
    fn toleration_covers_taint() {
        let taint = taint(Effect::NoExecute);
        let (ecc, now) = ("example.com/ecc", "NoExecute");
        for (toleration, scheduler, eviction) in [
            (toleration(ecc, "Exists", "", now), true, true),
            (toleration(ecc, "Exists", "low", now), true, true),
            (toleration("", "Exists", "", now), true, true),
            (toleration(ecc, "Equal", "high", now), true, true),
            (toleration(ecc, "", "high", now), true, true),
            (toleration("", "", "high", now), true, true),
            (toleration("", "Equal", "low", now), false, false),
            (toleration(ecc, "Equal", "low", now), false, false),
            (toleration(ecc, "Equal", "", now), false, false),
            (toleration("other", "Exists", "", now), false, false),
            (toleration(ecc, "Exists", "", "NoSchedule"), false, false),
            // Without an effect, for the scheduler alone before 1.38.
            (toleration(ecc, "Exists", "", ""), true, false),
            (toleration("", "Exists", "", ""), true, false),
            (toleration(ecc, "Matches", "high", now), false, false),
        ] {
            assert_eq!(tolerates(&toleration, &taint), scheduler, "{toleration:?}");
            let evicts = |minor| tolerates_eviction(&toleration, &taint, &semantics(minor));
            assert_eq!(evicts(37), eviction, "{toleration:?}");
            assert_eq!(evicts(38), scheduler, "{toleration:?}");
        }
    }

    #[test]
    fn toleration_without_effect() {
        let taint = taint(Effect::NoExecute);
        let silent = toleration("", "Exists", "", "");
        let lasting = Toleration {
            seconds: Some(60),
            ..silent.clone()
        };
        let until = |toleration: &Toleration, minor| {
            let tolerations = std::slice::from_ref(toleration);
            super::deadline(&taint, tolerations, at(0), &semantics(minor))
        };
        assert_eq!(until(&silent, 37), Deadline::At(at(ADDED)));
        assert_eq!(until(&lasting, 37), Deadline::At(at(ADDED)));
        assert_eq!(until(&silent, 38), Deadline::Never);
        assert_eq!(until(&lasting, 38), Deadline::At(at(ADDED + 60)));
    }

    #[test]
    fn a_deadline_beyond_the_calendar_stays_at_its_end() {
        let taint = Taint {
            time_added: Some(Timestamp::MAX),
            ..taint(Effect::NoExecute)
        };
        assert_eq!(
            deadline(&taint, &[lasting(300)], at(0)),
            Deadline::At(Timestamp::MAX)
        );
    }

    #[test]
    fn a_taint_that_no_server_has_seen_counts_from_now() {
        let taint = Taint {
            time_added: None,
            ..taint(Effect::NoExecute)
        };
        assert_eq!(
            deadline(&taint, &[lasting(7)], at(50)),
            Deadline::At(at(57))
        );
    }
}
