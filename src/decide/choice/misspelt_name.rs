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
        NamingError::Everything { .. } => Some("to select every device: --all-devices".to_owned()),
        NamingError::NotExplained { argument, kind } => {
            let ways = ways_to(kind, argument).into_iter();
            return ways.fold(Failure::usage(error), Failure::hint);
        }
        NamingError::UnknownEffect { .. }
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

/// How to get to know something about an object of another type, which was typed as TYPE/NAME; and what to
/// type for a pod in a namespace that is called like the type.
fn ways_to(kind: &str, argument: &str) -> Vec<String> {
    let (of_type, name) = argument.split_once('/').unwrap_or((argument, ""));
    let meant = word(name);
    let way = match kind {
        "node" => format!(
            "to show its devices: `kubectl devicetaint devices --node {meant}`; to preview a \
            taint on them: `kubectl devicetaint preview --node {meant}`"
        ),
        "resourceclaim" => format!(
            "to show its pods and the impact of a taint on its devices: `kubectl devicetaint \
            preview --claim {meant}`"
        ),
        "deviceclass" => format!(
            "to list the devices that it selects: `kubectl devicetaint devices --class {meant}`"
        ),
        "resourceslice" => "list the devices with `kubectl devicetaint devices`, then \
        explain one of them"
            .to_owned(),
        "resourceclaimtemplate" => {
            "to explain a pod that has a claim from this template: `kubectl devicetaint explain \
            pod/NAME`"
                .to_owned()
        }
        "namespace" => {
            format!(
                "to explain its pods by their labels: \
                `kubectl devicetaint explain -l LABELS -n {meant}`"
            )
        }
        _ => "to explain its pods by their labels: \
            `kubectl devicetaint explain -l LABELS -n NAMESPACE`"
            .to_owned(),
    };
    let mut ways = vec![way];
    if !name.contains('/') && !of_type.contains('.') {
        ways.push(format!(
            "to explain pod {name} in namespace {of_type}: `kubectl devicetaint explain \
            pod/{argument}`"
        ));
    }
    ways
}
