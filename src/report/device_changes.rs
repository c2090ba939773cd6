//! Changes of devices between two readings.

use std::collections::{BTreeMap, BTreeSet};

use super::device_row::DeviceRow;
use super::devices::DeviceReport;
use super::reference::ObjectReference;
use super::table::NONE;
use super::taint::Taint;
use crate::model::UNKNOWN;

/// What is another than `before`, a line for each device by name: what has come, what is gone, and what is
/// different about the others.
#[must_use]
pub fn changes(before: &DeviceReport, now: &DeviceReport) -> Vec<String> {
    let (old, new) = (by_name(before), by_name(now));
    let names: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    let lines = names.into_iter().filter_map(|name| {
        let told = match (old.get(name), new.get(name)) {
            (None, Some(row)) => format!("added: {}", all_of(row)),
            (Some(_), None) => "no longer listed".to_owned(),
            (Some(old), Some(new)) => differences(old, new)?,
            // Never so: every name comes from one of the two.
            (None, None) => return None,
        };
        Some(format!("{name} {told}"))
    });
    lines.collect()
}

fn by_name(report: &DeviceReport) -> BTreeMap<&str, &DeviceRow> {
    let rows = report.items.iter();
    rows.map(|row| (row.device.as_str(), row)).collect()
}

/// What is told of a device, by name.
fn facts(row: &DeviceRow) -> [(&'static str, String); 5] {
    let known = |known: Option<bool>, yes: &str, no: &str| match known {
        Some(true) => yes.to_owned(),
        Some(false) => no.to_owned(),
        None => UNKNOWN.to_owned(),
    };
    let named = |all: &Option<Vec<ObjectReference>>| -> Option<Vec<String>> {
        let all = all.as_ref()?.iter();
        Some(all.map(ToString::to_string).collect())
    };
    let listed = |names: Option<Vec<String>>| match names {
        None => UNKNOWN.to_owned(),
        Some(names) if names.is_empty() => NONE.to_owned(),
        Some(names) => names.join(", "),
    };
    let taints = row.taints.as_ref();
    let taints = taints.map(|taints| taints.iter().map(Taint::cell).collect());
    [
        ("published", known(row.published, "yes", "no")),
        ("allocated", known(row.allocated, "yes", "no")),
        ("taints", listed(taints)),
        ("claims", listed(named(&row.claims))),
        ("pods", listed(named(&row.pods))),
    ]
}

fn all_of(row: &DeviceRow) -> String {
    let told = facts(row).map(|(name, value)| format!("{name} {value}"));
    told.join("; ")
}

/// What is different, if anything is: `allocated no -> yes; taints <none> -> a:None (driver)`.
fn differences(old: &DeviceRow, new: &DeviceRow) -> Option<String> {
    let pairs = facts(old).into_iter().zip(facts(new));
    let told: Vec<String> = pairs
        .filter(|((_, was), (_, is))| was != is)
        .map(|((name, was), (_, is))| format!("{name} {was} -> {is}"))
        .collect();
    (!told.is_empty()).then(|| told.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assess::DeviceBasis;
    use crate::engine;
    use crate::model::{Reading, Snapshot};
    use crate::report::testing;

    fn report(devices: &[&str], used: bool) -> DeviceReport {
        let pod = testing::pod("ml", "train-0");
        let published = devices.iter().map(|name| testing::published(name, &[]));
        let reading = Reading {
            snapshot: Snapshot {
                slices: vec![testing::slice(published.collect())],
                claims: used
                    .then(|| testing::claim_in_use(&pod))
                    .into_iter()
                    .collect(),
                ..Snapshot::default()
            },
            ..testing::reading()
        };
        let semantics = testing::semantics(37);
        let basis = DeviceBasis {
            reading: &reading,
            semantics: &semantics,
            now: testing::now(),
        };
        let devices = engine::devices(&reading.snapshot, &semantics).devices;
        DeviceReport::new(&devices, &[], &basis)
    }

    #[test]
    fn what_is_different_is_told_and_nothing_else() {
        let before = report(&["gpu-0", "gpu-1"], false);
        let now = report(&["gpu-0", "gpu-2"], true);
        assert_eq!(changes(&before, &before), [""; 0]);
        let pool = "gpu.example.com/node-7";
        assert_eq!(
            changes(&before, &now),
            [
                format!(
                    "{pool}/gpu-0 allocated no -> yes; claims <none> -> ml/train-0-gpu; pods <none> -> ml/train-0"
                ),
                format!("{pool}/gpu-1 no longer listed"),
                format!(
                    "{pool}/gpu-2 added: published yes; allocated no; taints <none>; claims <none>; pods <none>"
                ),
            ]
        );
    }
}
