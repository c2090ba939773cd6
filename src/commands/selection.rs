//! Which devices are meant?

use crate::error::Failure;
use crate::model::{DeviceId, DeviceSelector};
use crate::naming::{NamingError, device, suggest};

/// Flags that name devices, one to one with the API's selector.
#[derive(clap::Args, Debug)]
pub(super) struct SelectorArgs {
    /// Driver of the devices
    #[arg(long, help_heading = "Devices")]
    driver: Option<String>,

    /// Pool of the devices
    #[arg(long, help_heading = "Devices")]
    pool: Option<String>,

    /// Name of the devices within their pool
    #[arg(long, help_heading = "Devices")]
    device: Option<String>,
}

impl SelectorArgs {
    /// The selector, if any of the flags was given.
    pub(super) fn selector(&self) -> Result<Option<DeviceSelector>, Failure> {
        if self.driver.is_none() && self.pool.is_none() && self.device.is_none() {
            return Ok(None);
        }
        let selector = device::from_parts(
            self.driver.as_deref(),
            self.pool.as_deref(),
            self.device.as_deref(),
        );
        Ok(Some(selector.map_err(wrong_name)?))
    }
}

/// A name that cannot be, with what it may have been meant as.
pub(super) fn wrong_name(error: NamingError) -> Failure {
    let hints: Vec<String> = match &error {
        NamingError::TwoSegments { suggestions, .. } => {
            vec![format!(
                "did you mean {} or {}?",
                suggestions[0], suggestions[1]
            )]
        }
        NamingError::Everything { .. } => vec!["if that is meant, say --all-devices".to_owned()],
        NamingError::UnknownEffect {
            nearest: Some(effect),
            ..
        } => vec![format!("did you mean {effect}?")],
        NamingError::UnknownEffect { nearest: None, .. }
        | NamingError::EmptySegment { .. }
        | NamingError::Invalid { .. }
        | NamingError::NoEffect { .. } => Vec::new(),
    };
    hints.into_iter().fold(Failure::usage(error), Failure::hint)
}

/// No device of that name is published or allocated.
pub(super) fn no_such_device(selector: &DeviceSelector, known: &[DeviceId]) -> Failure {
    let name = device::format(selector);
    let failure = Failure::new(
        crate::error::ExitStatus::Failed,
        format!("no device matches {name}: none is published or allocated"),
    );
    let similar = suggest(selector, known);
    let failure = match similar.as_slice() {
        [] => failure,
        [only] => failure.hint(format!("did you mean {only}?")),
        several => failure.hint(format!("did you mean one of {}?", several.join(", "))),
    };
    failure.hint("list what there is with `kubectl devicetaint devices`")
}
