//! DEVICE arguments: `DRIVER/POOL/DEVICE`, with `*` for any; their separation from a taint beside them, and suggestions
//! for those that match nothing.

use std::collections::BTreeMap;
use std::fmt;

use super::phrase::nearest;
use super::{labels, taint};
use crate::model::{DeviceId, DeviceSelector, Effect, Taint};

/// An argument that is no device, taint or name that the API server would accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamingError {
    /// Two segments could be driver and pool or pool and device.
    #[error("device {argument:?} has two segments, but a device has three: DRIVER/POOL/DEVICE")]
    TwoSegments {
        /// The argument.
        argument: String,
        /// The two forms that it may have been meant as.
        suggestions: [String; 2],
    },
    /// Every segment is `*`.
    #[error("{argument:?} is not allowed: it selects every device of every driver")]
    Everything {
        /// The argument.
        argument: String,
    },
    /// A name, key, value or effect that does not exist, or that the API server would refuse.
    #[error("{field} {value:?} is not valid: {problem}")]
    Invalid {
        /// Part of the name, such as `driver` or `taint key`.
        field: &'static str,
        /// Value that was given.
        value: String,
        /// Requirement.
        problem: String,
    },
}

impl NamingError {
    pub(super) fn invalid(field: &'static str, value: &str, problem: &str) -> Self {
        Self::Invalid {
            field,
            value: value.to_owned(),
            problem: problem.to_owned(),
        }
    }
}

/// Reads a DEVICE argument.
///
/// The first segment is the driver, the last the device, everything between is the pool, since pool
/// names may contain `/`. A bare segment is a whole driver. `*` stands for "any" in each place, and
/// the result leaves that field out.
///
/// # Errors
///
/// Two segments (which are ambiguous), an empty segment, nothing but `*`, or a name that
/// the API server would refuse.
pub fn parse(text: &str) -> Result<DeviceSelector, NamingError> {
    let segments: Vec<&str> = text.split('/').collect();
    if segments.iter().any(|segment| segment.is_empty()) {
        let problem = "it has an empty segment; write `*` to match any name";
        return Err(NamingError::invalid("device", text, problem));
    }
    let (driver, pool, device) = match segments.as_slice() {
        [driver] => (*driver, "*".to_owned(), "*"),
        [first, second] => {
            return Err(NamingError::TwoSegments {
                argument: text.to_owned(),
                suggestions: [format!("{first}/{second}/*"), format!("*/{first}/{second}")],
            });
        }
        [driver, pool @ .., device] => (*driver, pool.join("/"), *device),
        // Never so: a split text has one part at least.
        [] => ("*", "*".to_owned(), "*"),
    };
    let given = |segment: &'_ str| Some(segment.to_owned()).filter(|segment| segment != "*");
    let (driver, pool, device) = (given(driver), given(&pool), given(device));
    driver.as_deref().map_or(Ok(()), labels::driver)?;
    pool.as_deref().map_or(Ok(()), labels::pool)?;
    device.as_deref().map_or(Ok(()), labels::device)?;
    if driver.is_none() && pool.is_none() && device.is_none() {
        return Err(NamingError::Everything {
            argument: text.to_owned(),
        });
    }
    Ok(DeviceSelector {
        driver: driver.as_deref().map(Into::into),
        pool: pool.as_deref().map(Into::into),
        device: device.as_deref().map(Into::into),
        ..DeviceSelector::default()
    })
}

/// The selector as a DEVICE argument would say it, with what such an argument cannot say after it.
pub fn format(selector: &DeviceSelector) -> String {
    let driver = selector.driver.as_ref().map_or("*", |name| name.as_str());
    let pool = selector.pool.as_ref().map_or("*", |name| name.as_str());
    let device = selector.device.as_ref().map_or("*", |name| name.as_str());
    format!(
        "{driver}/{pool}/{device}{}",
        Conditions(&selector.unknown_fields)
    )
}

/// True if each of driver, pool and device that the selector sets is that of the device.
pub fn names(selector: &DeviceSelector, id: &DeviceId) -> bool {
    let DeviceSelector {
        driver,
        pool,
        device,
        ..
    } = selector;
    driver.as_ref().is_none_or(|driver| *driver == id.driver)
        && pool.as_ref().is_none_or(|pool| *pool == id.pool)
        && device.as_ref().is_none_or(|device| *device == id.device)
}

/// Conditions of a selector beside driver, pool and device: the names of fields that this plugin does not
/// know. Shown as ` FIELD=?`, each with a blank in front, or as nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Conditions<'a>(&'a [String]);

impl fmt::Display for Conditions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for field in self.0 {
            write!(formatter, " {field}=?")?;
        }
        Ok(())
    }
}

/// The arguments of a command that takes devices and a taint whose value and effect may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// The devices, in the order in which they were named.
    pub selectors: Vec<DeviceSelector>,
    /// The taints; more than one is for the command to refuse.
    pub taints: Vec<Taint>,
}

impl Targets {
    /// Reads all arguments together. `named` are the devices that flags name, and `beside_hardware` says whether
    /// further arguments are hardware IDs; a taint without effect gets the effect `default`.
    ///
    /// An argument with `=` or `:` is a taint. So is a bare `PREFIX/NAME`, which can be no device,
    /// where devices are named beside it and no other argument is a taint: its prefix has to be a
    /// domain, and not the driver of any of these devices, since that would be a device cut short.
    ///
    /// # Errors
    ///
    /// An argument that is neither.
    pub fn parse(
        texts: &[String],
        named: &[DeviceSelector],
        beside_hardware: bool,
        default: &Effect,
    ) -> Result<Self, NamingError> {
        let mut targets = Self::default();
        let mut unclear = Vec::new();
        for text in texts {
            if text.contains(['=', ':']) {
                targets.taints.push(taint::parse_or(text, default)?);
                continue;
            }
            match parse(text) {
                Ok(selector) => targets.selectors.push(selector),
                // All other arguments, also later ones, decide if this is the key of a taint.
                Err(error @ NamingError::TwoSegments { .. }) => unclear.push((text, error)),
                Err(error) => return Err(error),
            }
        }
        let explicit = !targets.taints.is_empty();
        for (text, error) in unclear {
            let mut devices = targets.selectors.iter().chain(named).peekable();
            let with_devices = beside_hardware || devices.peek().is_some();
            let key = if explicit || !with_devices {
                None
            } else {
                taint::plain_key(text, devices.filter_map(|device| device.driver.as_ref()))
            };
            match key {
                Some(key) => targets.taints.push(taint::parse_or(key, default)?),
                None => return Err(error),
            }
        }
        Ok(targets)
    }
}

/// Driver, pool and device of a DEVICE argument; absent for any.
type Parts<'a> = [Option<&'a str>; 3];

/// At most three DEVICE arguments that look like `selector`, the most similar first, and each of
/// which selects at least one of the `known` devices.
///
/// Parts that are right stay, and a part that is not given stays open, so that one mistyped letter in a driver's name
/// suggests the driver and not some device of it. For the name of a pool or device in the place of a driver, these are
/// suggested.
pub fn suggest(selector: &DeviceSelector, known: &[DeviceId]) -> Vec<String> {
    let wanted: Parts<'_> = [
        selector.driver.as_ref().map(|name| name.as_str()),
        selector.pool.as_ref().map(|name| name.as_str()),
        selector.device.as_ref().map(|name| name.as_str()),
    ];
    if let [Some(name), None, None] = wanted {
        let is_pool = known.iter().any(|id| id.pool.as_str() == name);
        let is_device = known.iter().any(|id| id.device.as_str() == name);
        let pools = is_pool.then(|| format!("*/{name}/*"));
        let devices = is_device.then(|| format!("*/*/{name}"));
        let elsewhere: Vec<String> = pools.into_iter().chain(devices).collect();
        if !elsewhere.is_empty() {
            return elsewhere;
        }
    }
    let candidates: Vec<Parts<'_>> = known.iter().map(|id| as_wanted(id, &wanted)).collect();
    let right = |parts: &Parts<'_>| {
        parts
            .iter()
            .zip(&wanted)
            .filter(|(it, other)| it == other)
            .count()
    };
    let most = candidates.iter().map(right).max();
    let closest = candidates.iter().filter(|parts| Some(right(parts)) == most);
    // What both leave open makes nothing similar.
    let given = |parts: &Parts<'_>| {
        parts
            .iter()
            .flatten()
            .copied()
            .collect::<Vec<_>>()
            .join("/")
    };
    let closest: BTreeMap<String, String> = closest
        .map(|parts| (given(parts), argument(parts)))
        .collect();
    let similar = nearest(&given(&wanted), closest.keys().cloned());
    similar
        .iter()
        .filter_map(|name| closest.get(name).cloned())
        .collect()
}

/// The parts of the device that are given in `wanted`.
fn as_wanted<'a>(id: &'a DeviceId, wanted: &Parts<'_>) -> Parts<'a> {
    let given = |part: &'a str, wanted: Option<&str>| wanted.map(|_| part);
    let [driver, pool, device] = *wanted;
    [
        given(id.driver.as_str(), driver),
        given(id.pool.as_str(), pool),
        given(id.device.as_str(), device),
    ]
}

fn argument(parts: &Parts<'_>) -> String {
    match parts {
        [Some(driver), None, None] => (*driver).to_owned(),
        parts => parts.map(|part| part.unwrap_or("*")).join("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_names_driver_pool_and_device() {
        for (text, expected) in [
            (
                "gpu.example.com/node-7/gpu-0",
                "gpu.example.com/node-7/gpu-0",
            ),
            (
                "gpu.example.com/rack/1/node/gpu-0",
                "gpu.example.com/rack/1/node/gpu-0",
            ),
            ("gpu.example.com", "gpu.example.com/*/*"),
            ("*/node-7/*", "*/node-7/*"),
            ("gpu.example.com/node-7/*", "gpu.example.com/node-7/*"),
            ("GPU.example.com/node-7/*", "GPU.example.com/node-7/*"),
        ] {
            assert_eq!(
                parse(text).map(|selector| format(&selector)),
                Ok(expected.to_owned()),
                "{text}"
            );
        }
        let nested = parse("gpu.example.com/rack/1/gpu-0").expect("valid");
        assert_eq!(
            nested.pool.as_ref().map(|pool| pool.as_str()),
            Some("rack/1")
        );
    }

    #[test]
    fn what_is_selected_beside_names_is_shown() {
        let by_rack = DeviceSelector {
            unknown_fields: vec!["rack".to_owned()],
            ..DeviceSelector::default()
        };
        assert_eq!(format(&by_rack), "*/*/* rack=?");
    }

    #[test]
    fn names_that_no_driver_can_publish_are_refused() {
        for text in [
            "",
            "/",
            "/node-7/gpu-0",
            "gpu.example.com//gpu-0",
            "gpu.example.com/node-7/",
            "gpu_x/node-7/gpu-0",
            "gpu.example.com/Node-7/gpu-0",
            "gpu.example.com/node-7/gpu.0",
            "gpu.example.com/node-7/GPU-0",
            "gpu.example.com/*x/gpu-0",
            "gpu.example.com/node-7/gpu-\u{1b}[31m",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    fn targets(line: &str) -> Result<String, NamingError> {
        let texts: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let targets = Targets::parse(&texts, &[], false, &Effect::None)?;
        let devices = targets.selectors.iter().map(format);
        let taints = targets.taints.iter().map(ToString::to_string);
        Ok(devices.chain(taints).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_plain_key_beside_devices_is_a_taint() {
        let expected = "gpu.example.com/node-7/gpu-0 example.com/maintenance:None";
        for line in [
            "gpu.example.com/node-7/gpu-0 example.com/maintenance",
            "example.com/maintenance gpu.example.com/node-7/gpu-0",
            "gpu.example.com/node-7/gpu-0 example.com/maintenance:None",
        ] {
            assert_eq!(targets(line).as_deref(), Ok(expected), "{line}");
        }
        let named = [parse("gpu.example.com").expect("a driver")];
        let texts = ["example.com/maintenance".to_owned()];
        let found = Targets::parse(&texts, &named, false, &Effect::NoSchedule).expect("a taint");
        assert_eq!(
            found.taints[0].to_string(),
            "example.com/maintenance:NoSchedule"
        );
    }

    #[test]
    fn a_device_cut_short_is_no_taint() {
        for line in [
            "example.com/maintenance",
            "gpu.example.com/node-7/gpu-0 node-7/gpu-1",
            "gpu.example.com/node-7/gpu-0 gpu.example.com/node-8",
            "gpu.example.com/node-7/gpu-0 example.com/x example.com/maintenance:None",
            "gpu.example.com/node-7/gpu-0 example.com/*",
        ] {
            let error = targets(line).expect_err(line);
            assert!(matches!(error, NamingError::TwoSegments { .. }), "{error}");
        }
    }

    fn known() -> Vec<DeviceId> {
        [
            "gpu.example.com/node-7/gpu-0",
            "gpu.example.com/node-7/gpu-1",
            "gpu.example.com/node-17/gpu-0",
            "nic.example.com/fabric/node-7/vf-0",
        ]
        .iter()
        .map(|text| {
            let selector = parse(text).expect("valid");
            DeviceId {
                driver: selector.driver.expect("given"),
                pool: selector.pool.expect("given"),
                device: selector.device.expect("given"),
            }
        })
        .collect()
    }

    #[test]
    fn devices_with_similar_names_are_suggested() {
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
            let selector = parse(typed).expect("well-formed");
            assert_eq!(suggest(&selector, &known()), *expected, "{typed}");
        }
    }
}
