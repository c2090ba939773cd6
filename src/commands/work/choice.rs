//! Which devices are meant, and are there any?

use crate::engine::{self, Impact, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule, Reading};
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
pub(crate) fn refuse_missing(
    impact: &Impact<'_>,
    reading: &Reading,
    semantics: &Semantics,
) -> Result<(), Failure> {
    for rule in &impact.rules {
        let counts = rule.counts;
        let Some(selector) = &rule.considered.selector else {
            continue;
        };
        if counts.published_devices > 0
            || counts.allocated_devices > 0
            || rule.considered.rule.is_some()
        {
            continue;
        }
        let known: Vec<_> = engine::devices(&reading.snapshot, semantics)
            .into_iter()
            .map(|device| device.id)
            .collect();
        return Err(
            no_such_device(selector, &known).hint("if it will be there later, add --allow-missing")
        );
    }
    Ok(())
}
