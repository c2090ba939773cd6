//! Name and taint of a drain.

use std::collections::BTreeSet;

use crate::error::Failure;
use crate::model::{DeviceId, DeviceSelector, Effect, RuleMetadata, Taint, in_group};
use crate::naming::{labels, rule};

/// The key of the taint of every drain; the value is the drain's name.
pub const TAINT_KEY: &str = in_group!("drain");

/// Name of a drain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrainTerms {
    /// Its name: a label of its rules, and the value of their taint.
    pub name: String,
}

impl DrainTerms {
    /// The given name, or a name derived from the nodes or devices, so that the same command continues the drain.
    ///
    /// # Errors
    ///
    /// A name that is not a valid label value.
    pub fn new(
        typed: Option<&str>,
        nodes: &BTreeSet<String>,
        devices: &BTreeSet<DeviceId>,
    ) -> Result<Self, Failure> {
        let name = match (typed, nodes.first()) {
            (Some(name), _) => name.to_owned(),
            (None, Some(node)) if nodes.len() == 1 && labels::parse_label_value(node).is_ok() => {
                node.clone()
            }
            (None, Some(_)) => {
                let pools = nodes.iter().map(|node| DeviceSelector {
                    pool: Some(node.as_str().into()),
                    ..DeviceSelector::default()
                });
                format!("nodes-{}", hash(&pools.collect::<Vec<_>>()))
            }
            (None, None) => {
                let selectors = devices.iter().cloned().map(DeviceSelector::from);
                format!("devices-{}", hash(&selectors.collect::<Vec<_>>()))
            }
        };
        labels::parse_label_value(&name).map_err(Failure::usage)?;
        Ok(Self { name })
    }

    /// The taint that blocks new pods.
    #[must_use]
    pub fn taint(&self) -> Taint {
        taint(&self.name)
    }

    /// The label of its rules.
    #[must_use]
    pub fn label(&self) -> (String, String) {
        (RuleMetadata::DRAIN.to_owned(), self.name.clone())
    }
}

fn taint(name: &str) -> Taint {
    Taint {
        key: TAINT_KEY.to_owned(),
        value: name.to_owned(),
        effect: Effect::NoSchedule,
        time_added: None,
    }
}

fn hash(selectors: &[DeviceSelector]) -> String {
    rule::batch(selectors, &taint(""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testing::device;

    fn nodes(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn the_same_nodes_or_devices_always_have_the_same_name() {
        let devices = BTreeSet::from([device("gpu-0")]);
        let name = |typed, nodes: &[&str], devices: &BTreeSet<DeviceId>| {
            let terms = DrainTerms::new(typed, &self::nodes(nodes), devices);
            terms.map(|terms| terms.name).map_err(|it| it.to_string())
        };
        assert_eq!(name(None, &["node-1"], &devices).unwrap(), "node-1");
        let two = name(None, &["node-1", "node-2"], &devices).unwrap();
        assert!(two.starts_with("nodes-"), "{two}");
        // Which devices the nodes have may change while they are drained.
        let other = BTreeSet::from([device("gpu-1")]);
        assert_eq!(name(None, &["node-2", "node-1"], &other).unwrap(), two);
        let by_devices = name(None, &[], &devices).unwrap();
        assert!(by_devices.starts_with("devices-"), "{by_devices}");
        assert_ne!(name(None, &[], &other).unwrap(), by_devices);
        assert_eq!(name(Some("fw"), &["node-1"], &devices).unwrap(), "fw");
        assert!(name(Some("no label"), &[], &devices).is_err());
        let long = "n".repeat(64);
        assert!(
            name(None, &[&long], &devices)
                .unwrap()
                .starts_with("nodes-")
        );
    }

    #[test]
    fn its_taint_keeps_new_pods_off_and_evicts_nobody() {
        let terms = DrainTerms {
            name: "fw".to_owned(),
        };
        assert_eq!(
            terms.taint().to_string(),
            "devicetaint.dev/drain=fw:NoSchedule"
        );
        assert_eq!(terms.label().1, "fw");
    }
}
