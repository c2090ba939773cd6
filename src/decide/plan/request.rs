//! Request of a plan: number and kind of units, and conditions.

use crate::assess::AvailabilityFloor;
use crate::error::Failure;

/// Request of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRequest {
    /// Number and kind of units.
    pub size: PlanSize,
    /// Domains over which they are spread.
    pub spread: Option<Spread>,
    /// Devices that must stay allocatable.
    pub keeps: Option<AvailabilityFloor>,
}

/// Number and kind of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanSize {
    /// Any devices (`--count`).
    Devices(usize),
    /// Any nodes, with all of their devices (`--nodes`).
    Nodes(usize),
    /// Devices of each pool (`--per-pool`).
    PerPool(usize),
}

/// Domains over which the units of a plan are spread as evenly as possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Zones of nodes, by the label `topology.kubernetes.io/zone`.
    Zone,
    /// Nodes.
    Node,
}

impl Spread {
    /// Values of `--spread`.
    pub const ALL: [(&'static str, Self); 2] = [("zone", Self::Zone), ("node", Self::Node)];
}

impl PlanSize {
    /// The given number.
    #[must_use]
    pub fn number(self) -> usize {
        match self {
            Self::Devices(number) | Self::Nodes(number) | Self::PerPool(number) => number,
        }
    }

    /// The flag that sets it.
    #[must_use]
    pub fn flag(self) -> &'static str {
        match self {
            Self::Devices(_) => "--count",
            Self::Nodes(_) => "--nodes",
            Self::PerPool(_) => "--per-pool",
        }
    }

    /// What one unit is.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Devices(_) | Self::PerPool(_) => "device",
            Self::Nodes(_) => "node",
        }
    }
}

impl PlanRequest {
    /// Refuses contradictory requests; needs no cluster.
    ///
    /// # Errors
    ///
    /// Zero units; nodes spread over nodes; `--per-pool`, which sets the number of each pool, together with a spread.
    pub fn check(&self) -> Result<(), Failure> {
        let flag = self.size.flag();
        if self.size.number() == 0 {
            return Err(Failure::usage(format!("{flag} 0 plans nothing"))
                .hint("use a whole number of 1 or more"));
        }
        match (self.size, self.spread) {
            (PlanSize::PerPool(_), Some(_)) => Err(Failure::usage(
                "--spread cannot be used together with --per-pool, which takes the same number of \
                 devices from every pool",
            )),
            (PlanSize::Nodes(_), Some(Spread::Node)) => Err(Failure::usage(
                "--spread node cannot be used together with --nodes, which always chooses \
                different nodes",
            )
            .hint("spread nodes over zones: --spread zone")),
            (PlanSize::Devices(_) | PlanSize::Nodes(_) | PlanSize::PerPool(_), _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_contradicts_itself_is_refused_without_a_cluster() {
        for (size, spread, expected) in [
            (PlanSize::Devices(1), None, None),
            (PlanSize::Devices(1), Some(Spread::Node), None),
            (PlanSize::Nodes(1), Some(Spread::Zone), None),
            (PlanSize::Devices(0), None, Some("--count 0 plans nothing")),
            (PlanSize::Nodes(0), None, Some("--nodes 0 plans nothing")),
            (
                PlanSize::PerPool(0),
                None,
                Some("--per-pool 0 plans nothing"),
            ),
            (
                PlanSize::Nodes(1),
                Some(Spread::Node),
                Some("--spread node cannot be used together with --nodes"),
            ),
            (
                PlanSize::PerPool(1),
                Some(Spread::Zone),
                Some("--spread cannot be used together with --per-pool"),
            ),
        ] {
            let request = PlanRequest {
                size,
                spread,
                keeps: None,
            };
            let said = request.check().err().map(|failure| failure.to_string());
            match (&said, expected) {
                (None, None) => {}
                (Some(said), Some(expected)) => assert!(said.starts_with(expected), "{said}"),
                _ => panic!("{size:?} {spread:?}: {said:?}"),
            }
        }
    }
}
