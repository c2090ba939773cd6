//! Pods and claims that a dedication does not keep off its devices.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::terms::{NamespaceFact, Terms};
use super::tolerating::{Tolerance, Tolerant, TolerantKind, tolerants, unreadable};
use crate::model::{DeviceId, Effect, NamespacedName, Snapshot, Taint};
use crate::naming::phrase::few;

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
    let devices: Vec<String> = one.devices.iter().map(ToString::to_string).collect();
    let notes = [
        (one.tolerance == Tolerance::Wildcard).then(|| "wildcard".to_owned()),
        one.admin_access.then(|| "admin access".to_owned()),
        sets.map(|sets| format!("DaemonSet {}", few(sets))),
        (!devices.is_empty()).then(|| format!("holds {}", few(&devices))),
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
    use serde_json::json;

    use super::*;
    use crate::decide::dedication::testing::{claim, held, namespace, terms};
    use crate::model::ResourceClaimTemplate;

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
