//! Hardware numbers among the arguments, resolved in a cluster.

use crate::decide::identity::hardware::may_be_number;
use crate::decide::identity::identifying_attributes::identifies;
use crate::decide::identity::{Hardware, NotedHardware};
use crate::model::{AttributeValue, DeviceSelector, DeviceTaintRule, Reading, Snapshot};

/// Those of `words` that are the number of a published device, such as its serial number.
#[must_use]
pub fn numbers(words: &[&str], snapshot: &Snapshot) -> Vec<Hardware> {
    let words = words.iter().filter(|word| may_be_number(word));
    let hardware = words.map(|word| Hardware::bare(word));
    let is_published = |hardware: &Hardware| {
        let mut devices = snapshot.slices.iter().flat_map(|slice| &slice.devices);
        devices.any(|device| {
            let mut attributes = device.attributes.iter();
            attributes.any(|(name, value)| {
                identifies(name) && written(value).is_some_and(|value| hardware.is(name, &value))
            })
        })
    };
    hardware.filter(is_published).collect()
}

/// Those of `words` that one of `rules` notes as the number of the hardware for which it was made.
#[must_use]
pub fn noted_numbers(words: &[&str], rules: &[DeviceTaintRule]) -> Vec<Hardware> {
    let words = words.iter().filter(|word| may_be_number(word));
    let hardware = words.map(|word| Hardware::bare(word));
    let is_noted = |hardware: &Hardware| {
        let mut noted = rules.iter().filter_map(NotedHardware::on);
        noted.any(|noted| noted.has(hardware))
    };
    hardware.filter(is_noted).collect()
}

/// The single word that a selector is, which is taken for a driver, if it can be the number of hardware too.
pub(super) fn word_of(selector: &DeviceSelector) -> Option<&str> {
    let is_driver_alone = selector.pool.is_none() && selector.device.is_none();
    let driver = selector.driver.as_ref().filter(|_| is_driver_alone)?;
    Some(driver.as_str()).filter(|word| may_be_number(word))
}

/// Whether a device of this driver is published or allocated.
fn is_driver(word: &str, reading: &Reading) -> bool {
    let snapshot = &reading.snapshot;
    // A driver that is away publishes nothing, and is a driver all the same.
    let mut slices = snapshot.slices.iter();
    let allocations = snapshot
        .claims
        .iter()
        .filter_map(|claim| claim.allocation.as_ref());
    let mut results = allocations.flat_map(|allocation| &allocation.results);
    slices.any(|slice| slice.driver.as_str() == word)
        || results.any(|result| result.device.driver.as_str() == word)
}

/// The words among `named` that may be numbers of hardware, such as serial numbers, and are no driver of a
/// device in `reading`.
pub(super) fn words_among<'a>(named: &'a [DeviceSelector], reading: &Reading) -> Vec<&'a str> {
    let words = named.iter().filter_map(word_of);
    words.filter(|word| !is_driver(word, reading)).collect()
}

/// Whether the selector is the word that is one of these numbers.
pub(super) fn is_one_of(selector: &DeviceSelector, hardware: &[Hardware]) -> bool {
    let word = word_of(selector);
    word.is_some_and(|word| hardware.iter().any(|found| found.number == word))
}

fn written(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::String(text) | AttributeValue::Version(text) => Some(text.to_string()),
        AttributeValue::Int(number) => Some(number.to_string()),
        AttributeValue::Bool(_)
        | AttributeValue::Ints(_)
        | AttributeValue::Bools(_)
        | AttributeValue::Strings(_)
        | AttributeValue::Versions(_)
        | AttributeValue::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing;

    #[test]
    fn a_word_is_a_number_where_a_device_has_it() {
        let attributes = [("serial", "1423022041312"), ("model", "h100")];
        let snapshot = Snapshot {
            slices: vec![testing::slice(vec![testing::published(
                "gpu-0",
                &attributes,
            )])],
            ..Snapshot::default()
        };
        let found = |words: &[&str]| -> Vec<String> {
            let found = numbers(words, &snapshot);
            found.iter().map(ToString::to_string).collect()
        };
        assert_eq!(found(&["1423022041312", "maintenance"]), ["1423022041312"]);
        assert!(found(&["h100"]).is_empty(), "a model identifies nothing");
    }
}
