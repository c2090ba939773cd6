//! What may have been meant by a selector that matches nothing?

use std::collections::BTreeSet;

use super::nearest::nearest;
use crate::model::{DeviceId, DeviceSelector};

/// At most three DEVICE arguments for `known` devices that look like `selector`, the most similar
/// first.
///
/// Corrects the first part that no device has and keeps the others, so that one mistyped letter in a
/// driver's name suggests the driver and not some device of it.
#[must_use]
pub fn suggest(selector: &DeviceSelector, known: &[DeviceId]) -> Vec<String> {
    let driver = selector.driver.as_ref().map(|name| name.as_str());
    let pool = selector.pool.as_ref().map(|name| name.as_str());
    let device = selector.device.as_ref().map(|name| name.as_str());
    let fits = |wanted: Option<&str>, found: &str| wanted.is_none_or(|wanted| wanted == found);

    let of_driver = || known.iter().filter(|id| fits(driver, id.driver.as_str()));
    let of_pool = || of_driver().filter(|id| fits(pool, id.pool.as_str()));
    if let Some(wanted) = driver
        && of_driver().next().is_none()
    {
        let names: BTreeSet<&str> = known.iter().map(|id| id.driver.as_str()).collect();
        return correct(wanted, &names, |name| argument(Some(name), pool, device));
    }
    if let Some(wanted) = pool
        && of_pool().next().is_none()
    {
        let names: BTreeSet<&str> = of_driver().map(|id| id.pool.as_str()).collect();
        return correct(wanted, &names, |name| argument(driver, Some(name), device));
    }
    let names: BTreeSet<&str> = of_pool().map(|id| id.device.as_str()).collect();
    correct(device.unwrap_or_default(), &names, |name| {
        argument(driver, pool, Some(name))
    })
}

/// The names that look like `wanted`, or some of them if none does and there are few.
fn correct(wanted: &str, names: &BTreeSet<&str>, argument: impl Fn(&str) -> String) -> Vec<String> {
    let similar = nearest(wanted, names.iter().map(|name| (*name).to_owned()));
    if similar.is_empty() && names.len() <= 3 {
        return names.iter().map(|name| argument(name)).collect();
    }
    similar.iter().map(|name| argument(name)).collect()
}

fn argument(driver: Option<&str>, pool: Option<&str>, device: Option<&str>) -> String {
    let part = |part: Option<&str>| part.unwrap_or("*").to_owned();
    match (pool, device) {
        (None, None) => part(driver),
        _ => format!("{}/{}/{}", part(driver), part(pool), part(device)),
    }
}

#[cfg(test)]
mod tests {
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
                &[
                    "gpu.example.com/node-7/gpu-0",
                    "nic.example.com/node-7/gpu-0",
                ][..],
            ),
            ("gpu.example.con", &["gpu.example.com", "nic.example.com"]),
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
            let found = suggest(&selector, &known());
            assert_eq!(
                found.iter().map(String::as_str).collect::<Vec<_>>()
                    [..expected.len().min(found.len())],
                *expected,
                "{typed}"
            );
        }
    }

    #[test]
    fn nothing_known_suggests_nothing() {
        let selector = device::parse("gpu.example.com/node-7/gpu-0").expect("well-formed");
        assert!(suggest(&selector, &[]).is_empty());
    }
}
