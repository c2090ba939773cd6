//! Suggestions for selectors that match nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::nearest::nearest;
use crate::model::{DeviceId, DeviceSelector};

/// Driver, pool and device of a DEVICE argument; absent for any.
type Parts<'a> = [Option<&'a str>; 3];

/// At most three DEVICE arguments that look like `selector`, the most similar first, and each of
/// which selects at least one of the `known` devices.
///
/// Corrects the first part that no device has and keeps the others, so that one mistyped letter in a
/// driver's name suggests the driver and not some device of it. A forgotten driver is put in front.
pub fn suggest(selector: &DeviceSelector, known: &[DeviceId]) -> Vec<String> {
    let wanted: Parts<'_> = [
        selector.driver.as_ref().map(|name| name.as_str()),
        selector.pool.as_ref().map(|name| name.as_str()),
        selector.device.as_ref().map(|name| name.as_str()),
    ];
    let candidates: BTreeSet<Parts<'_>> = known.iter().map(|id| as_wanted(id, &wanted)).collect();
    let behind_a_driver = with_driver(&wanted, known);
    if !behind_a_driver.is_empty() {
        return behind_a_driver.into_iter().take(3).collect();
    }
    let elsewhere = with_any_driver(&wanted, known);
    if !elsewhere.is_empty() {
        return elsewhere.into_iter().take(3).collect();
    }
    let right = |candidate: &&Parts<'_>, parts: usize| candidate[..parts] == wanted[..parts];
    // The first part that is not right together with those before it. There is one, for nothing is suggested to a
    // selector that selects something.
    let wrong = (0..wanted.len())
        .find(|part| {
            !candidates
                .iter()
                .any(|found| right(&found, part.saturating_add(1)))
        })
        .unwrap_or_default();
    let close: Vec<&Parts<'_>> = candidates
        .iter()
        .filter(|found| right(found, wrong))
        .collect();
    let behind = wrong.saturating_add(1);
    let one_off: Vec<&Parts<'_>> = close
        .iter()
        .filter(|found| found[behind..] == wanted[behind..])
        .copied()
        .collect();
    if one_off.is_empty() {
        return most_similar(&wanted[wrong..], &close, wrong..wanted.len());
    }
    most_similar(&wanted[wrong..behind], &one_off, wrong..behind)
}

/// The device as an argument with the same `*` as `wanted`.
fn as_wanted<'a>(id: &'a DeviceId, wanted: &Parts<'_>) -> Parts<'a> {
    let parts = [id.driver.as_str(), id.pool.as_str(), id.device.as_str()];
    let mut given = parts.into_iter().zip(wanted);
    // Three parts, of which each is kept where one is wanted.
    [(); 3].map(|()| given.next().and_then(|(part, wanted)| wanted.map(|_| part)))
}

/// The arguments that `wanted` becomes with a driver in front: its first part may be the first of a
/// pool's name.
fn with_driver(wanted: &Parts<'_>, known: &[DeviceId]) -> BTreeSet<String> {
    let [Some(first), Some(rest), device] = wanted else {
        return BTreeSet::new();
    };
    let pool = format!("{first}/{rest}");
    let fits = |id: &&DeviceId| {
        id.pool.as_str() == pool && device.is_none_or(|device| device == id.device.as_str())
    };
    let found = known.iter().filter(fits);
    found
        .map(|id| argument(&[Some(id.driver.as_str()), Some(&pool), *device]))
        .collect()
}

/// The arguments that mean the pools or devices whose name `wanted` has for a driver's.
fn with_any_driver(wanted: &Parts<'_>, known: &[DeviceId]) -> BTreeSet<String> {
    let [Some(name), None, None] = wanted else {
        return BTreeSet::new();
    };
    let is_pool = known.iter().any(|id| id.pool.as_str() == *name);
    let is_device = known.iter().any(|id| id.device.as_str() == *name);
    let pools = is_pool.then(|| format!("*/{name}/*"));
    let devices = is_device.then(|| format!("*/*/{name}"));
    pools.into_iter().chain(devices).collect()
}

/// The candidates whose parts in `place` look like `wanted`, or some of them if none does and there
/// are few.
fn most_similar(
    wanted: &[Option<&str>],
    candidates: &[&Parts<'_>],
    place: Range<usize>,
) -> Vec<String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for candidate in candidates {
        let arguments = texts.entry(joined(&candidate[place.clone()])).or_default();
        arguments.push(argument(candidate));
    }
    let similar = nearest(&joined(wanted), texts.keys().cloned());
    let similar = if similar.is_empty() && texts.len() <= 3 {
        texts.keys().cloned().collect()
    } else {
        similar
    };
    let arguments = similar.iter().filter_map(|text| texts.get(text)).flatten();
    arguments.take(3).cloned().collect()
}

fn joined(parts: &[Option<&str>]) -> String {
    let parts: Vec<&str> = parts.iter().map(|part| part.unwrap_or("*")).collect();
    parts.join("/")
}

fn argument(parts: &Parts<'_>) -> String {
    match parts {
        [Some(driver), None, None] => (*driver).to_owned(),
        parts => joined(parts),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::naming::device;

    fn known() -> Vec<DeviceId> {
        [
            "gpu.example.com/node-7/gpu-0",
            "gpu.example.com/node-7/gpu-1",
            "gpu.example.com/node-17/gpu-0",
            "nic.example.com/fabric/node-7/vf-0",
        ]
        .iter()
        .map(|text| {
            let selector = device::parse(text).expect("valid");
            DeviceId {
                driver: selector.driver.expect("given"),
                pool: selector.pool.expect("given"),
                device: selector.device.expect("given"),
            }
        })
        .collect()
    }

    #[test]
    fn the_part_that_is_wrong_is_corrected() {
        for (typed, expected) in [
            (
                "gpu.example.con/node-7/gpu-0",
                &["gpu.example.com/node-7/gpu-0"][..],
            ),
            ("gpu.example.con", &["gpu.example.com", "nic.example.com"]),
            ("node-7", &["*/node-7/*"]),
            ("gpu-0", &["*/*/gpu-0"]),
            (
                "gpu.example.com/nod-7/gpu-0",
                &[
                    "gpu.example.com/node-7/gpu-0",
                    "gpu.example.com/node-17/gpu-0",
                ],
            ),
            (
                "gpu.example.com/node-7/gpu-9",
                &[
                    "gpu.example.com/node-7/gpu-0",
                    "gpu.example.com/node-7/gpu-1",
                ],
            ),
            (
                "nic.example.com/fabric/node-8/*",
                &["nic.example.com/fabric/node-7/*"],
            ),
            ("*/*/vf-1", &["*/*/vf-0"]),
        ] {
            let selector = device::parse(typed).expect("well-formed");
            assert_eq!(suggest(&selector, &known()), *expected, "{typed}");
        }
    }

    proptest! {}
}
