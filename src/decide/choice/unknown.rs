//! Is there such a device?

use super::numbers::word_of;
use crate::engine::{self, ConsideredTaint, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector, Snapshot};
use crate::naming::shell::word;
use crate::naming::{device, suggest};

/// What to do where there is no device at all.
pub const NO_DEVICES: &str = "no driver publishes any device here, and no claim holds one: devices come with a DRA driver, see `kubectl get resourceslices`";

/// No device of that name is published or allocated.
#[must_use]
pub fn no_such_device(selector: &DeviceSelector, known: &[DeviceId]) -> Failure {
    let failure = Failure::new(
        ExitStatus::Failed,
        match word_of(selector) {
            // Taken for a driver, which nobody has said that it is.
            Some(word) => format!("no driver, and no hardware, is called {word}"),
            None => {
                let name = device::format(selector);
                format!("no device matches {name}: none is published or allocated")
            }
        },
    );
    if known.is_empty() {
        return failure.hint(NO_DEVICES);
    }
    let similar: Vec<String> = suggest(selector, known)
        .iter()
        .map(|name| word(name))
        .collect();
    let failure = match similar.as_slice() {
        [] => failure,
        [only] => failure.hint(format!("did you mean {only}?")),
        several => failure.hint(format!("did you mean one of {}?", several.join(", "))),
    };
    failure.hint("list what there is with `kubectl devicetaint devices`")
}

/// A name that matches nothing is a mistake, unless nobody can know what there is.
///
/// # Errors
///
/// When one of the taints selects nothing in `snapshot`.
pub fn refuse_missing(
    considered: &[ConsideredTaint],
    snapshot: &Snapshot,
    semantics: &Semantics,
) -> Result<(), Failure> {
    let counts = engine::selection(snapshot, considered, semantics).counts;
    for (considered, count) in considered.iter().zip(counts) {
        let Some(selector) = &considered.selector else {
            continue;
        };
        if count > 0 || considered.rule.is_some() {
            continue;
        }
        let all = engine::devices(snapshot, semantics).devices;
        let known: Vec<_> = all.into_iter().map(|device| device.id).collect();
        return Err(
            no_such_device(selector, &known).hint("if it will be there later, add --allow-missing")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_no_device_nobody_is_sent_to_look_for_one() {
        let anything = DeviceSelector::default();
        let failure = no_such_device(&anything, &[]);
        assert_eq!(failure.hints(), [NO_DEVICES]);
        let known = DeviceId {
            driver: "gpu.example.com".into(),
            pool: "node-7".into(),
            device: "gpu-0".into(),
        };
        let failure = no_such_device(&anything, std::slice::from_ref(&known));
        let typed = device::parse("nod-7").unwrap();
        let told = no_such_device(&typed, std::slice::from_ref(&known)).to_string();
        assert_eq!(told, "no driver, and no hardware, is called nod-7");
        let typed = device::parse("gpu.example.con").unwrap();
        let told = no_such_device(&typed, std::slice::from_ref(&known)).to_string();
        assert!(
            told.starts_with("no device matches gpu.example.con/*/*"),
            "{told}"
        );
        let list = |hint: &String| hint.contains("`kubectl devicetaint devices`");
        assert!(failure.hints().iter().any(list), "{:?}", failure.hints());
    }
}
