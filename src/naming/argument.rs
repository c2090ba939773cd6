//! Is this argument a device or a taint?

use super::{NamingError, device, taint};
use crate::model::{DeviceSelector, Taint};

/// One argument of a command that takes devices and a taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Devices.
    Devices(DeviceSelector),
    /// A taint, without the time it was added.
    Taint(Taint),
}

impl Argument {
    /// Reads `text`: with `=` or `:` it is a taint, otherwise it names devices.
    ///
    /// # Errors
    ///
    /// When it is neither; see [`NamingError`].
    pub fn parse(text: &str) -> Result<Self, NamingError> {
        if text.contains(['=', ':']) {
            taint::parse(text).map(Self::Taint)
        } else {
            device::parse(text).map(Self::Devices)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_sign_or_colon_makes_a_taint() {
        for (text, is_taint) in [
            ("gpu.example.com/node-7/gpu-0", false),
            ("gpu.example.com", false),
            ("example.com/maintenance:NoExecute", true),
            ("example.com/maintenance=x:None", true),
        ] {
            let argument = Argument::parse(text).expect(text);
            assert_eq!(matches!(argument, Argument::Taint(_)), is_taint, "{text}");
        }
    }
}
