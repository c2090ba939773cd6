//! Unpublished devices, which nothing that is typed can be compared with.

use std::collections::BTreeSet;

use super::unknown::{after_publication, incomplete_pool};
use crate::error::Failure;
use crate::model::{DeviceId, DriverName, PoolName, ResourceSlice};
use crate::naming::phrase::few;

/// What a command takes to leave devices out that cannot be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComparisonLimit {
    /// Nothing: such devices are named instead.
    Names,
    /// The devices of a driver, beside the number.
    #[default]
    Drivers,
    /// As [`ComparisonLimit::Drivers`], and `--skip-errors`.
    SkipErrors,
}

impl ComparisonLimit {
    /// Whether the command skips what cannot be compared.
    #[must_use]
    pub fn takes_skip_errors(self) -> bool {
        match self {
            Self::SkipErrors => true,
            Self::Names | Self::Drivers => false,
        }
    }

    /// The failure with the way out of these `unpublished` devices, which cannot be compared. Those of incomplete pools are
    /// published with the rest of the pool: until then, no narrower selection helps.
    #[must_use]
    pub fn explain(
        self,
        failure: Failure,
        unpublished: &[&DeviceId],
        slices: &[ResourceSlice],
    ) -> Failure {
        let pools = unpublished.iter().map(|id| (&id.driver, &id.pool));
        let pools: BTreeSet<(&DriverName, &PoolName)> = pools.collect();
        let (mut failure, mut is_any_other) = (failure, false);
        let mut drivers = BTreeSet::new();
        for (driver, pool) in pools {
            match incomplete_pool(driver, pool, slices) {
                Some(cause) => {
                    failure = failure.detail(format!(
                        "{cause}, so the attributes of its allocated devices are unknown"
                    ));
                    drivers.insert(driver);
                }
                None => is_any_other = true,
            }
        }
        let failure = drivers.into_iter().fold(failure, |failure, driver| {
            failure.hint(after_publication(driver))
        });
        if is_any_other {
            failure.hint(self.hint())
        } else {
            failure.hint("to select an allocated device now, specify it as DRIVER/POOL/DEVICE")
        }
    }

    /// The way out of unpublished devices that cannot be compared.
    #[must_use]
    fn hint(self) -> &'static str {
        match self {
            Self::Names => {
                "name the device as device/DRIVER/POOL/DEVICE; list the devices with \
                 `kubectl devicetaint devices`"
            }
            Self::Drivers => "to select only devices of one driver, add 'DRIVER/*/*'",
            Self::SkipErrors => {
                "add 'DRIVER/*/*' to select only devices of one driver, or skip these devices: --skip-errors"
            }
        }
    }
}

/// That these unpublished devices were not compared; absent where there are none.
#[must_use]
pub fn not_compared(unpublished: &[DeviceId]) -> Option<String> {
    let names: Vec<String> = unpublished.iter().map(ToString::to_string).collect();
    let (devices, matching) = if names.len() == 1 {
        ("this allocated device", "it matches")
    } else {
        ("these allocated devices", "they match")
    };
    let names = (!names.is_empty()).then(|| few(&names))?;
    Some(format!(
        "no ResourceSlice lists {devices}, so it is unknown whether {matching}: {names}"
    ))
}
