//! Feature gates and API groups that a server needs for device taints.
//!
//! Source: `pkg/features/kube_features.go` and `pkg/controlplane/instance.go` of Kubernetes 1.35 to
//! 1.37.

use crate::model::{Kind, Minor, Serving};

/// Advice to get a kind from a server of version `minor` that does not serve it.
pub(in crate::cluster) fn how_to_serve(kind: Kind, minor: Option<Minor>) -> String {
    match kind.serving() {
        Serving::Rules => how_to_serve_rules(minor),
        Serving::Devices => how_to_serve_devices(minor),
        Serving::MutatingPolicies => how_to_serve_mutating_policies(minor),
        Serving::Always => {
            format!(
                "every Kubernetes version that has device taints serves {} by default: check whether \
                 --runtime-config of kube-apiserver disables this API",
                kind.plural()
            )
        }
        Serving::ByController => "install their controller".to_owned(),
        Serving::PodGroups => {
            "in 1.37, start kube-apiserver with --runtime-config=scheduling.k8s.io/v1beta1=true"
                .to_owned()
        }
    }
}

/// Advice to get slices and claims from a server of version `minor` that has none.
pub(in crate::cluster) fn how_to_serve_devices(minor: Option<Minor>) -> String {
    match minor {
        Some(found) if found.minor < 34 => unsupported(found.minor),
        Some(_) | None => "check --runtime-config and the feature gate DynamicResourceAllocation of \
                           kube-apiserver: Kubernetes 1.34 and later serve resource.k8s.io/v1 by default"
            .to_owned(),
    }
}

/// Advice for a version that is not supported.
fn unsupported(minor: u32) -> String {
    format!("upgrade the cluster: Kubernetes 1.{minor} is not supported, 1.35 and later are")
}

/// Advice to get rules from a server of version `minor` that has devices and no rules.
pub(in crate::cluster) fn how_to_serve_rules(minor: Option<Minor>) -> String {
    let (version, gates) = match minor.map(|found| found.minor) {
        Some(minor @ 0..=34) => return unsupported(minor),
        Some(35) => ("v1alpha3", "gates DRADeviceTaints and DRADeviceTaintRules"),
        // DRADeviceTaints is on by default since 1.36.
        Some(36) => ("v1beta2", "gate DRADeviceTaintRules"),
        Some(_) | None => {
            return "check --runtime-config of kube-apiserver: Kubernetes 1.37 and later serve \
                    DeviceTaintRules by default, 1.35 and 1.36 with the feature gate DRADeviceTaintRules"
                .to_owned();
        }
    };
    format!(
        "start kube-apiserver with --runtime-config=resource.k8s.io/{version}=true, and turn on the feature \
         {gates} in kube-apiserver, kube-scheduler and kube-controller-manager"
    )
}

/// Advice to get mutating admission policies from a server of version `minor` that has none.
fn how_to_serve_mutating_policies(minor: Option<Minor>) -> String {
    if minor.is_some_and(|found| found.minor == 35) {
        "start kube-apiserver with --runtime-config=admissionregistration.k8s.io/v1beta1=true and the feature \
         gate MutatingAdmissionPolicy"
            .to_owned()
    } else {
        "check --runtime-config of kube-apiserver: Kubernetes 1.36 and later serve MutatingAdmissionPolicies by \
         default"
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_advised_on_by_itself() {
        let version = Some(Minor {
            minor: 36,
            patch: None,
        });
        for kind in Kind::ALL {
            let advice = how_to_serve(kind, version);
            let is_installed = kind.serving() == Serving::ByController;
            let way = if is_installed {
                "install"
            } else {
                "--runtime-config"
            };
            assert!(advice.contains(way), "{kind}: {advice}");
            let about_rules = advice.contains("DRADeviceTaintRules");
            assert_eq!(about_rules, kind == Kind::DeviceTaintRule, "{kind}");
        }
    }

    #[test]
    fn what_is_missing_depends_on_the_version() {
        let advice = |minor| how_to_serve_rules(Some(Minor { minor, patch: None }));
        for (minor, word) in [
            (34, "1.34 is not supported"),
            (35, "DRADeviceTaintRules"),
            (36, "v1beta2=true"),
            (37, "by default"),
            (40, "by default"),
        ] {
            assert!(advice(minor).contains(word), "{minor}: {}", advice(minor));
        }
    }
}
