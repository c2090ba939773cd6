//! Names that complete a word that is being typed.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{DeviceId, DeviceTaintRule, Kind, ResourceClaim, ResourceSlice, Snapshot};

/// Words that an argument takes and that clap does not know, named where it is defined: `#[arg(add = Values::Nodes)]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Devices by their whole names.
    Devices,
    /// Devices, or the key of a taint behind them.
    DevicesThenTaint,
    /// Namespaces that have claims.
    Namespaces,
    /// Nodes that have devices.
    Nodes,
    /// Rules by name.
    Rules,
    /// Rules by name, or a device and the key of its taint.
    RulesOrDevices,
}

impl clap::builder::ArgExt for Values {}

impl Values {
    /// The kinds of objects that have such names.
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Rules => &[Kind::DeviceTaintRule],
            Self::Devices | Self::Nodes => &[Kind::ResourceSlice],
            Self::DevicesThenTaint | Self::RulesOrDevices => {
                &[Kind::DeviceTaintRule, Kind::ResourceSlice]
            }
            Self::Namespaces => &[Kind::ResourceClaim],
        }
    }
}

/// Objects that were read: an aid to typing. What cannot be read is not proposed.
#[derive(Debug, Default)]
pub struct Known {
    /// Rules of the cluster.
    pub rules: Vec<DeviceTaintRule>,
    /// Slices of the cluster.
    pub slices: Vec<ResourceSlice>,
    /// Claims of the cluster.
    pub claims: Vec<ResourceClaim>,
}

impl From<Snapshot> for Known {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            rules: snapshot.rules,
            slices: snapshot.slices,
            claims: snapshot.claims,
        }
    }
}

impl Known {
    /// The words of that sort that `typed` can become.
    pub(super) fn proposals(&self, values: Values, typed: &str) -> Vec<Candidate> {
        let keys = || words(self.rules.iter().map(|rule| &*rule.taint.key), typed);
        match values {
            Values::Devices => devices(&self.devices(), typed),
            Values::DevicesThenTaint => [devices(&self.devices(), typed), keys()].concat(),
            Values::Namespaces => {
                let claims = self.claims.iter();
                words(claims.map(|claim| claim.name.namespace.as_str()), typed)
            }
            Values::Nodes => self.nodes(typed),
            Values::Rules => rules(&self.rules, typed),
            Values::RulesOrDevices => {
                let devices = devices(&self.devices(), typed);
                [rules(&self.rules, typed), devices, keys()].concat()
            }
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

    /// Nodes that have devices and begin with `typed`.
    fn nodes(&self, typed: &str) -> Vec<Candidate> {
        let nodes = self.slices.iter().flat_map(|slice| {
            let devices = slice.devices.iter();
            devices.filter_map(|device| slice.node_of(device))
        });
        words(nodes.map(|node| node.as_str()), typed)
    }
}

/// Names that begin with `typed`.
fn words<'a>(names: impl Iterator<Item = &'a str>, typed: &str) -> Vec<Candidate> {
    // Several slices have the same node, several rules the same key.
    let names: BTreeSet<&str> = names.collect();
    beginning(names.into_iter().map(Candidate::bare), typed)
}

/// Maximum number of devices that are proposed one by one; of more, the next part of their names.
const MANY: usize = 40;

/// A word that may be meant, with what there is to say about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    /// The whole word; one that ends with `/`, `=` or `:` goes on.
    pub(super) word: String,
    /// Description, in a few words.
    pub(super) help: Option<String>,
}

impl Candidate {
    /// A word about which there is nothing to say.
    fn bare(word: impl Into<String>) -> Self {
        Self {
            word: word.into(),
            help: None,
        }
    }

    fn with(word: String, help: String) -> Self {
        Self {
            word,
            help: Some(help),
        }
    }
}

/// DEVICE arguments that begin with `typed`: devices, or drivers and pools where there are many
/// devices. Each of `typed`'s parts may be `*` already.
fn devices(published: &BTreeSet<DeviceId>, typed: &str) -> Vec<Candidate> {
    let matching: Vec<(String, [&str; 3])> = published
        .iter()
        .map(|id| {
            let parts = [id.driver.as_str(), id.pool.as_str(), id.device.as_str()];
            (in_the_typed_form(parts, typed), parts)
        })
        .filter(|(word, _)| word.starts_with(typed))
        .collect();
    if matching.len() <= MANY {
        let words: BTreeSet<String> = matching.into_iter().map(|(word, _)| word).collect();
        return words.into_iter().map(Candidate::bare).collect();
    }
    let mut next: BTreeMap<String, usize> = BTreeMap::new();
    for (word, parts) in &matching {
        let count = next.entry(next_part(word, *parts, typed)).or_default();
        *count = count.saturating_add(1);
    }
    // A step that tells nothing apart is not worth a key. It must not be what was typed, for this function asks
    // itself about it.
    if let [(only, _)] = next.iter().collect::<Vec<_>>()[..]
        && only.as_str() != typed
        && only.ends_with('/')
    {
        return devices(published, only);
    }
    let shown = next.into_iter().map(|(word, count)| match count {
        1 => Candidate::bare(word),
        count => Candidate::with(word, format!("{count} devices")),
    });
    shown.collect()
}

/// The device with `*` where `typed` has one in the place of driver or pool.
fn in_the_typed_form([driver, pool, device]: [&str; 3], typed: &str) -> String {
    let mut parts = typed.split('/');
    let driver = if parts.next() == Some("*") {
        "*"
    } else {
        driver
    };
    // A pool may have `/` in its name: with more of them the second part is not all of the pool.
    let pool = if parts.next() == Some("*") && typed.matches('/').count() == 2 {
        "*"
    } else {
        pool
    };
    format!("{driver}/{pool}/{device}")
}

/// The word up to the next `/` that divides driver, pool and device.
fn next_part(word: &str, [_, _, device]: [&str; 3], typed: &str) -> String {
    let driver = word.split_inclusive('/').next().unwrap_or(word);
    let pool = word.strip_suffix(device).unwrap_or(word);
    let ends = [driver, pool, word];
    let end = ends.into_iter().find(|end| end.len() > typed.len());
    end.unwrap_or(word).to_owned()
}

/// Names of rules that begin with `typed`, also as `devicetaintrule.resource.k8s.io/NAME`.
fn rules(rules: &[DeviceTaintRule], typed: &str) -> Vec<Candidate> {
    let prefix = match typed.split_once('/') {
        Some((kind, _)) if kind.starts_with("devicetaintrule") => format!("{kind}/"),
        _ => String::new(),
    };
    let words = rules.iter().map(|rule| {
        let taint = &rule.taint;
        let value = if taint.value.is_empty() {
            String::new()
        } else {
            format!("={}", taint.value)
        };
        let shown = format!("{}{value}:{}", taint.key, taint.effect.as_str());
        Candidate::with(format!("{prefix}{}", rule.name), shown)
    });
    beginning(words, typed)
}

/// Those of the `candidates` that begin with `typed`, sorted, each once, and none that a terminal
/// would take for anything but letters.
fn beginning(candidates: impl IntoIterator<Item = Candidate>, typed: &str) -> Vec<Candidate> {
    let plain = |candidate: &Candidate| !candidate.word.chars().any(char::is_control);
    let found: BTreeSet<Candidate> = candidates
        .into_iter()
        .filter(plain)
        .filter(|candidate| candidate.word.starts_with(typed))
        .collect();
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published(drivers: usize, pools: usize, devices: usize) -> BTreeSet<DeviceId> {
        let mut all = BTreeSet::new();
        for driver in 0..drivers {
            for pool in 0..pools {
                for device in 0..devices {
                    all.insert(DeviceId {
                        driver: format!("driver-{driver}.example.com").as_str().into(),
                        pool: format!("rack-{pool}/node").as_str().into(),
                        device: format!("gpu-{device}").as_str().into(),
                    });
                }
            }
        }
        all
    }

    fn words(candidates: Vec<Candidate>) -> Vec<String> {
        candidates.into_iter().map(|it| it.word).collect()
    }

    #[test]
    fn many_devices_are_proposed_part_by_part() {
        let all = published(2, 3, 50);
        assert_eq!(
            words(devices(&all, "")),
            ["driver-0.example.com/", "driver-1.example.com/"]
        );
        // Slashes within a pool's name divide nothing.
        assert_eq!(
            words(devices(&all, "driver-1.example.com/")),
            [
                "driver-1.example.com/rack-0/node/",
                "driver-1.example.com/rack-1/node/",
                "driver-1.example.com/rack-2/node/"
            ]
        );
        let within = devices(&all, "driver-1.example.com/rack-2/node/");
        assert_eq!(within.len(), 50);
        assert_eq!(within[0].word, "driver-1.example.com/rack-2/node/gpu-0");
    }

    #[test]
    fn a_step_that_tells_nothing_apart_is_left_out() {
        assert_eq!(
            words(devices(&published(1, 2, 50), "")),
            [
                "driver-0.example.com/rack-0/node/",
                "driver-0.example.com/rack-1/node/"
            ]
        );
    }

    #[test]
    fn nothing_is_proposed_that_a_terminal_would_obey() {
        let hostile = Candidate::bare("a\u{1b}[31m");
        assert!(beginning([hostile], "a").is_empty());
    }
}
