//! Rollouts of Deployments: the fields of the spec.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Deserialize;

use super::budget::amount;
use crate::model::{Amount, Rollout};

/// `maxSurge` of a Deployment that does not set it, as the server fills it in.
const DEFAULT_PART: &str = "25%";

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Strategy {
    r#type: Option<String>,
    rolling_update: Option<RollingUpdate>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RollingUpdate {
    max_surge: Option<IntOrString>,
}

/// Of a template of pods only what `kubectl rollout restart` notes there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Template {
    metadata: Option<TemplateMetadata>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct TemplateMetadata {
    annotations: Option<BTreeMap<String, String>>,
}

/// `maxSurge` of a strategy that updates a few pods at a time; absent for others.
pub(super) fn max_surge(strategy: Option<&Strategy>) -> Option<Amount> {
    let name = strategy.and_then(|strategy| strategy.r#type.as_deref());
    if !matches!(name, None | Some("" | "RollingUpdate")) {
        return None;
    }
    let update = strategy.and_then(|strategy| strategy.rolling_update.clone());
    let RollingUpdate { max_surge } = update.unwrap_or_default();
    Some(max_surge.map_or_else(|| Amount::Part(DEFAULT_PART.to_owned()), amount))
}

/// Time of the last restart. Text that is no time is ignored: people may write anything there.
pub(super) fn restarted(template: &Template) -> Option<Timestamp> {
    let annotations = template.metadata.as_ref()?.annotations.as_ref()?;
    annotations.get(Rollout::RESTARTED_AT)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::Snapshot;
    use crate::wire::Documents;

    fn read(spec: &Value) -> Rollout {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "name": "web", "namespace": "team-a", "uid": "1", "generation": 5,
                "resourceVersion": "77",
            },
            "spec": spec,
            "status": {
                "replicas": 5, "updatedReplicas": 2, "readyReplicas": 4, "availableReplicas": 3,
                "observedGeneration": 4,
            },
        });
        let mut documents = Documents::new();
        documents.decode_json(&object.to_string()).expect("JSON");
        let mut snapshot = Snapshot::default();
        for item in documents.finish().items {
            item.object.add_to(&mut snapshot);
        }
        snapshot.deployments[0].rollout.clone().expect("a rollout")
    }

    #[test]
    fn a_deployment_says_how_it_replaces_its_pods_and_how_far_it_is() {
        let found = read(&json!({
            "replicas": 4, "paused": true,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 2, "maxUnavailable": "10%"},
            },
            "template": {"metadata": {"annotations": {
                "kubectl.kubernetes.io/restartedAt": "2026-01-01T02:00:00+02:00",
            }}},
        }));
        let expected = Rollout {
            resource_version: "77".to_owned(),
            max_surge: Some(Amount::Pods(2)),
            is_paused: true,
            generation: 5,
            observed_generation: 4,
            total: 5,
            updated: 2,
            available: 3,
            restarted: Some("2026-01-01T00:00:00Z".parse().expect("a time")),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn what_a_deployment_does_not_say_is_as_the_server_fills_it_in() {
        let default = Some(Amount::Part("25%".to_owned()));
        for (spec, expected) in [
            (json!({}), default.clone()),
            (json!({"strategy": {}}), default),
            (json!({"strategy": {"type": "Recreate"}}), None),
            (json!({"strategy": {"type": "Canary"}}), None),
        ] {
            let found = read(&spec);
            assert_eq!(found.max_surge, expected, "{spec}");
            assert_eq!((found.is_paused, found.restarted), (false, None));
        }
    }
}
