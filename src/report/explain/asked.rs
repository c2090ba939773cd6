//! What does a request ask for, in words?

use super::change::terms_path;
use super::step::{About, FieldSource, Step};
use crate::model::{DeviceAmount, DeviceRequest, RequestTerms, ResourceClaim, Wish};
use crate::report::table::counted;

/// What a request asks for.
pub(super) fn request_step(claim: &ResourceClaim, place: usize, request: &DeviceRequest) -> Step {
    let text = match &request.wish {
        Wish::Exactly(terms) => format!("request {}: {}", request.name, wanted(terms)),
        Wish::FirstAvailable(all) => {
            let all = all
                .iter()
                .map(|(name, terms)| format!("{name}: {}", wanted(terms)));
            let all: Vec<String> = all.collect();
            format!("request {}: the first of {}", request.name, all.join("; "))
        }
        Wish::Unknown => format!(
            "request {}: of a kind that this plugin does not know",
            request.name
        ),
    };
    let path = terms_path(&request.wish, place, |_| None)
        .unwrap_or_else(|| format!(".spec.devices.requests[{place}]"));
    let source = FieldSource::new("ResourceClaim", &claim.name, path);
    Step::new(About::Request, text, source)
}

/// How many devices of which class.
fn wanted(terms: &RequestTerms) -> String {
    let devices = match &terms.amount {
        DeviceAmount::Exactly(count) => {
            counted(usize::try_from(*count).unwrap_or_default(), "device")
        }
        DeviceAmount::All => "all devices of a node".to_owned(),
        DeviceAmount::Unknown(mode) => format!("devices by mode {mode}"),
    };
    format!("{devices} of class {}", terms.class)
}
