//! Devices to be listed, from arguments and flags.

use super::device_arguments::DeviceArguments;
use super::misspelt_name::{meant_as_hardware, wrong_name};
use super::numbers::{is_one_of, words_among};
use super::unknown::missing_device;
use crate::decide::identity::Hardware;
use crate::decide::identity::identifying_attributes::misspelt;
use crate::error::Failure;
use crate::model::{DeviceId, DeviceSelector, Reading};
use crate::naming::{NamingError, device};

/// Which devices to show: any of those that were named, as far as flags do not narrow that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownDevices {
    /// Any of these; all devices where there are none.
    any: Vec<DeviceSelector>,
    /// And this.
    also: Option<DeviceSelector>,
}

impl ShownDevices {
    /// Understands what was typed; to look at everything is no danger, so that `*/*/*` may be said.
    ///
    /// # Errors
    ///
    /// What can be no device.
    pub fn parse(typed: &DeviceArguments) -> Result<Self, Failure> {
        let mut any = Vec::new();
        let mut everything = false;
        for text in &typed.arguments {
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
        Ok(Self {
            any,
            also: typed.flags.clone(),
        })
    }

    /// Whether the device is to be shown.
    #[must_use]
    pub fn contains(&self, id: &DeviceId) -> bool {
        let any = self.any.is_empty() || self.any.iter().any(|selector| names_it(selector, id));
        any && self.also.iter().all(|selector| names_it(selector, id))
    }

    /// The names, of each of which one has to name a device; none names all.
    #[must_use]
    pub fn names(&self) -> [&[DeviceSelector]; 2] {
        [&self.any, self.also.as_slice()]
    }

    /// The words that may be numbers of hardware, such as serial numbers, and are no driver in `reading`.
    #[must_use]
    pub fn words(&self, reading: &Reading) -> Vec<&str> {
        words_among(&self.any, reading)
    }

    /// What is shown without the words that are this hardware.
    #[must_use]
    pub fn without(mut self, hardware: &[Hardware]) -> Self {
        self.any.retain(|selector| !is_one_of(selector, hardware));
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
        let mut selectors = self.any.iter().chain(&self.also);
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

    fn typed(arguments: &[&str]) -> DeviceArguments {
        DeviceArguments {
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            ..DeviceArguments::default()
        }
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
    fn names_widen_what_is_shown_and_flags_narrow_it() {
        let flags = device::from_parts(None, Some("node-7"), None).unwrap();
        let chosen = |arguments: &[&str], flags: Option<&DeviceSelector>| {
            ShownDevices::parse(&DeviceArguments {
                flags: flags.cloned(),
                ..typed(arguments)
            })
            .unwrap()
        };
        let (seven, eight) = (
            id("gpu.example.com/node-7/gpu-0"),
            id("gpu.example.com/node-8/gpu-0"),
        );
        for (name, shown, contains) in [
            ("all", chosen(&[], None), (true, true)),
            (
                "all, as it is written",
                chosen(&["gpu.example.com/node-8/gpu-9", "*/*/*"], None),
                (true, true),
            ),
            (
                "one",
                chosen(&["gpu.example.com/node-8/*"], None),
                (false, true),
            ),
            (
                "either",
                chosen(&["*/node-8/*", "*/node-7/*"], None),
                (true, true),
            ),
            ("narrowed", chosen(&[], Some(&flags)), (true, false)),
            (
                "named and narrowed",
                chosen(&["gpu.example.com"], Some(&flags)),
                (true, false),
            ),
            (
                "narrowed to nothing",
                chosen(&["*/node-8/*"], Some(&flags)),
                (false, false),
            ),
        ] {
            assert_eq!(
                (shown.contains(&seven), shown.contains(&eight)),
                contains,
                "{name}"
            );
        }
        let known = [seven];
        let elsewhere = device::from_parts(None, Some("node-8"), None).unwrap();
        // What narrows is a name, too.
        for shown in [
            chosen(&["*/node-8/*"], None),
            chosen(&[], Some(&elsewhere)),
            chosen(&["*/node-7/*"], Some(&elsewhere)),
        ] {
            let missing = shown.refuse_missing(known.iter(), &crate::report::testing::reading());
            assert!(missing.unwrap_err().to_string().contains("node-8"));
        }
        assert!(
            chosen(&["*/node-7/*"], Some(&flags))
                .refuse_missing(known.iter(), &crate::report::testing::reading())
                .is_ok()
        );
    }
}
