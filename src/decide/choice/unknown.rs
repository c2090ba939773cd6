//! Devices that do not exist, with similar names.

use super::numbers::word_of;
use crate::engine::{self, ProposedTaint, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceSelector, DeviceTaintRule, Kind, Reading, Snapshot, Source};
use crate::naming::nearest::nearest;
use crate::naming::shell::word;
use crate::naming::{device, suggest};

/// How hardware IDs are found, which the plain list of devices does not show.
pub(super) const SHOW_ATTRIBUTES: &str =
    "list the devices and their hardware IDs with `kubectl devicetaint devices --columns uuid`";

/// Hint for a cluster without devices.
pub const NO_DEVICES: &str = "no driver publishes a device, and no claim has one allocated: check \
    `kubectl get resourceslices` and the pods of the DRA driver";

/// No device of that name is published or allocated in `snapshot`; `known` are those that are.
#[must_use]
pub fn no_such_device(
    selector: &DeviceSelector,
    known: &[DeviceId],
    snapshot: &Snapshot,
) -> Failure {
    let rules = &snapshot.rules;
    let failure = Failure::new(
        ExitStatus::Failed,
        match word_of(selector) {
            // Taken for a driver, which nobody has said that it is.
            Some(word) => format!("no driver or hardware ID {word}"),
            None => {
                let name = device::format(selector);
                format!("no device matches {name}: none is published or allocated")
            }
        },
    );
    if known.is_empty() {
        return failure.hint(NO_DEVICES);
    }
    // Devices of another node would be a dangerous correction for those of a driver that is away.
    if let Some(rule) = rules.iter().find(|rule| is_about(rule, selector)) {
        return failure.hint(format!(
            "rule {} taints devices of this pool: check that their driver publishes them",
            rule.name
        ));
    }
    let similar = match word_of(selector) {
        // All devices of a driver are no correction of a mistyped serial number.
        Some(typed) => {
            let drivers = known.iter().map(|id| id.driver.to_string());
            let mut parts = suggest(selector, known);
            parts.retain(|name| {
                device::parse(name).is_ok_and(|part| part.pool.is_some() || part.device.is_some())
            });
            [nearest(typed, drivers), parts].concat()
        }
        None => suggest(selector, known),
    };
    let similar: Vec<String> = similar.iter().map(|name| word(name)).collect();
    let failure = match similar.as_slice() {
        [] => failure,
        [only] => failure.hint(format!("did you mean {only}?")),
        several => failure.hint(format!("did you mean one of {}?", several.join(", "))),
    };
    // The word may be a hardware ID, which the plain list does not show.
    failure.hint(match word_of(selector) {
        Some(_) => SHOW_ATTRIBUTES,
        None => "list the devices with `kubectl devicetaint devices`",
    })
}

/// Whether the rule selects devices of that driver and pool by name, among them such as the selector means.
fn is_about(rule: &DeviceTaintRule, selector: &DeviceSelector) -> bool {
    let Some(own) = &rule.selector else {
        return false;
    };
    own.driver.is_some()
        && own.pool.is_some()
        && (&own.driver, &own.pool) == (&selector.driver, &selector.pool)
        && (own.device.is_none() || selector.device.is_none() || own.device == selector.device)
}

/// No device of that name is published or allocated, unless that cannot be known.
#[must_use]
pub fn missing_device(selector: &DeviceSelector, known: &[DeviceId], reading: &Reading) -> Failure {
    match devices_unread(reading) {
        Some(kinds) => unread(selector, &kinds, &reading.source),
        None => no_such_device(selector, known, &reading.snapshot),
    }
}

/// The kinds that devices are known from and that were not read, if a published device may be unknown: claims alone
/// name only devices that are allocated.
fn devices_unread(reading: &Reading) -> Option<String> {
    let kinds = [Kind::ResourceSlice, Kind::ResourceClaim];
    let is_unread = |kind: &Kind| {
        let mut gaps = reading.gaps.iter();
        gaps.any(|gap| gap.kind() == Some(*kind)) || reading.without(*kind).is_some()
    };
    let unread = kinds.iter().filter(|kind| is_unread(kind));
    let names: Vec<&str> = unread.map(|kind| kind.plural()).collect();
    is_unread(&Kind::ResourceSlice).then(|| names.join(" and "))
}

/// Whether a device matches is unknown for want of `kinds`: that says nothing about drivers.
fn unread(selector: &DeviceSelector, kinds: &str, source: &Source) -> Failure {
    // A word alone may be a driver or a hardware ID, which only slices show.
    let (what, way_out) = match word_of(selector) {
        Some(word) => (
            format!("whether {word} is a driver or a hardware ID"),
            Some("specify allocated devices as DRIVER/POOL/DEVICE"),
        ),
        None => (
            format!("whether a device matches {}", device::format(selector)),
            None,
        ),
    };
    let text = format!("cannot tell {what}: {kinds} were not read");
    let failure = Failure::new(ExitStatus::Failed, text);
    let failure = way_out.into_iter().fold(failure, Failure::hint);
    match source {
        Source::Files => failure.hint(
            "add them to the input: kubectl get resourceslices,resourceclaims -A -o yaml > devices.yaml",
        ),
        Source::Cluster { .. } => failure,
    }
}

/// A name that matches nothing is a mistake, unless nobody can know what there is.
///
/// # Errors
///
/// When one of the taints selects nothing in what was read.
pub fn refuse_missing(
    proposed: &[ProposedTaint],
    reading: &Reading,
    semantics: &Semantics,
) -> Result<(), Failure> {
    let Some((selector, failure)) = unmatched(proposed, reading, semantics) else {
        return Ok(());
    };
    // Whom a rule hits has to be known before it is made.
    if devices_unread(reading).is_some() {
        return Err(failure);
    }
    // A word without a dot is a mistyped hardware ID rather than a driver to come.
    let is_mistyped = word_of(selector).is_some_and(|word| !word.contains('.'));
    Err(if is_mistyped {
        failure
    } else {
        failure.hint("to accept devices that do not exist yet: --allow-missing")
    })
}

/// As [`refuse_missing`], where devices to come are of no use.
///
/// # Errors
///
/// When one of the taints selects nothing in what was read.
pub fn refuse_unmatched(
    proposed: &[ProposedTaint],
    reading: &Reading,
    semantics: &Semantics,
) -> Result<(), Failure> {
    match unmatched(proposed, reading, semantics) {
        Some((_, failure)) => Err(failure),
        None => Ok(()),
    }
}

/// The first selector without a rule that selects nothing in what was read, and what is said of it.
fn unmatched<'p>(
    proposed: &'p [ProposedTaint],
    reading: &Reading,
    semantics: &Semantics,
) -> Option<(&'p DeviceSelector, Failure)> {
    let snapshot = &reading.snapshot;
    let counts = engine::selection(snapshot, proposed, semantics).counts;
    let mut empty = proposed.iter().zip(counts).filter_map(|(proposed, count)| {
        let is_empty = count == 0 && proposed.rule.is_none();
        proposed.selector.as_ref().filter(|_| is_empty)
    });
    let selector = empty.next()?;
    let all = engine::devices(snapshot, semantics);
    let known: Vec<_> = all.into_iter().map(|device| device.id).collect();
    Some((selector, missing_device(selector, &known, reading)))
}
