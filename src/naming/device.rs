//! `DRIVER/POOL/DEVICE`, with `*` for any.

use std::fmt;

use super::error::NamingError;
use super::validate;
use crate::model::{DeviceId, DeviceSelector};

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
        return Err(NamingError::EmptySegment {
            argument: text.to_owned(),
        });
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
    let given = |segment| Some(segment).filter(|segment| *segment != "*");
    let selector = from_parts(given(driver), given(pool.as_str()), given(device))?;
    if selector == DeviceSelector::default() {
        return Err(NamingError::Everything {
            argument: text.to_owned(),
        });
    }
    Ok(selector)
}

/// A selector from driver, pool and device, each of them or none.
///
/// # Errors
///
/// When the API server would refuse one of the names.
fn from_parts(
    driver: Option<&str>,
    pool: Option<&str>,
    device: Option<&str>,
) -> Result<DeviceSelector, NamingError> {
    if let Some(driver) = driver {
        validate::driver(driver)?;
    }
    if let Some(pool) = pool {
        validate::pool(pool)?;
    }
    if let Some(device) = device {
        validate::device(device)?;
    }
    Ok(DeviceSelector {
        driver: driver.map(Into::into),
        pool: pool.map(Into::into),
        device: device.map(Into::into),
        ..DeviceSelector::default()
    })
}

/// The selector as a DEVICE argument would say it, with what such an argument cannot say after it.
pub fn format(selector: &DeviceSelector) -> String {
    let driver = selector.driver.as_ref().map_or("*", |name| name.as_str());
    let pool = selector.pool.as_ref().map_or("*", |name| name.as_str());
    let device = selector.device.as_ref().map_or("*", |name| name.as_str());
    format!("{driver}/{pool}/{device}{}", conditions(selector))
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

/// Conditions of the selector beside driver, pool and device.
pub fn conditions(selector: &DeviceSelector) -> Conditions<'_> {
    Conditions(&selector.unknown_fields)
}

/// Conditions of a selector beside driver, pool and device: the names of fields that this plugin does not
/// know. Shown as ` FIELD=?`, each with a blank in front, or as nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conditions<'a>(pub &'a [String]);

impl fmt::Display for Conditions<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for field in self.0 {
            write!(formatter, " {field}=?")?;
        }
        Ok(())
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
    fn an_empty_segment_is_refused_wherever_it_is() {
        for text in [
            "",
            "/",
            "a.example.com//gpu-0",
            "/node-7/gpu-0",
            "a.example.com/node-7/",
        ] {
            let refused = matches!(parse(text), Err(NamingError::EmptySegment { .. }));
            assert!(refused, "{text}");
        }
    }

    #[test]
    fn names_that_no_driver_can_publish_are_refused() {
        for text in [
            "",
            "/",
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
}
