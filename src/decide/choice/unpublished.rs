//! Names that match nothing because their driver publishes no devices.

use super::shown::ShownDevices;
use crate::error::{ExitStatus, Failure};
use crate::model::DriverName;

/// A name that matches nothing is no mistake where its driver is `away` from the node, and publishes nothing: then only
/// what claims hold is known.
#[must_use]
pub fn with_drivers_away(failure: Failure, shown: &ShownDevices, away: &[DriverName]) -> Failure {
    let mut selectors = shown.names().into_iter().flatten();
    let driver = away.iter().find(|driver| {
        selectors.any(|one| one.driver.as_ref().is_none_or(|named| named == *driver))
    });
    match driver {
        None => failure,
        Some(driver) => Failure::new(
            ExitStatus::Failed,
            format!(
                "not published: driver {driver} is not running, and only its allocated devices on \
                 the node are known"
            ),
        )
        .hint(format!("restart driver {driver}, and run this again")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::choice::DeviceArguments;

    #[test]
    fn a_device_of_a_driver_that_is_away_is_no_mistake() {
        let of = |name: &str| {
            let shown = ShownDevices::parse(&DeviceArguments {
                arguments: vec![name.to_owned()],
                ..DeviceArguments::default()
            });
            let missing = Failure::new(ExitStatus::Failed, "no device matches");
            let away = [DriverName::from("gpu.example.com")];
            with_drivers_away(missing, &shown.expect("a device"), &away).to_string()
        };
        assert_eq!(
            of("gpu.example.com/node-7/gpu-3"),
            "not published: driver gpu.example.com is not running, and only its allocated devices \
             on the node are known"
        );
        assert_eq!(of("nic.example.com/node-7/nic-0"), "no device matches");
    }
}
