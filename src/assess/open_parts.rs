//! Warning that partitions of selected devices stay schedulable.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{DeviceId, Warning};
use crate::naming::phrase::{counted, few};

/// The warning about devices whose partitions are `open`, as [`open_parts`](crate::engine::open_parts::open_parts) has
/// found them; absent where there are none.
pub fn open_parts_warning(open: &BTreeMap<DeviceId, BTreeSet<DeviceId>>) -> Option<Warning> {
    let devices: Vec<String> = open.keys().map(ToString::to_string).collect();
    let (first, rest) = devices.split_first()?;
    let parts: BTreeSet<&DeviceId> = open.values().flatten().collect();
    let names: Vec<String> = parts.iter().map(ToString::to_string).collect();
    let wholes = match rest {
        [] => first.clone(),
        _ => counted(devices.len(), "selected device"),
    };
    let have = if parts.len() == 1 { "has" } else { "have" };
    Some(Warning {
        code: "partitions-not-tainted",
        message: format!(
            "{} of {wholes} {have} no taint of effect NoSchedule or NoExecute ({}), so new pods can be scheduled to the same hardware",
            counted(parts.len(), "partition"),
            few(&names)
        ),
        fix: Some(
            "to include them, use `add`, `preview` or `drain` with --with-partitions, or escalate their rules if they have any".to_owned(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::testing::device;

    #[test]
    fn partitions_that_stay_schedulable_are_named() {
        let parts = |names: &[&str]| names.iter().map(|name| device(name)).collect();
        let open = BTreeMap::from([(device("gpu-0"), parts(&["half-0", "half-1"]))]);
        let warning = open_parts_warning(&open).unwrap();
        assert_eq!(
            warning.message,
            "2 partitions of gpu.example.com/node-7/gpu-0 have no taint of effect NoSchedule or NoExecute \
             (gpu.example.com/node-7/half-0, gpu.example.com/node-7/half-1), so new pods can be scheduled to the same hardware"
        );
        assert_eq!(open_parts_warning(&BTreeMap::new()), None);
    }
}
