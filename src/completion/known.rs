//! What there is to complete a word with.

use std::collections::{BTreeMap, BTreeSet};

use super::values::Values;
use crate::assess::Signal;
use crate::model::{
    AttributeValue, DeviceClass, DeviceId, DeviceTaintRule, ResourceClaim, ResourceSlice, Snapshot,
};
use crate::naming::completion::{self, Candidate, beginning};
use crate::topics::Topic;

/// What was found: an aid to typing, never an answer. What cannot be read is not proposed.
#[derive(Debug, Default)]
pub struct Known {
    /// Clusters of the kubeconfig.
    pub clusters: Vec<String>,
    /// Contexts of the kubeconfig.
    pub contexts: Vec<String>,
    /// Users of the kubeconfig.
    pub users: Vec<String>,
    /// Rules of the cluster.
    pub rules: Vec<DeviceTaintRule>,
    /// Slices of the cluster.
    pub slices: Vec<ResourceSlice>,
    /// Device classes of the cluster.
    pub classes: Vec<DeviceClass>,
    /// Claims of the cluster.
    pub claims: Vec<ResourceClaim>,
}

impl From<Snapshot> for Known {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            rules: snapshot.rules,
            slices: snapshot.slices,
            claims: snapshot.claims,
            classes: snapshot.classes,
            ..Self::default()
        }
    }
}

impl Known {
    /// The words of that sort that `typed` can become.
    pub(super) fn proposals(&self, values: Values, typed: &str) -> Vec<Candidate> {
        let names = |names: &[String]| words(names.iter().map(String::as_str), typed);
        let devices = || completion::devices(&self.devices(), typed);
        let rules = || completion::rules(&self.rules, typed);
        let keys = |ending| completion::keys(&self.rules, ending, typed);
        match values {
            Values::AttributeNames => {
                let names: Vec<String> = self.attributes().into_keys().collect();
                words(names.iter().map(String::as_str), typed)
            }
            Values::Attributes => self.comparisons(typed),
            Values::Claims => self.holders(typed),
            Values::Classes => words(self.classes.iter().map(|class| class.name.as_str()), typed),
            Values::Pods => self.pods(typed),
            Values::Clusters => names(&self.clusters),
            Values::Contexts => names(&self.contexts),
            Values::Users => names(&self.users),
            Values::Devices => devices(),
            Values::DevicesThenTaint => {
                [devices(), completion::taints(&self.rules, typed)].concat()
            }
            Values::RulesOrDevices => [rules(), devices(), keys("")].concat(),
            Values::RulesOrDevicesToRemove => [rules(), devices(), keys("-")].concat(),
            Values::DeviceNames => self.device_names(typed),
            Values::Drivers => self.drivers(typed),
            Values::Pools => self.pools(typed),
            Values::Nodes => self.nodes(typed),
            Values::Namespaces => self.namespaces(typed),
            Values::Labels => completion::labels(&self.rules, typed),
            Values::Subjects => [self.subjects(typed), devices()].concat(),
            Values::Rules => rules(),
            Values::Guards => beginning(
                Signal::ALL.map(|signal| Candidate {
                    word: signal.name().to_owned(),
                    help: Some(signal.meaning().to_owned()),
                }),
                typed,
            ),
            Values::Topics => words(Topic::ALL.iter().map(|topic| topic.name()), typed),
        }
    }

    /// The devices that are published.
    fn devices(&self) -> BTreeSet<DeviceId> {
        let devices = self.slices.iter().flat_map(|slice| {
            let devices = slice.devices.iter();
            devices.map(|device| slice.id_of(device))
        });
        devices.collect()
    }

    /// Attributes and capacities of the devices by their names without domains, with their values as they
    /// are typed.
    fn attributes(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let devices = self.slices.iter().flat_map(|slice| &slice.devices);
        for device in devices {
            for (name, value) in &device.attributes {
                let values = found.entry(without_domain(name)).or_default();
                values.extend(typed_values(value));
            }
            for (name, written) in &device.capacity {
                let values = found.entry(without_domain(name)).or_default();
                values.insert(written.to_string());
            }
        }
        found
    }

    /// Comparisons of attributes: names at first, then values.
    fn comparisons(&self, typed: &str) -> Vec<Candidate> {
        let attributes = self.attributes();
        let words: Vec<Candidate> = match typed.split_once('=') {
            None => {
                let names = attributes.keys();
                names
                    .map(|name| Candidate::bare(format!("{name}=")))
                    .collect()
            }
            Some((start, _)) => {
                // What comes before may be a part of the sign.
                let name = start.trim_end_matches(['<', '>']);
                let values = attributes.get(name).into_iter().flatten();
                values
                    .map(|value| Candidate::bare(format!("{start}={value}")))
                    .collect()
            }
        };
        beginning(words, typed)
    }

    /// Drivers that publish devices and begin with `typed`.
    fn drivers(&self, typed: &str) -> Vec<Candidate> {
        let slices = self.slices.iter();
        words(slices.map(|slice| slice.driver.as_str()), typed)
    }

    /// Pools that begin with `typed`.
    fn pools(&self, typed: &str) -> Vec<Candidate> {
        let slices = self.slices.iter();
        words(slices.map(|slice| slice.pool.name.as_str()), typed)
    }

    /// Names of devices within their pools that begin with `typed`.
    fn device_names(&self, typed: &str) -> Vec<Candidate> {
        let devices = self.slices.iter().flat_map(|slice| &slice.devices);
        words(devices.map(|device| device.name.as_str()), typed)
    }

    /// Nodes that have devices and begin with `typed`.
    fn nodes(&self, typed: &str) -> Vec<Candidate> {
        let nodes = self.slices.iter().flat_map(|slice| {
            let devices = slice.devices.iter();
            devices.filter_map(|device| slice.node_of(device))
        });
        words(nodes.map(|node| node.as_str()), typed)
    }

    /// Claims that hold devices, as NAMESPACE/NAME.
    fn holders(&self, typed: &str) -> Vec<Candidate> {
        let holders = self
            .claims
            .iter()
            .filter(|claim| claim.allocation.is_some());
        let names: Vec<String> = holders.map(|claim| claim.name.to_string()).collect();
        words(names.iter().map(String::as_str), typed)
    }

    /// Pods that claims are reserved for, as NAMESPACE/NAME.
    fn pods(&self, typed: &str) -> Vec<Candidate> {
        let names = self.users();
        words(names.iter().map(String::as_str), typed)
    }

    /// Pods and rules with their types.
    fn subjects(&self, typed: &str) -> Vec<Candidate> {
        let pods = self.users().into_iter().map(|pod| format!("pod/{pod}"));
        let rules = self.rules.iter().map(|rule| format!("rule/{}", rule.name));
        let names: Vec<String> = pods.chain(rules).collect();
        words(names.iter().map(String::as_str), typed)
    }

    // Pods are not read for completion: claims name those that use devices, in one request.
    fn users(&self) -> Vec<String> {
        let mut names = Vec::new();
        for claim in &self.claims {
            let pods = claim
                .reserved_for
                .iter()
                .filter(|user| &*user.resource == "pods");
            names.extend(pods.map(|pod| format!("{}/{}", claim.name.namespace, pod.name)));
        }
        names
    }

    /// Namespaces that have claims and begin with `typed`.
    fn namespaces(&self, typed: &str) -> Vec<Candidate> {
        let claims = self.claims.iter();
        words(claims.map(|claim| claim.name.namespace.as_str()), typed)
    }
}

/// Names that begin with `typed`.
fn words<'a>(names: impl Iterator<Item = &'a str>, typed: &str) -> Vec<Candidate> {
    // Several slices have the same driver and pool.
    let names: BTreeSet<&str> = names.collect();
    beginning(names.into_iter().map(Candidate::bare), typed)
}

fn without_domain(name: &str) -> String {
    name.rsplit('/').next().unwrap_or(name).to_owned()
}

/// What can be typed for a value; of a list, each of its elements.
fn typed_values(value: &AttributeValue) -> Vec<String> {
    fn all<T: ToString>(values: &[T]) -> Vec<String> {
        values.iter().map(ToString::to_string).collect()
    }
    match value {
        AttributeValue::Int(number) => vec![number.to_string()],
        AttributeValue::Bool(value) => vec![value.to_string()],
        AttributeValue::String(text) | AttributeValue::Version(text) => vec![text.to_string()],
        AttributeValue::Ints(numbers) => all(numbers),
        AttributeValue::Bools(values) => all(values),
        AttributeValue::Strings(texts) | AttributeValue::Versions(texts) => all(texts),
        AttributeValue::Unknown => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Device, Pool, SliceNodes};

    fn device(model: &str) -> Device {
        let attributes = [
            ("model".into(), AttributeValue::String(model.into())),
            (
                "a.example.com/zones".into(),
                AttributeValue::Ints(vec![1, 2]),
            ),
            ("odd".into(), AttributeValue::Unknown),
        ];
        Device {
            name: model.into(),
            node: None,
            taints: Vec::new(),
            attributes: attributes.into_iter().collect(),
            capacity: [("memory".into(), "80Gi".into())].into_iter().collect(),
            allow_multiple_allocations: false,
            terms: None,
        }
    }

    #[test]
    fn attributes_are_proposed_by_name_and_then_with_their_values() {
        let known = Known {
            slices: vec![ResourceSlice {
                name: "slice".into(),
                driver: "gpu.example.com".into(),
                pool: Pool {
                    name: "node-7".into(),
                    generation: 1,
                    slice_count: 1,
                },
                nodes: SliceNodes::Several,
                devices: vec![device("H100"), device("A100"), device("H100")],
                terms: None,
            }],
            ..Known::default()
        };
        for (values, typed, expected) in [
            (
                Values::Attributes,
                "",
                &["memory=", "model=", "odd=", "zones="][..],
            ),
            (Values::Attributes, "mo", &["model="]),
            (Values::Attributes, "model=", &["model=A100", "model=H100"]),
            (Values::Attributes, "model=H", &["model=H100"]),
            (Values::Attributes, "memory>=", &["memory>=80Gi"]),
            (Values::Attributes, "zones=", &["zones=1", "zones=2"]),
            (Values::Attributes, "odd=", &[]),
            (Values::AttributeNames, "m", &["memory", "model"]),
        ] {
            let proposed = known.proposals(values, typed);
            let words: Vec<&str> = proposed.iter().map(|found| found.word.as_str()).collect();
            assert_eq!(words, expected, "{typed}");
        }
    }

    #[test]
    fn pods_rules_and_devices_are_proposed_to_be_explained() {
        use crate::model::{ConsumerReference, NamespacedName};
        let known = Known {
            rules: vec![DeviceTaintRule {
                name: "drain".into(),
                uid: "uid".into(),
                resource_version: "1".into(),
                generation: 1,
                selector: None,
                taint: crate::model::Taint {
                    key: "example.com/drain".to_owned(),
                    value: String::new(),
                    effect: crate::model::Effect::None,
                    time_added: None,
                },
                condition: None,
                metadata: crate::model::RuleMetadata::default(),
                managers: Vec::new(),
            }],
            claims: vec![ResourceClaim {
                name: NamespacedName {
                    namespace: "ml".into(),
                    name: "claim".into(),
                },
                uid: "uid".into(),
                controller: None,
                spec: None,
                allocation: None,
                reserved_for: vec![ConsumerReference {
                    api_group: "".into(),
                    resource: "pods".into(),
                    name: "train-0".into(),
                    uid: "uid".into(),
                }],
            }],
            ..Known::default()
        };
        let words = |typed| {
            let proposed = known.proposals(Values::Subjects, typed).into_iter();
            proposed.map(|found| found.word).collect::<Vec<_>>()
        };
        assert_eq!(words("pod/"), ["pod/ml/train-0"]);
        assert_eq!(words("r"), ["rule/drain"]);
    }
}
