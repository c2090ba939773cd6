//! Devices filtered by name, node and attributes.
//!
//! Takes a [`Snapshot`] whose slices were read with attributes and counters, and names devices. What
//! cannot be said of a device is told beside them, never taken for "no".

use super::devices::{DeviceEntry, DeviceTable};
use super::expression::{AttributeCondition, DeviceExpression, ExpressionError};
use super::select::RuleIndex;
use super::semantics::Semantics;
use crate::model::{DeviceId, DeviceSelector, Snapshot};

/// Something that a device has to meet.
#[derive(Clone, Debug)]
pub enum DeviceCondition {
    /// One of these selectors names it.
    Named(Vec<DeviceSelector>),
    /// It is local to this node, as its driver says or the claims that hold it.
    Node(String),
    /// It has one of these values.
    Attribute(Vec<AttributeCondition>),
    /// The expression says so.
    Expression(DeviceExpression),
}

/// The devices that conditions choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilteredDevices {
    /// Those that meet all conditions, by name.
    pub devices: Vec<DeviceId>,
    /// Those of which that cannot be said, by name, and why.
    pub failed: Vec<(DeviceId, ExpressionError)>,
}

/// The devices of `snapshot` that meet all `conditions`.
///
/// Costs O(devices × conditions).
pub fn filter_devices(
    snapshot: &Snapshot,
    conditions: &[DeviceCondition],
    semantics: &Semantics,
) -> FilteredDevices {
    let table = all_devices(snapshot, semantics);
    let mut pick = FilteredDevices::default();
    for place in table.sorted(|_| true) {
        let entry = table.entry(place);
        match meets(conditions, entry) {
            Ok(true) => pick.devices.push(entry.id()),
            Ok(false) => {}
            Err(error) => pick.failed.push((entry.id(), error)),
        }
    }
    pick
}

fn all_devices<'a>(snapshot: &'a Snapshot, semantics: &Semantics) -> DeviceTable<'a> {
    // No condition is about taints, and matching rules is most of the work of a table.
    let no_rules = RuleIndex::new(Vec::new(), semantics);
    DeviceTable::new(&snapshot.slices, &snapshot.claims, &no_rules)
}

/// True if the device meets all conditions. One that it does not meet decides, even if others cannot be evaluated.
fn meets(conditions: &[DeviceCondition], entry: &DeviceEntry<'_>) -> Result<bool, ExpressionError> {
    let mut failure = None;
    for condition in conditions {
        match condition.is_met(entry) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(true), Err)
}

impl DeviceCondition {
    /// True if it is about facts that only a published device shows.
    pub fn is_about_attributes(&self) -> bool {
        match self {
            Self::Attribute(_) | Self::Expression(_) => true,
            Self::Named(_) | Self::Node(_) => false,
        }
    }

    fn is_met(&self, entry: &DeviceEntry<'_>) -> Result<bool, ExpressionError> {
        match self {
            Self::Named(selectors) => Ok(selectors.iter().any(|selector| names(selector, entry))),
            Self::Node(node) => Ok(entry.node().is_some_and(|found| found.as_str() == node)),
            Self::Attribute(conditions) => {
                let published = entry.published.ok_or(ExpressionError::Unpublished)?;
                let (driver, device) = (&published.slice.driver, published.device);
                let conditions = conditions.iter();
                any(conditions.map(|condition| condition.holds(driver, device)))
            }
            Self::Expression(expression) => match entry.published {
                Some(published) => expression.matches(&published.slice.driver, published.device),
                // Its driver is part of its name.
                None => expression.matches_unpublished(&entry.key.driver.into()),
            },
        }
    }
}

/// True if one of the verdicts is yes, even if others cannot be evaluated.
fn any(
    verdicts: impl Iterator<Item = Result<bool, ExpressionError>>,
) -> Result<bool, ExpressionError> {
    let mut failure = None;
    for verdict in verdicts {
        match verdict {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(false), Err)
}

fn names(selector: &DeviceSelector, entry: &DeviceEntry<'_>) -> bool {
    selector.has_names(entry.key.driver, entry.key.pool, entry.key.device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Allocation, AttributeValue, CounterUse, Device, DeviceTerms, Pool, ResourceClaim,
        ResourceSlice, SliceNodes,
    };
    use crate::testing::{claim, pod, result, semantics};

    fn device(name: &str, model: Option<&str>, set: Option<&str>) -> Device {
        let model = model.map(|model| ("model".into(), AttributeValue::String(model.into())));
        Device {
            name: name.into(),
            attributes: model.into_iter().collect(),
            terms: set.map(|set| {
                let used = CounterUse {
                    set: set.into(),
                    ..CounterUse::default()
                };
                Box::new(DeviceTerms {
                    consumes: vec![used],
                    ..DeviceTerms::default()
                })
            }),
            ..Device::default()
        }
    }

    fn slice(pool: &str, devices: Vec<Device>) -> ResourceSlice {
        ResourceSlice {
            name: pool.into(),
            driver: "gpu.example.com".into(),
            pool: Pool {
                name: pool.into(),
                generation: 1,
                slice_count: 1,
            },
            nodes: SliceNodes::One(pool.into()),
            devices,
            terms: None,
        }
    }

    fn id(pool: &str, device: &str) -> DeviceId {
        DeviceId {
            driver: "gpu.example.com".into(),
            pool: pool.into(),
            device: device.into(),
        }
    }

    /// Two nodes with parts of GPUs, and a claim that holds a part and what is not published any more.
    fn snapshot() -> Snapshot {
        Snapshot {
            slices: vec![
                slice(
                    "a",
                    vec![
                        device("part-0", Some("h100"), Some("gpu-0")),
                        device("part-1", Some("h100"), Some("gpu-0")),
                        device("part-2", Some("a100"), Some("gpu-1")),
                    ],
                ),
                slice("b", vec![device("part-0", None, Some("gpu-0"))]),
            ],
            claims: vec![ResourceClaim {
                allocation: Some(Allocation {
                    node: None,
                    results: vec![result(id("a", "part-0")), result(id("a", "gone"))],
                }),
                ..claim(&pod("ml", "user"))
            }],
            ..Snapshot::default()
        }
    }

    fn filtered(wanted: &[DeviceCondition]) -> (Vec<String>, Vec<String>) {
        let snapshot = snapshot();
        let pick = filter_devices(&snapshot, wanted, &semantics(37));
        let name = |id: &DeviceId| format!("{}/{}", id.pool, id.device);
        let failed = pick.failed.iter().map(|(id, _)| name(id));
        (pick.devices.iter().map(name).collect(), failed.collect())
    }

    fn expression(text: &str) -> DeviceCondition {
        DeviceCondition::Expression(DeviceExpression::compile(text).unwrap())
    }

    #[test]
    fn all_conditions_have_to_be_met_and_what_cannot_be_said_is_told() {
        let h100 = || expression("device.attributes['gpu.example.com'].model == 'h100'");
        let on = |node: &str| DeviceCondition::Node(node.into());
        let named = ["part-0", "gone"].map(|device| id("a", device).into());
        let named = DeviceCondition::Named(named.to_vec());
        let either = ["a100", "b100"].map(|model| AttributeCondition::is("model", model));
        let either = DeviceCondition::Attribute(either.to_vec());
        for (wanted, devices, failed) in [
            (vec![on("b")], "b/part-0", ""),
            (vec![h100()], "a/part-0 a/part-1", "a/gone b/part-0"),
            // What another rules out cannot fail.
            (vec![h100(), on("a")], "a/part-0 a/part-1", ""),
            // What is not published has no attributes that are known.
            (vec![named, h100()], "a/part-0", "a/gone"),
            (vec![either, on("a")], "a/part-2", ""),
        ] {
            let (found, unknown) = filtered(&wanted);
            let found = (found.join(" "), unknown.join(" "));
            assert_eq!(found, (devices.to_owned(), failed.to_owned()));
        }
    }

    #[test]
    fn what_is_known_of_an_unpublished_device_decides() {
        let model = "device.attributes['gpu.example.com'].model == 'h100'";
        let with = |start: &str| format!("{start} {model}");
        // Of the device that only an allocation knows: chosen, not chosen, or not known.
        for (text, verdict) in [
            (with("device.driver == 'nic.example.com' &&"), Some(false)),
            (with("device.driver == 'gpu.example.com' ||"), Some(true)),
            (with("device.driver == 'gpu.example.com' &&"), None),
            (with("device.driver == 'nic.example.com' ||"), None),
            (format!("{model} && device.driver == 'x'"), Some(false)),
            (format!("{model} || device.driver != 'x'"), Some(true)),
            (with("device.driver != 'x' ? true :"), Some(true)),
            (with("device.driver == 'x' ? true :"), None),
            (format!("{model} ? true : true"), None),
            (with("1 / 0 == 1 &&"), None),
            (format!("{model} && 1 / 0 == 1"), None),
            ("device.allowMultipleAllocations".to_owned(), None),
            ("!device.allowMultipleAllocations".to_owned(), None),
            ("'x' in device.attributes".to_owned(), None),
            ("has(device.attributes['x'].y)".to_owned(), None),
            (
                format!("['a', 'b'].exists(e, {model} || e == 'b')"),
                Some(true),
            ),
            (
                format!("['a', 'b'].all(e, {model} && e == 'a')"),
                Some(false),
            ),
            (format!("['a', 'b'].exists(e, {model} && e == 'b')"), None),
        ] {
            let alone = [
                DeviceCondition::Named(vec![id("a", "gone").into()]),
                expression(&text),
            ];
            let pick = filter_devices(&snapshot(), &alone, &semantics(37));
            let found = match (pick.devices.len(), &pick.failed[..]) {
                (chosen, []) => Some(chosen == 1),
                (_, failed) => {
                    assert_eq!(failed[0].1, ExpressionError::Unpublished, "{text}");
                    None
                }
            };
            assert_eq!(found, verdict, "{text}");
        }
    }

    /// Monitoring that holds a device whose driver is gone must not keep others from being chosen.
    #[test]
    fn an_unpublished_device_of_another_driver_is_not_in_the_way() {
        let mut snapshot = snapshot();
        let allocation = snapshot.claims[0].allocation.as_mut().unwrap();
        allocation.results[1].device.driver = "nic.example.com".into();
        let wanted = expression(
            "device.driver == 'gpu.example.com' && 'model' in device.attributes['gpu.example.com']",
        );
        let pick = filter_devices(&snapshot, &[wanted], &semantics(37));
        assert_eq!(pick.failed, []);
        assert_eq!(pick.devices.len(), 3);
    }
}
