//! A request of a claim in words, with its field path.

use super::step::{FieldReference, Step, StepType};
use crate::model::{
    ClaimSpec, DeviceAmount, DeviceRequest, RequestKind, RequestTerms, ResourceClaim,
};
use crate::naming::phrase::counted;

/// What a request asks for.
pub(super) fn request_step(claim: &ResourceClaim, place: usize, request: &DeviceRequest) -> Step {
    let text = match &request.kind {
        RequestKind::Exactly(terms) => format!("request {}: {}", request.name, wanted(terms)),
        RequestKind::FirstAvailable(all) => {
            let all: Vec<String> = all
                .iter()
                .map(|(name, terms)| format!("{name}: {}", wanted(terms)))
                .collect();
            format!(
                "request {}: the first available of {}",
                request.name,
                all.join("; ")
            )
        }
        RequestKind::Unknown => format!(
            "request {}: of a kind that this plugin does not know",
            request.name
        ),
    };
    let path = terms_path(&request.kind, place, None);
    let source = FieldReference::new("ResourceClaim", &claim.name, path);
    Step::new(StepType::Request, text, source)
}

/// How many devices of which class.
fn wanted(terms: &RequestTerms) -> String {
    let devices = match &terms.amount {
        DeviceAmount::Exactly(count) => {
            // The API server refuses a count below 1; only a saved file can have one.
            counted(usize::try_from(*count).unwrap_or_default(), "device")
        }
        DeviceAmount::All => "all matching devices of a node".to_owned(),
        DeviceAmount::Unknown(mode) => format!("devices with allocationMode {mode}"),
    };
    format!("{devices} of class {}", terms.class)
}

/// Where a request stands in its claim: its terms, those of the alternative of which it has several, or,
/// where that is not said, all of it.
pub(super) fn terms_path(kind: &RequestKind, place: usize, alternative: Option<usize>) -> String {
    let path = format!(".spec.devices.requests[{place}]");
    match (kind, alternative) {
        (RequestKind::Exactly(_), _) => format!("{path}.exactly"),
        (RequestKind::FirstAvailable(_), Some(alternative)) => {
            format!("{path}.firstAvailable[{alternative}]")
        }
        (RequestKind::FirstAvailable(_), None) | (RequestKind::Unknown, _) => path,
    }
}

/// What a request is called, as REQUEST or REQUEST/ALTERNATIVE, and its terms.
pub(super) fn terms_of(
    spec: &ClaimSpec,
    place: usize,
    alternative: Option<usize>,
) -> Option<(String, &RequestTerms)> {
    let request = spec.requests.get(place)?;
    match (&request.kind, alternative) {
        (RequestKind::Exactly(terms), _) => Some((request.name.to_string(), terms)),
        (RequestKind::FirstAvailable(all), Some(alternative)) => {
            let (name, terms) = all.get(alternative)?;
            Some((format!("{}/{name}", request.name), terms))
        }
        (RequestKind::FirstAvailable(_), None) | (RequestKind::Unknown, _) => None,
    }
}
