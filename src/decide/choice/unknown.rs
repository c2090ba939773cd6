//! Devices that do not exist, with similar names.

use std::collections::BTreeMap;

use super::numbers::word_of;
use crate::decide::identity::new_names;
use crate::engine::{self, PoolSlices, ProposedTaint, Semantics, pool_slices};
use crate::error::{ExitStatus, Failure};
use crate::model::{
    DeviceId, DeviceSelector, DeviceTaintRule, DriverName, Kind, NodeName, ObjectName, PoolName,
    Reading, ResourceSlice, SliceNodes, Snapshot, Source,
};
use crate::naming::nearest::nearest;
use crate::naming::phrase::counted;
use crate::naming::shell::word;
use crate::naming::{device, suggest};

/// How hardware IDs are found, which the plain list of devices does not show.
pub(super) const SHOW_ATTRIBUTES: &str =
    "list the devices and their hardware IDs with `kubectl devicetaint devices --show-attributes`";

/// What to do where there is no device at all. A driver that `rules` select is there, or was: then nothing has to be
/// installed.
#[must_use]
pub fn no_devices(rules: &[DeviceTaintRule]) -> String {
    let selected = rules.iter().filter_map(|rule| {
        let driver = rule.selector.as_ref()?.driver.as_ref()?;
        Some((driver, rule.name.as_str()))
    });
    let known: BTreeMap<&DriverName, &str> = selected.collect();
    let way_out = match known.first_key_value() {
        None => "install a DRA driver, and check `kubectl get resourceslices`".to_owned(),
        Some((driver, rule)) => {
            format!(
                "check whether the pods of driver {driver} are running (rule {rule} selects its devices)"
            )
        }
    };
    format!("no driver publishes a device, and no claim has one allocated: {way_out}")
}

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
        return failure.hint(no_devices(rules));
    }
    // Devices of another node would be a dangerous correction for those of a driver that is away.
    if let Some(rule) = rules.iter().find(|rule| is_about(rule, selector)) {
        if selector.device.is_some()
            && let Some((rule, renamed)) = renamed(selector, snapshot)
        {
            return failure
                .detail(format!(
                    "rule {rule} was created for hardware that is now published as {renamed}"
                ))
                .hint(format!("did you mean {}?", word(&renamed.to_string())));
        }
        return match published_pool(&rule.name, selector, &snapshot.slices) {
            Some(published) => failure.detail(published.cause).hint(published.hint),
            None => failure.hint(format!(
                "rule {} taints devices of this pool: check that their driver is running (30s after a \
                driver stops, its devices are no longer published)",
                rule.name
            )),
        };
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

/// The name by which the hardware of the device is published now, with the first rule that recorded this hardware.
fn renamed(selector: &DeviceSelector, snapshot: &Snapshot) -> Option<(ObjectName, DeviceId)> {
    // Which names devices have is the same in all versions.
    let published = engine::devices(snapshot, &Semantics::newest()).devices;
    let mut recorded =
        new_names(&snapshot.rules, &published).filter(|found| is_about(found.rule, selector));
    recorded.find_map(|found| Some((found.rule.name.clone(), found.names.into_iter().next()?)))
}

/// Why a device is not published although its driver publishes slices.
struct PublishedPool {
    cause: String,
    hint: String,
}

/// Why none of the devices that `rule` taints as `selector` does is published; absent if the driver publishes neither the
/// pool nor another one on the node of that name, so that it may have stopped.
fn published_pool(
    rule: &ObjectName,
    selector: &DeviceSelector,
    slices: &[ResourceSlice],
) -> Option<PublishedPool> {
    let (driver, pool) = (selector.driver.as_ref()?, selector.pool.as_ref()?);
    let devices = match selector.device {
        Some(_) => "this device",
        None => "devices",
    };
    let found = |cause: String, hint: String| PublishedPool {
        cause: format!("rule {rule} taints {devices}, but {cause}"),
        hint,
    };
    if let Some(incomplete) = incomplete_pool(driver, pool, slices) {
        let hint = after_publication(driver);
        return Some(found(incomplete, hint));
    }
    let list = |selected: String| {
        format!(
            "list what the driver publishes: kubectl devicetaint devices {}",
            word(&selected)
        )
    };
    if pool_slices(slices).contains_key(&(driver, pool)) {
        let cause = format!("driver {driver} publishes pool {pool} without {devices}");
        return Some(found(cause, list(format!("{driver}/{pool}/*"))));
    }
    // Pools are often named after their nodes.
    let node = NodeName::from(pool.as_str());
    let mut of_driver = slices.iter().filter(|slice| slice.driver == *driver);
    let is_on_node = of_driver.any(|slice| slice.nodes == SliceNodes::One(node.clone()));
    is_on_node.then(|| {
        let cause =
            format!("driver {driver} publishes other pools on node {node}, and not pool {pool}");
        found(cause, list(format!("{driver}/*/*")))
    })
}

/// That slices of a pool are missing; absent if none is, or if all are.
pub(super) fn incomplete_pool(
    driver: &DriverName,
    pool: &PoolName,
    slices: &[ResourceSlice],
) -> Option<String> {
    let pools = pool_slices(slices);
    let found = pools.get(&(driver, pool));
    let found = found.filter(|found| !found.is_complete)?;
    let PoolSlices {
        present, expected, ..
    } = *found;
    Some(if found.is_short() {
        format!(
            "pool {driver}/{pool} is incomplete: only {present} of {expected} slices of its newest \
             generation exist"
        )
    } else {
        format!(
            "pool {driver}/{pool} is incomplete: its newest generation has {}, which does not \
             match resourceSliceCount",
            counted(present, "slice")
        )
    })
}

/// What to do about an incomplete pool.
pub(super) fn after_publication(driver: &DriverName) -> String {
    format!("run the command again after driver {driver} has published the whole pool")
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
    let all = engine::devices(snapshot, semantics).devices;
    let known: Vec<_> = all.into_iter().map(|device| device.id).collect();
    Some((selector, missing_device(selector, &known, reading)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_new_name_of_hardware_that_a_rule_recorded_is_suggested() {
        use crate::engine::testing::{published, reading, slice};
        let mut rule = crate::decide::testing::named("pull", "NoSchedule");
        let mut snapshot = reading().snapshot;
        snapshot.slices = vec![slice(Vec::new())];
        let told = |snapshot: &Snapshot, typed: &str| {
            let known = engine::devices(snapshot, &Semantics::newest()).devices;
            let known: Vec<DeviceId> = known.into_iter().map(|state| state.id).collect();
            let failure = no_such_device(&device::parse(typed).unwrap(), &known, snapshot);
            (failure.details().to_vec(), failure.hints()[0].clone())
        };
        let pool = snapshot.slices[0].pool.name.to_string();
        let old = format!("gpu.example.com/{pool}/gpu-7");
        rule.selector = Some(device::parse(&old).unwrap());
        let record = serde_json::json!({"gpu.example.com/uuid": "A"}).to_string();
        let mut recorded = rule.clone();
        recorded
            .metadata
            .annotations
            .insert(crate::model::RuleMetadata::IDENTITY.to_owned(), record);
        // A rule that recorded nothing does not hide the one that did.
        snapshot.rules = vec![rule, recorded];
        let device = published("gpu-9", &[("uuid", "B")]);
        snapshot.slices[0].devices.push(device);
        let (details, hint) = told(&snapshot, &old);
        let cause = format!(
            "rule pull taints this device, but driver gpu.example.com publishes pool {pool} without this \
             device"
        );
        assert_eq!(details, [cause]);
        assert!(hint.starts_with("list what the driver publishes"), "{hint}");
        let device = published("gpu-8", &[("uuid", "A")]);
        snapshot.slices[0].devices.push(device);
        let (details, hint) = told(&snapshot, &old);
        let renamed = format!("gpu.example.com/{pool}/gpu-8");
        assert_eq!(
            details,
            [format!(
                "rule pull was created for hardware that is now published as {renamed}"
            )]
        );
        assert_eq!(hint, format!("did you mean {renamed}?"));
        let (_, hint) = told(&snapshot, "gpu.example.con/node-1/*");
        assert!(!hint.contains("gpu-8"), "{hint}");
    }
}
