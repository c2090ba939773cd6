//! Devices to be listed, from arguments.

use super::misspelt_name::{meant_as_hardware, wrong_name};
use super::numbers::{is_one_of, words_among};
use super::unknown::missing_device;
use crate::decide::identity::Hardware;
use crate::decide::identity::identifying_attributes::misspelt;
use crate::error::Failure;
use crate::model::{DeviceId, DeviceSelector, Reading};
use crate::naming::{NamingError, device};

/// Devices to show: any of these; all devices where there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownDevices(Vec<DeviceSelector>);

impl ShownDevices {
    /// Understands what was typed; to look at everything is no danger, so that `*/*/*` may be said.
    ///
    /// # Errors
    ///
    /// What can be no device.
    pub fn parse(arguments: &[String]) -> Result<Self, Failure> {
        let mut any = Vec::new();
        let mut everything = false;
        for text in arguments {
            match device::parse(text) {
                Ok(selector) => any.push(selector),
                Err(NamingError::Everything { .. }) => everything = true,
                Err(error) => return Err(no_device(text, error)),
            }
        }
        // Beside other names everything is still everything.
        if everything {
            any.clear();
        }
        Ok(Self(any))
    }

    /// Whether the device is to be shown.
    #[must_use]
    pub fn contains(&self, id: &DeviceId) -> bool {
        self.0.is_empty() || self.0.iter().any(|selector| names_it(selector, id))
    }

    /// The names, one of which has to name a device; none names all.
    #[must_use]
    pub fn names(&self) -> &[DeviceSelector] {
        &self.0
    }

    /// The words that may be numbers of hardware, such as serial numbers, and are no driver in `reading`.
    #[must_use]
    pub fn words(&self, reading: &Reading) -> Vec<&str> {
        words_among(&self.0, reading)
    }

    /// What is shown without the words that are this hardware.
    #[must_use]
    pub fn without(mut self, hardware: &[Hardware]) -> Self {
        self.0.retain(|selector| !is_one_of(selector, hardware));
        self
    }

    /// A name that matches nothing is a mistake, not an empty list.
    ///
    /// # Errors
    ///
    /// When one of the names is no `known` device's.
    pub fn refuse_missing<'a>(
        &self,
        known: impl Iterator<Item = &'a DeviceId> + Clone,
        reading: &Reading,
    ) -> Result<(), Failure> {
        let mut selectors = self.0.iter();
        let missing = selectors.find(|selector| !known.clone().any(|id| names_it(selector, id)));
        match missing {
            Some(selector) => Err(missing_device(
                selector,
                &known.cloned().collect::<Vec<_>>(),
                reading,
            )),
            None => Ok(()),
        }
    }
}

/// An argument that is no device: a taint, which is nothing to list by, hardware that is misspelt, or a
/// name that cannot be.
fn no_device(text: &str, error: NamingError) -> Failure {
    if misspelt(text).is_none() && text.contains(['=', ':']) {
        return Failure::usage(format!("{text:?} is a taint; `devices` takes no taint"))
            .hint("to list devices that have a taint: --tainted");
    }
    meant_as_hardware(&[text.to_owned()], wrong_name(error))
}

/// Whether every given field of the selector equals the device's.
fn names_it(selector: &DeviceSelector, id: &DeviceId) -> bool {
    let driver = selector.driver.as_ref();
    let pool = selector.pool.as_ref();
    let device = selector.device.as_ref();
    driver.is_none_or(|driver| *driver == id.driver)
        && pool.is_none_or(|pool| *pool == id.pool)
        && device.is_none_or(|device| *device == id.device)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(arguments: &[&str]) -> Vec<String> {
        arguments.iter().map(|text| (*text).to_owned()).collect()
    }

    fn id(text: &str) -> DeviceId {
        let parts: Vec<&str> = text.split('/').collect();
        DeviceId {
            driver: parts[0].into(),
            pool: parts[1].into(),
            device: parts[2].into(),
        }
    }

    #[test]
    fn what_is_no_device_is_told_as_what_it_is() {
        let refused = |text: &str| {
            let failure = ShownDevices::parse(&typed(&[text])).unwrap_err();
            (failure.to_string(), failure.hints().join("\n"))
        };
        let (text, hint) = refused("example.com/x=y");
        assert!(
            text.ends_with("is a taint; `devices` takes no taint"),
            "{text}"
        );
        assert!(hint.contains("--tainted"), "{hint}");
        let (_, hint) = refused("UUID=GPU-1");
        assert_eq!(hint, "did you mean hardware uuid=GPU-1?");
    }

    #[test]
    fn names_widen_what_is_shown() {
        let chosen = |arguments: &[&str]| ShownDevices::parse(&typed(arguments)).unwrap();
        let (seven, eight) = (
            id("gpu.example.com/node-7/gpu-0"),
            id("gpu.example.com/node-8/gpu-0"),
        );
        for (arguments, contains) in [
            (&[][..], (true, true)),
            (&["gpu.example.com/node-8/gpu-9", "*/*/*"], (true, true)),
            (&["gpu.example.com/node-8/*"], (false, true)),
            (&["*/node-8/*", "*/node-7/*"], (true, true)),
        ] {
            let shown = chosen(arguments);
            assert_eq!(
                (shown.contains(&seven), shown.contains(&eight)),
                contains,
                "{arguments:?}"
            );
        }
        let reading = crate::report::testing::reading();
        let known = [seven];
        let missing = chosen(&["*/node-8/*"]).refuse_missing(known.iter(), &reading);
        assert!(missing.unwrap_err().to_string().contains("node-8"));
        let found = chosen(&["*/node-7/*"]).refuse_missing(known.iter(), &reading);
        assert!(found.is_ok());
    }
}
