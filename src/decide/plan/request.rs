//! What a plan is asked for: how many units of which kind, and what has to hold.

use crate::assess::AvailabilityFloor;
use crate::error::Failure;

/// What a plan is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRequest {
    /// How many units, and of which kind.
    pub size: PlanSize,
    /// Over what they are spread.
    pub spread: Option<Spread>,
    /// How many devices stay allocatable.
    pub keeps: Option<AvailabilityFloor>,
}

/// How many units, and of which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanSize {
    /// Any devices (`--count`).
    Devices(usize),
    /// Any nodes, with all of their devices (`--nodes`).
    Nodes(usize),
    /// Devices of each pool (`--per-pool`).
    PerPool(usize),
}

/// Over what the units of a plan are spread: none gives more of them than it has to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Zones of nodes, by the label `topology.kubernetes.io/zone`.
    Zone,
    /// Nodes.
    Node,
}

impl Spread {
    /// The words by which it is typed.
    pub const ALL: [(&'static str, Self); 2] = [("zone", Self::Zone), ("node", Self::Node)];
}

impl PlanSize {
    /// The number that was typed.
    #[must_use]
    pub fn number(self) -> usize {
        match self {
            Self::Devices(number) | Self::Nodes(number) | Self::PerPool(number) => number,
        }
    }

    /// The flag by which it is typed.
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
    /// Refuses what contradicts itself, without a cluster.
    ///
    /// # Errors
    ///
    /// No units at all; units that are spread over what they are, or over what already says how many.
    pub fn check(&self) -> Result<(), Failure> {
        let flag = self.size.flag();
        if self.size.number() == 0 {
            return Err(Failure::usage(format!("{flag} 0 plans nothing"))
                .hint("use a whole number of 1 or more"));
        }
        match (self.size, self.spread) {
            (PlanSize::PerPool(_), Some(_)) => Err(Failure::usage(
                "--spread cannot be used together with --per-pool, which takes the same number of \
                 every pool",
            )),
            (PlanSize::Nodes(_), Some(Spread::Node)) => Err(Failure::usage(
                "--spread node cannot be used together with --nodes, which takes each node once",
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
