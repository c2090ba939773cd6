//! Which devices are meant, and are there any?

use super::look::Look;
use crate::engine::{self, ConsideredTaint};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule};
use crate::naming::{device, suggest};

/// No device of that name is published or allocated.
pub(crate) fn no_such_device(selector: &DeviceSelector, known: &[DeviceId]) -> Failure {
    let name = device::format(selector);
    let failure = Failure::new(
        ExitStatus::Failed,
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

/// A manifest that taints every device, for what is the `problem` with it.
pub(crate) fn wide(manifest: &DeviceTaintRule, problem: &str) -> Failure {
    Failure::usage(format!("rule {} {problem}", manifest.name))
        .hint("name a driver, a pool or a device in spec.deviceSelector")
        .hint("to preview a taint on every device, say --all-devices")
}

/// A name that matches nothing is a mistake, unless nobody can know what there is.
pub(crate) fn refuse_missing(considered: &[ConsideredTaint], look: &Look) -> Result<(), Failure> {
    let counts = look.selected(considered).counts;
    for (considered, count) in considered.iter().zip(counts) {
        let Some(selector) = &considered.selector else {
            continue;
        };
        if count > 0 || considered.rule.is_some() {
            continue;
        }
        let known: Vec<_> = engine::devices(look.snapshot(), &look.semantics)
            .into_iter()
            .map(|device| device.id)
            .collect();
        return Err(
            no_such_device(selector, &known).hint("if it will be there later, add --allow-missing")
        );
    }
    Ok(())
}
