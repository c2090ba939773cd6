//! Names that match nothing because their driver publishes no devices.

use std::collections::BTreeSet;

use super::shown::ShownDevices;
use crate::error::{ExitStatus, Failure};
use crate::model::{DriverName, NodeName, Warning};

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
                "no selected device is published: driver {driver} is not running, and only its \
                 allocated devices on the node are known"
            ),
        )
        .hint(format!("restart driver {driver}, and run this again")),
    }
}

/// The devices exist, and not on the node whose kubelet is queried.
#[must_use]
pub fn on_another_node() -> Failure {
    Failure::new(
        ExitStatus::Failed,
        "the selected devices are on another node",
    )
    .hint("to show the nodes of devices: kubectl devicetaint devices -o wide")
}

/// That devices of the drivers which are `away` from the node may be missing from a list of all its devices.
#[must_use]
pub fn drivers_away(node: &NodeName, away: &BTreeSet<DriverName>) -> Option<Warning> {
    let names: Vec<&str> = away.iter().map(DriverName::as_str).collect();
    let noun = match names.as_slice() {
        [] => return None,
        [_] => "driver",
        _ => "drivers",
    };
    let drivers = format!("{noun} {}", names.join(", "));
    let verb = if names.len() == 1 { "is" } else { "are" };
    Some(Warning {
        code: "driver-not-running",
        message: format!(
            "{drivers} {verb} not running on node {node}: other devices of the node are unknown"
        ),
        fix: Some(format!("restart {drivers}, and run this again")),
    })
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
            "no selected device is published: driver gpu.example.com is not running, and only its \
             allocated devices on the node are known"
        );
        assert_eq!(of("nic.example.com/node-7/nic-0"), "no device matches");
    }

    #[test]
    fn a_list_without_the_devices_of_a_driver_that_is_away_is_not_all() {
        let told = |away: &[&str]| {
            let away = away.iter().map(|name| DriverName::from(*name)).collect();
            drivers_away(&"node-7".into(), &away).map(|warning| warning.message)
        };
        assert_eq!(told(&[]), None);
        assert_eq!(
            told(&["gpu.example.com"]).as_deref(),
            Some(
                "driver gpu.example.com is not running on node node-7: other devices of the node \
                 are unknown"
            )
        );
        assert_eq!(
            told(&["nic.example.com", "gpu.example.com"]).as_deref(),
            Some(
                "drivers gpu.example.com, nic.example.com are not running on node node-7: other \
                 devices of the node are unknown"
            )
        );
    }
}
