//! Unpublished devices, which nothing that is typed can be compared with.

use crate::model::DeviceId;
use crate::naming::phrase::{counted, few};

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

    /// The way out of unpublished devices that cannot be compared.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Names => {
                "name the device as device/DRIVER/POOL/DEVICE; list the devices with \
                 `kubectl devicetaint devices`"
            }
            Self::Drivers => "select only devices of one driver, as 'DRIVER/*/*'",
            Self::SkipErrors => {
                "select only devices of one driver, as 'DRIVER/*/*', or skip these devices: --skip-errors"
            }
        }
    }
}

/// That these unpublished devices were not compared; absent where there are none.
#[must_use]
pub fn not_compared(unpublished: &[DeviceId]) -> Option<String> {
    let names: Vec<String> = unpublished.iter().map(ToString::to_string).collect();
    let (verb, matches) = if names.len() == 1 {
        ("is", "matches")
    } else {
        ("are", "match")
    };
    let count = counted(names.len(), "allocated device");
    let names = (!names.is_empty()).then(|| few(&names))?;
    Some(format!(
        "cannot tell whether {count} that {verb} not published {matches}: {names}"
    ))
}
