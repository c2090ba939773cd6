//! Suggestions for names that are malformed.

use crate::decide::identity::identifying_attributes::misspelt;
use crate::error::Failure;
use crate::naming::shell::word;
use crate::naming::{NamingError, device};

/// A name that cannot be, with what it may have been meant as.
#[must_use]
pub fn wrong_name(error: NamingError) -> Failure {
    let hint = match &error {
        // What has no dot is hardly a driver, and none that anybody has seen.
        NamingError::TwoSegments {
            argument,
            suggestions,
        } if !argument
            .split('/')
            .next()
            .is_some_and(|first| first.contains('.')) =>
        {
            Some(format!("did you mean {}?", word(&suggestions[1])))
        }
        NamingError::TwoSegments { suggestions, .. } => Some(format!(
            "did you mean {} or {}?",
            word(&suggestions[0]),
            word(&suggestions[1])
        )),
        // A device and an effect with a colon between them have the form of a taint, with the device as its
        // key.
        NamingError::Invalid {
            field: "taint key",
            value,
            ..
        } if device::parse(value).is_ok_and(|selector| selector.device.is_some()) => Some(format!(
            "separate device and taint by a space: {value} KEY:EFFECT"
        )),
        NamingError::Everything { .. }
        | NamingError::UnknownEffect { .. }
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
        Some(meant) => failure.hint(format!("did you mean hardware {}?", word(&meant))),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_driver_is_proposed_that_nobody_named() {
        let hint = |text: &str| {
            let failure = wrong_name(device::parse(text).unwrap_err());
            failure.hints().join("\n")
        };
        assert_eq!(hint("node-7/gpu-0"), "did you mean '*/node-7/gpu-0'?");
        let both = "did you mean 'gpu.example.com/node-7/*' or '*/gpu.example.com/node-7'?";
        assert_eq!(hint("gpu.example.com/node-7"), both);
    }
}
