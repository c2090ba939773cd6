//! What was probably meant by a name that cannot be?

use crate::decide::identity::known::misspelt;
use crate::error::Failure;
use crate::naming::shell::word;
use crate::naming::{NamingError, device};

/// A name that cannot be, with what it may have been meant as.
#[must_use]
pub fn wrong_name(error: NamingError) -> Failure {
    let hint = match &error {
        NamingError::TwoSegments { suggestions, .. } => Some(format!(
            "did you mean {} or {}?",
            word(&suggestions[0]),
            word(&suggestions[1])
        )),
        NamingError::Invalid {
            field: "taint key",
            value,
            ..
        } if device::parse(value).is_ok_and(|selector| selector.device.is_some()) => Some(format!(
            "a device and its taint are two words: {value} KEY:EFFECT"
        )),
        NamingError::Everything { .. } => Some("if that is meant, say --all-devices".to_owned()),
        NamingError::UnknownEffect {
            nearest: Some(effect),
            ..
        } => Some(format!("did you mean {effect}?")),
        NamingError::UnknownEffect { nearest: None, .. }
        | NamingError::EmptySegment { .. }
        | NamingError::Invalid { .. }
        | NamingError::NoEffect { .. } => None,
    };
    hint.into_iter().fold(Failure::usage(error), Failure::hint)
}

/// The failure with the hardware that one of the arguments was probably to name.
#[must_use]
pub fn meant_as_hardware(arguments: &[String], failure: Failure) -> Failure {
    match arguments.iter().find_map(|text| misspelt(text)) {
        Some(meant) => failure.hint(format!("did you mean the hardware {}?", word(&meant))),
        None => failure,
    }
}
