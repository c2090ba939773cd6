//! Terms of a dedication: name, namespaces and devices.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::tolerating::{Tolerance, Tolerant, TolerantKind, tolerants, unreadable};
use crate::engine::allocator::sharing_counters;
use crate::error::{ExitStatus, Failure};
use crate::model::{
    DeviceId, DeviceSelector, DeviceTaintRule, Effect, NamespacedName, Snapshot, Taint,
};
use crate::naming::device;
use crate::naming::keys;
use crate::naming::labels::LabelSelector;
use crate::naming::phrase::{counted, few, nearest};

/// Up to so many namespaces are named in messages.
const NAMED: usize = 5;
/// Namespace of system components, whose claims must not wait for dedicated devices.
const SYSTEM: &str = "kube-system";

/// Namespaces whose claims may use the devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// Those with these names.
    Named(BTreeSet<String>),
    /// Those with such labels.
    Labelled(LabelSelector),
}

/// Description of a dedication, from which all its objects are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Its name, the value of the taint.
    pub name: String,
    /// Namespaces whose new claims get the toleration.
    pub namespaces: Namespaces,
    /// Other namespaces in which claims with the toleration are accepted.
    pub allowed: BTreeSet<String>,
    /// The devices, one rule for each selector.
    pub devices: Vec<DeviceSelector>,
    /// Reason noted on the rules.
    pub reason: Option<String>,
}

/// A namespace as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceFact {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// True if it is being deleted, so that nothing can be created in it.
    pub is_terminating: bool,
}

impl From<&Value> for NamespaceFact {
    fn from(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let labels = metadata["labels"].as_object().into_iter().flatten();
        Self {
            name: text(&metadata["name"]),
            labels: labels
                .map(|(key, value)| (key.clone(), text(value)))
                .collect(),
            is_terminating: metadata["deletionTimestamp"].is_string(),
        }
    }
}

impl Terms {
    /// Checks the name of a dedication, which is a label's value and part of object names.
    ///
    /// # Errors
    ///
    /// A name that cannot be one of these.
    pub fn check_name(name: &str) -> Result<(), Failure> {
        let is_label = device::check_taint_value(name).is_ok() && !name.contains('.');
        match device::check_rule(name) {
            Ok(()) if is_label => Ok(()),
            Ok(()) | Err(_) => Err(Failure::usage(format!(
                "{name:?} is not a valid dedication name"
            ))
            .hint("use lower-case letters, digits and -, at most 63 characters")),
        }
    }

    /// The taint of the devices. Its effect is never raised: the policies add a toleration of NoSchedule.
    pub fn taint(&self) -> Taint {
        Taint {
            key: keys::DEDICATED.to_owned(),
            value: self.name.clone(),
            effect: Effect::NoSchedule,
            time_added: None,
        }
    }

    /// True if claims of a namespace with these labels get the toleration.
    pub fn has(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        match &self.namespaces {
            Namespaces::Named(names) => names.contains(namespace),
            Namespaces::Labelled(selector) => selector.matches(labels),
        }
    }

    /// True if claims with the toleration are accepted in this namespace.
    pub fn accepts(&self, namespace: &NamespaceFact) -> bool {
        self.has(&namespace.name, &namespace.labels) || self.allowed.contains(&namespace.name)
    }

    /// The namespaces as text: `namespace research`.
    pub fn namespaces_text(&self) -> String {
        match &self.namespaces {
            Namespaces::Named(names) if names.len() > NAMED => counted(names.len(), "namespace"),
            Namespaces::Named(names) => {
                let list: Vec<&str> = names.iter().map(String::as_str).collect();
                let plural = if list.len() == 1 { "" } else { "s" };
                format!("namespace{plural} {}", list.join(", "))
            }
            Namespaces::Labelled(selector) => format!("namespaces with {selector}"),
        }
    }

    /// Refuses namespaces that cannot have devices of their own, or do not exist.
    ///
    /// # Errors
    ///
    /// kube-system, a missing namespace, or none.
    pub fn refuse_namespaces(&self, all: &[NamespaceFact]) -> Result<(), Failure> {
        let mut members = all.iter().filter(|one| self.has(&one.name, &one.labels));
        let named = match &self.namespaces {
            Namespaces::Named(names) => names.clone(),
            Namespaces::Labelled(_) => BTreeSet::new(),
        };
        if named.contains(SYSTEM) || members.clone().any(|one| one.name == SYSTEM) {
            return Err(Failure::usage(format!(
                "namespace {SYSTEM} cannot be part of a dedication: system components use its claims"
            ))
            .hint("to accept its claims: --allow kube-system"));
        }
        let mut wanted = named.iter().chain(&self.allowed);
        if let Some(missing) = wanted.find(|name| all.iter().all(|one| one.name != **name)) {
            let text = format!("namespace {missing} not found");
            let failure = Failure::new(ExitStatus::Failed, text);
            let near = nearest(missing, all.iter().map(|one| one.name.clone()));
            let near = near.first().map(|near| format!("did you mean {near}?"));
            return Err(near.into_iter().fold(failure, Failure::hint));
        }
        match members.next() {
            Some(_) => Ok(()),
            None => {
                let text = format!("there are no {}", self.namespaces_text());
                Err(Failure::new(ExitStatus::Failed, text))
            }
        }
    }
}

/// A rule of another dedication that taints something of what `terms` do. Every rule with the taint of a
/// dedication counts, whatever its effect is and whatever created it.
pub fn other_dedication<'a>(
    terms: &Terms,
    rules: &'a [DeviceTaintRule],
) -> Option<(&'a DeviceTaintRule, &'a str)> {
    let overlaps = |rule: &DeviceTaintRule| {
        // Up to 1.37.0 the scheduler applies a rule without a selector to every device.
        let theirs = rule.selector.clone().unwrap_or_default();
        terms.devices.iter().any(|own| overlap(own, &theirs))
    };
    rules.iter().find_map(|rule| {
        let name = keys::dedication(&rule.taint)?;
        (name != terms.name && overlaps(rule)).then_some((rule, name))
    })
}

/// True if a device could be selected by both: where both name something, they name the same.
fn overlap(one: &DeviceSelector, other: &DeviceSelector) -> bool {
    fn agree<T: PartialEq>(one: Option<&T>, other: Option<&T>) -> bool {
        one.zip(other).is_none_or(|(one, other)| one == other)
    }
    agree(one.driver.as_ref(), other.driver.as_ref())
        && agree(one.pool.as_ref(), other.pool.as_ref())
        && agree(one.device.as_ref(), other.device.as_ref())
}

/// Refuses devices that another dedication has.
///
/// # Errors
///
/// The first rule of another dedication.
pub fn refuse_overlap(terms: &Terms, rules: &[DeviceTaintRule]) -> Result<(), Failure> {
    let Some((rule, name)) = other_dedication(terms, rules) else {
        return Ok(());
    };
    let devices = device::format(&rule.selector.clone().unwrap_or_default());
    Err(Failure::refused(format!(
        "{devices} belongs to dedication {name} (rule {})",
        rule.name
    ))
    .hint(format!(
        "omit these devices, or end the other dedication: kubectl devicetaint undedicate {name}"
    )))
}

/// Refuses devices whose counters others can still use: a partition of a dedicated GPU, or the GPU of a
/// dedicated partition. `selected` are the devices of the terms.
///
/// # Errors
///
/// The devices that share counters and are not dedicated.
pub fn refuse_shared_counters(
    snapshot: &Snapshot,
    selected: &BTreeSet<DeviceId>,
) -> Result<(), Failure> {
    let others = sharing_counters(snapshot, selected);
    if others.is_empty() {
        return Ok(());
    }
    Err(Failure::refused(format!(
        "other claims could use the hardware of the devices through {}; nothing was changed",
        few(&others)
    ))
    .hint("dedicate these devices too: --with-partitions"))
}

/// The names of DaemonSets by the claims and templates that their pods use.
type DaemonSets<'a> = BTreeMap<(TolerantKind, &'a str, &'a str), Vec<String>>;

/// A line for each pod on the devices, which stays, and for each claim and template outside that tolerates the
/// taint: those that exist may use the devices, and new ones are rejected.
///
/// `snapshot` has claims and templates, the terms select the devices `selected`, and `daemon_sets` are the objects
/// of the cluster.
pub fn findings(
    terms: &Terms,
    snapshot: &Snapshot,
    selected: &BTreeSet<DeviceId>,
    namespaces: &[NamespaceFact],
    daemon_sets: &[Value],
) -> Vec<String> {
    let accepted = namespaces.iter().filter(|one| terms.accepts(one));
    let accepted: BTreeSet<&str> = accepted.map(|one| one.name.as_str()).collect();
    let is_outside = |name: &NamespacedName| !accepted.contains(name.namespace.as_str());
    let holding = snapshot.claims.iter().filter(|claim| {
        let mut results = claim.allocation.iter().flat_map(|found| &found.results);
        results.any(|result| selected.contains(&result.device))
    });
    let pods: BTreeSet<NamespacedName> = holding.flat_map(|claim| claim.reserving_pods()).collect();
    // Claims that tolerate NoExecute alone cannot use the devices, but new ones are rejected, too.
    let taints = [Effect::NoSchedule, Effect::NoExecute].map(|effect| Taint {
        effect,
        ..terms.taint()
    });
    let daemon_sets = by_claim(daemon_sets);
    let tolerants = tolerants(snapshot, &taints);
    let outside = tolerants.iter().filter(|one| is_outside(&one.name));
    let unknown = unreadable(snapshot).into_iter();
    let unknown = unknown.filter(|name| is_outside(name));
    let pods = pods
        .iter()
        .map(|pod| format!("pod {pod} stays on its device"));
    pods.chain(outside.map(|one| line(one, &daemon_sets)))
        .chain(unknown.map(|name| format!("{name}: tolerations unknown")))
        .collect()
}

fn by_claim(objects: &[Value]) -> DaemonSets<'_> {
    let mut found = DaemonSets::new();
    for object in objects {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let claims = &object["spec"]["template"]["spec"]["resourceClaims"];
        for claim in claims.as_array().into_iter().flatten() {
            for (kind, field) in [
                (TolerantKind::Claim, "resourceClaimName"),
                (TolerantKind::Template, "resourceClaimTemplateName"),
            ] {
                if let Some(name) = claim[field].as_str() {
                    let key = (kind, text("namespace"), name);
                    found.entry(key).or_default().push(text("name").to_owned());
                }
            }
        }
    }
    found
}

fn line(one: &Tolerant, daemon_sets: &DaemonSets<'_>) -> String {
    let NamespacedName { namespace, name } = &one.name;
    let sets = daemon_sets.get(&(one.kind, namespace.as_str(), name.as_str()));
    let notes = [
        (one.tolerance == Tolerance::Wildcard).then(|| "wildcard".to_owned()),
        one.admin_access.then(|| "admin access".to_owned()),
        sets.map(|sets| format!("DaemonSet {}", few(sets))),
        (!one.devices.is_empty()).then(|| format!("holds {}", few(&one.devices))),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!(" ({})", notes.join(", "))
    };
    format!(
        "{} {} tolerates the taint{notes}",
        one.kind.word(),
        one.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::dedication::testing::{by_labels, claim, held, namespace, terms};
    use crate::decide::testing::{rule, selector};
    use crate::model::ResourceClaimTemplate;
    use serde_json::json;

    #[test]
    fn names_that_no_taint_or_object_can_have_are_refused() {
        assert!(Terms::check_name("research-1").is_ok());
        for name in ["", "Research", "a b", "a-", &"a".repeat(64), "a.b"] {
            assert!(Terms::check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn namespaces_must_exist_and_are_never_kube_system() {
        let all = [
            namespace("research", "ml"),
            namespace("kube-system", "core"),
            namespace("web", "web"),
        ];
        let mut allowing = terms("a", &["research"]);
        allowing.allowed = ["gone".to_owned()].into();
        use ExitStatus::{Failed, Usage};
        for (name, terms, status) in [
            ("exists", terms("a", &["research"]), None),
            ("missing", terms("a", &["reserch"]), Some(Failed)),
            ("allowed one missing", allowing, Some(Failed)),
            ("labels", by_labels("a", "team=ml"), None),
            ("labels of none", by_labels("a", "team=none"), Some(Failed)),
            ("system by label", by_labels("a", "team!=web"), Some(Usage)),
            ("system by name", terms("a", &["kube-system"]), Some(Usage)),
        ] {
            let refused = terms.refuse_namespaces(&all).err();
            let refused = refused.map(|failure| failure.status());
            assert_eq!(refused, status, "{name}");
        }
    }

    fn dedicated(name: &str, selector: Option<DeviceSelector>) -> DeviceTaintRule {
        let mut rule = rule("NoSchedule");
        rule.taint.key = keys::DEDICATED.to_owned();
        rule.taint.value = name.to_owned();
        rule.selector = selector;
        rule
    }

    #[test]
    fn devices_of_another_dedication_are_found_however_they_are_selected() {
        let whole_driver = DeviceSelector {
            pool: None,
            device: None,
            ..selector("gpu-0")
        };
        let elsewhere = DeviceSelector {
            pool: Some("elsewhere".into()),
            ..selector("gpu-0")
        };
        let mut terms = terms("research", &["research"]);
        terms.devices = vec![selector("gpu-0"), selector("gpu-2")];
        let other_taint = rule("NoSchedule");
        let of = |name: &str, device: &str| dedicated(name, Some(selector(device)));
        for (what, theirs, found) in [
            ("the same device", of("ml", "gpu-0"), true),
            ("one of several", of("ml", "gpu-2"), true),
            ("another device", of("ml", "gpu-1"), false),
            ("its driver", dedicated("ml", Some(whole_driver)), true),
            ("another pool", dedicated("ml", Some(elsewhere)), false),
            ("no selector", dedicated("ml", None), true),
            ("its own rule", of("research", "gpu-0"), false),
            ("another taint", other_taint, false),
        ] {
            let refused = refuse_overlap(&terms, &[theirs]);
            assert_eq!(refused.is_err(), found, "{what}");
        }
    }

    /// The objects that a snapshot's findings are about, in order.
    fn of(snapshot: &Snapshot, allowed: &[&str]) -> Vec<String> {
        let mut terms = terms("research", &["research"]);
        terms.allowed = allowed.iter().map(|&name| name.to_owned()).collect();
        let monitor = json!({
            "metadata": {"namespace": "monitoring", "name": "dcgm"},
            "spec": {"template": {"spec": {"resourceClaims": [
                {"name": "gpus", "resourceClaimTemplateName": "all"},
            ]}}},
        });
        let namespaces = ["research", "web", "monitoring"].map(|name| namespace(name, ""));
        let holder = held("web/a", "gpu-0").allocation.unwrap();
        let selected = [holder.results[0].device.clone()].into();
        findings(&terms, snapshot, &selected, &namespaces, &[monitor])
    }

    #[test]
    fn pods_on_the_devices_and_what_tolerates_the_taint_outside_are_found() {
        let template = |name: &str, toleration: &str| ResourceClaimTemplate {
            name: claim(name, &[]).name,
            spec: claim(name, &[toleration]).spec.unwrap(),
        };
        let mut unknown = claim("web/unknown", &[]);
        unknown.spec = None;
        let mut snapshot = Snapshot::default();
        snapshot.claims.extend([
            claim("research/own", &["devicetaint.dev/dedicated:"]),
            claim("web/plain", &[""]),
            held("web/holder", "gpu-0"),
            held("web/elsewhere", "gpu-1"),
            claim("gone/unlisted", &[":"]),
            unknown,
        ]);
        snapshot.templates.extend([
            template("monitoring/all", ":"),
            template("monitoring/evictable", ":NoExecute"),
        ]);
        let expected = [
            "web/holder",
            "gone/unlisted",
            "monitoring/all",
            "monitoring/evictable",
            "web/unknown",
        ];
        let found = of(&snapshot, &[]);
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (line, name) in found.iter().zip(expected) {
            assert!(line.contains(name), "{name}: {line}");
            assert_eq!(line.contains("DaemonSet dcgm"), name == "monitoring/all");
        }
        assert_eq!(of(&snapshot, &["monitoring"]).len(), 3);
        assert!(of(&Snapshot::default(), &[]).is_empty());
    }
}
