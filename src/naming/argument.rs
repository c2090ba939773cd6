//! Splitting of arguments into devices and a taint.

use super::error::NamingError;
use super::{device, taint};
use crate::model::{DeviceSelector, Effect, Taint};

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
            match device::parse(text) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(line: &str) -> Result<String, NamingError> {
        let texts: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let targets = Targets::parse(&texts, &[], false, &Effect::None)?;
        let devices = targets.selectors.iter().map(device::format);
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
        let named = [device::parse("gpu.example.com").expect("a driver")];
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
}
