//! Pods and claims that a dedication does not keep off its devices.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::terms::{NamespaceFact, Terms};
use super::tolerating::{Tolerance, Tolerant, TolerantKind, tolerants, unreadable};
use crate::model::{DeviceId, Effect, NamespacedName, Snapshot, Taint};
use crate::naming::phrase::few;

/// Up to so many claims and templates are listed.
const LISTED: usize = 10;

/// The claims that the pods of a DaemonSet use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaemonSetClaims {
    name: NamespacedName,
    claims: BTreeSet<(TolerantKind, String)>,
}

impl DaemonSetClaims {
    /// Those that the object names in its pod template.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let named = &object["spec"]["template"]["spec"]["resourceClaims"];
        let fields = [
            (TolerantKind::Claim, "resourceClaimName"),
            (TolerantKind::Template, "resourceClaimTemplateName"),
        ];
        let claims = named.as_array().into_iter().flatten().flat_map(|claim| {
            fields.map(|(kind, field)| {
                claim[field]
                    .is_string()
                    .then(|| (kind, text(&claim[field])))
            })
        });
        let metadata = &object["metadata"];
        Self {
            name: NamespacedName {
                namespace: text(&metadata["namespace"]).as_str().into(),
                name: text(&metadata["name"]).as_str().into(),
            },
            claims: claims.flatten().collect(),
        }
    }
}

/// Pods on the devices that stay, and claims and templates outside that tolerate the taint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    staying: BTreeSet<NamespacedName>,
    outside: Vec<(Tolerant, Vec<NamespacedName>)>,
    unknown: Vec<NamespacedName>,
}

impl Findings {
    /// Looks through a snapshot with claims and templates, where the terms select the devices `selected`.
    #[must_use]
    pub fn of(
        terms: &Terms,
        snapshot: &Snapshot,
        selected: &BTreeSet<DeviceId>,
        namespaces: &[NamespaceFact],
        daemon_sets: &[DaemonSetClaims],
    ) -> Self {
        let accepted: BTreeSet<&str> = namespaces
            .iter()
            .filter(|one| terms.accepts(one))
            .map(|one| one.name.as_str())
            .collect();
        let is_outside = |name: &NamespacedName| !accepted.contains(name.namespace.as_str());
        // Claims that tolerate NoExecute alone cannot use the devices, but new ones are rejected, too.
        let taints = [Effect::NoSchedule, Effect::NoExecute].map(|effect| Taint {
            effect,
            ..terms.taint()
        });
        let outside = tolerants(snapshot, &taints).into_iter();
        let outside = outside.filter(|one| is_outside(&one.name)).map(|one| {
            let uses = |set: &&DaemonSetClaims| {
                let key = (one.kind, one.name.name.to_string());
                set.name.namespace == one.name.namespace && set.claims.contains(&key)
            };
            let sets = daemon_sets.iter().filter(uses);
            let sets = sets.map(|set| set.name.clone()).collect();
            (one, sets)
        });
        let holds = |device: &DeviceId| selected.contains(device);
        let staying = snapshot.claims.iter().filter(|claim| {
            let mut results = claim.allocation.iter().flat_map(|found| &found.results);
            results.any(|result| holds(&result.device))
        });
        let unknown = unreadable(snapshot).into_iter();
        Self {
            staying: staying.flat_map(|claim| claim.reserving_pods()).collect(),
            outside: outside.collect(),
            unknown: unknown.filter(|name| is_outside(name)).cloned().collect(),
        }
    }

    /// Claims and templates outside that were not found `before`, or hold other devices since.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let is_new = |one: &&(Tolerant, Vec<NamespacedName>)| {
            let tolerants = before.outside.iter().map(|(tolerant, _)| tolerant);
            tolerants.into_iter().all(|other| *other != one.0)
        };
        let outside = self.outside.iter().filter(is_new);
        let unknown = self.unknown.iter();
        Self {
            staying: BTreeSet::new(),
            outside: outside.cloned().collect(),
            unknown: unknown
                .filter(|name| !before.unknown.contains(name))
                .cloned()
                .collect(),
        }
    }

    /// The findings as lines; none where there is nothing to say.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let names = |all: &mut dyn Iterator<Item = &NamespacedName>| {
            few(&all.map(ToString::to_string).collect::<Vec<_>>())
        };
        if !self.staying.is_empty() {
            let pods = names(&mut self.staying.iter());
            lines.push(format!("pods that stay on the devices: {pods}"));
        }
        if !self.outside.is_empty() {
            lines.push(
                "outside the dedication, these tolerate the taint and may use the devices; new ones are \
                 rejected, unless --allow NAMESPACE is given:"
                    .to_owned(),
            );
            lines.extend(self.outside.iter().take(LISTED).map(line));
            let more = self.outside.len().saturating_sub(LISTED);
            if more > 0 {
                let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
                for (one, _) in self.outside.iter().skip(LISTED) {
                    let count = counts.entry(one.name.namespace.as_str()).or_default();
                    *count = count.saturating_add(1);
                }
                let counts: Vec<String> = counts
                    .iter()
                    .map(|(name, count)| format!("{name} ({count})"))
                    .collect();
                lines.push(format!("  and {more} more in {}", few(&counts)));
            }
        }
        if !self.unknown.is_empty() {
            let claims = names(&mut self.unknown.iter());
            lines.push(format!("tolerations unknown: {claims}"));
        }
        lines
    }
}

fn line((one, daemon_sets): &(Tolerant, Vec<NamespacedName>)) -> String {
    let list = |what: &str, names: Vec<String>| {
        (!names.is_empty()).then(|| format!("{what}{}", few(&names)))
    };
    let sets = daemon_sets.iter().map(|set| set.name.to_string()).collect();
    let devices = one.devices.iter().map(ToString::to_string).collect();
    let notes = [
        (one.tolerance == Tolerance::Wildcard).then(|| "wildcard".to_owned()),
        one.admin_access.then(|| "admin access".to_owned()),
        list("DaemonSet ", sets),
        list("holds ", devices),
    ];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!(" ({})", notes.join(", "))
    };
    format!("  {} {}{notes}", one.kind.word(), one.name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decide::dedication::testing::{claim, held, namespace, terms};
    use crate::model::ResourceClaimTemplate;

    fn of(snapshot: &Snapshot, allowed: &[&str]) -> Findings {
        let mut terms = terms("research", &["research"]);
        terms.allowed = allowed.iter().map(|&name| name.to_owned()).collect();
        let monitor = json!({
            "metadata": {"namespace": "monitoring", "name": "dcgm"},
            "spec": {"template": {"spec": {"resourceClaims": [
                {"name": "gpus", "resourceClaimTemplateName": "all"},
            ]}}},
        });
        let namespaces = ["research", "web", "monitoring"].map(|name| namespace(name, ""));
        let device = held("web/a", "gpu-0").allocation.unwrap().results[0]
            .device
            .clone();
        let sets = [DaemonSetClaims::of(&monitor)];
        Findings::of(&terms, snapshot, &[device].into(), &namespaces, &sets)
    }

    fn snapshot() -> Snapshot {
        let template = |name: &str, toleration: &str| ResourceClaimTemplate {
            name: claim(name, &[]).name,
            spec: claim(name, &[toleration]).spec.unwrap(),
        };
        let mut snapshot = Snapshot::default();
        snapshot.claims.extend([
            claim("research/own", &["devicetaint.dev/dedicated:"]),
            claim("web/plain", &[""]),
            held("web/holder", "gpu-0"),
            claim("gone/unlisted", &[":"]),
        ]);
        snapshot.templates.extend([
            template("monitoring/all", ":"),
            template("monitoring/evictable", ":NoExecute"),
        ]);
        snapshot
    }

    #[test]
    fn outside_claims_and_templates_are_found_with_their_daemon_sets() {
        let found = of(&snapshot(), &[]);
        let names: Vec<(String, usize)> = found
            .outside
            .iter()
            .map(|(one, sets)| (one.name.to_string(), sets.len()))
            .collect();
        let expected = [
            ("gone/unlisted", 0),
            ("monitoring/all", 1),
            ("monitoring/evictable", 0),
        ];
        assert_eq!(names, expected.map(|(name, sets)| (name.to_owned(), sets)));
        assert_eq!(of(&snapshot(), &["monitoring"]).outside.len(), 1);
    }

    #[test]
    fn pods_on_the_devices_stay() {
        let found = of(&snapshot(), &[]);
        let pods: Vec<String> = found.staying.iter().map(ToString::to_string).collect();
        assert_eq!(pods, ["web/holder"]);
        assert!(of(&Snapshot::default(), &[]).lines().is_empty());
    }

    #[test]
    fn the_second_look_has_only_what_came_since() {
        let before = of(&snapshot(), &[]);
        assert_eq!(before.since(&before), Findings::default());
        let mut later = snapshot();
        later.claims.push(claim("web/late", &[":"]));
        let mut unknown = claim("web/unknown", &[]);
        unknown.spec = None;
        later.claims.push(unknown);
        let since = of(&later, &[]).since(&before);
        assert_eq!((since.outside.len(), since.unknown.len()), (1, 1));
    }

    #[test]
    fn many_claims_are_counted_by_namespace() {
        let mut snapshot = Snapshot::default();
        for number in 0..15 {
            snapshot
                .claims
                .push(claim(&format!("web/{number}"), &[":"]));
        }
        assert_eq!(of(&snapshot, &[]).lines().len(), LISTED + 2);
    }
}
