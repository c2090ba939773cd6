//! Version of Kubernetes in question, and the parts of its answers that can be compared.
//!
//! The controllers before 1.36 leave some things to chance, or to the order of events. Those are
//! left out of the comparison here, each for a reason, and nothing else is.

use std::collections::BTreeSet;

use kubectl_devicetaint::engine::Semantics;
use kubectl_devicetaint::model::Minor;
use serde_json::{Value, json};

use crate::case::{Case, ClaimSpec, Family, OwnerSpec, PodSpec, ReferenceSpec, ReservationSpec};
use crate::oracle::process::Oracle;

/// Far behind everything that is due in a timeline, and the ten seconds after it.
pub const HORIZON: i64 = 7_200;

/// The controller of one version.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    pub semantics: Semantics,
}

impl Subject {
    /// The version that the oracle was built from.
    pub fn of(oracle: &mut Oracle) -> Self {
        let answer = oracle.ask(&[json!({"id": 0, "op": "version"})]);
        let text = answer[0]["kubernetes"].as_str().expect("a version");
        let version = Minor::parse(text).expect("a version");
        Self {
            semantics: Semantics::of(version).expect("a version that is known"),
        }
    }

    /// True if the conditions that evictions leave behind can be compared. Controllers before 1.36 count a
    /// terminating pod again whenever an event reaches it, so that their number of evicted pods depends on
    /// the order of events.
    pub fn counts_evictions(&self) -> bool {
        !self.semantics.stale_reservation_hides
    }

    /// True if a pod that is terminating already counts as evicted (up to 1.37).
    pub fn counts_terminating_pods(&self) -> bool {
        self.semantics.version.minor <= 37
    }

    /// The case as this version can evaluate it.
    pub fn adapted(&self, mut case: Case) -> Case {
        case.pod_groups &= self.semantics.with_pod_groups().honours_pod_groups
            && !(self.semantics.version.minor == 36 && panics_in_1_36(&case));
        if self.semantics.stale_reservation_hides {
            // Pods without claims are not kept when objects are read, so that a reservation for one
            // looks stale. Only this generator makes such reservations: pods reserve their claims,
            // and cannot lose them.
            for pod in case.pods.iter_mut().filter(|pod| pod.claims.is_empty()) {
                pod.claims.push(ReferenceSpec::TemplateWithoutClaim);
            }
        }
        case
    }

    /// The question about a case, as the oracle understands it.
    pub fn request(&self, case: &Case, family: Family) -> Value {
        let objects = case.objects();
        let mut request = json!({
            "id": 0,
            "op": "controller",
            "workloadResourceClaims": case.pod_groups,
            "horizonSeconds": match family { Family::Previews => 30, Family::Timelines => HORIZON },
            "pods": objects.pods,
            "claims": objects.claims,
            "slices": objects.slices,
            "rules": objects.rules,
            // Rules that come one after the other find some pods gone already.
            "rulesAfterSync": family == Family::Previews,
            "ignoreUnknownFields": !self.semantics.with_pod_groups().honours_pod_groups,
        });
        if family == Family::Timelines && self.semantics.stale_reservation_hides {
            // The effect of a stale reservation depends on the order of events. In this one the cluster is
            // alive when the rules appear, as for a user who creates one; and no pod is gone when the second
            // rule appears, since that would make reservations stale.
            request["afterSync"] = json!(["pods"]);
            request["rulesAfterSync"] = true.into();
            request["terminationSeconds"] = (2 * HORIZON).into();
        }
        request
    }

    /// Pods whose eviction may come later than this project predicts, or not at all, by namespace and name.
    ///
    /// Up to 1.35 a stale reservation hides a pod from a change of that claim, but not from one of another
    /// claim that names the pod. The controller goes through the claims in the order of a Go map; if it takes
    /// the other claim first, it evaluates the pod before the hidden claim has a time.
    pub fn late_pods(&self, case: &Case) -> BTreeSet<String> {
        if !self.semantics.stale_reservation_hides {
            return BTreeSet::new();
        }
        let pods = (0u8..).zip(&case.pods);
        pods.filter(|(place, pod)| claims_naming(case, *place) > 1 && uses_stale_claim(case, pod))
            .map(|(place, pod)| format!("namespace-{}/pod-{place}", pod.namespace))
            .collect()
    }
}

fn claims_of(pod: &PodSpec) -> BTreeSet<u8> {
    let named = pod.claims.iter().filter_map(|reference| match reference {
        ReferenceSpec::Claim(claim) | ReferenceSpec::Template(claim) => Some(*claim),
        ReferenceSpec::TemplateWithoutStatus | ReferenceSpec::TemplateWithoutClaim => None,
    });
    named.collect()
}

/// Number of claims reserved for the pod, referred to by it or not.
fn claims_naming(case: &Case, pod: u8) -> usize {
    let names = |claim: &&ClaimSpec| claim.reserved_for.contains(&ReservationSpec::Pod(pod));
    case.claims.iter().filter(names).count()
}

/// True if one of the pod's claims has an entry in `reservedFor` that names no pod of its namespace.
fn uses_stale_claim(case: &Case, pod: &PodSpec) -> bool {
    let is_stale = |reservation: &ReservationSpec| match reservation {
        ReservationSpec::Pod(place) => case
            .pods
            .get(usize::from(*place))
            .is_none_or(|other| other.namespace != pod.namespace),
        ReservationSpec::FormerPod(_) | ReservationSpec::NoPod | ReservationSpec::RenamedPod(_) => {
            true
        }
        ReservationSpec::PodGroup(_) => false,
    };
    claims_of(pod)
        .into_iter()
        .filter_map(|claim| case.claims.get(usize::from(claim)))
        .any(|claim| claim.reserved_for.iter().any(is_stale))
}

/// True if the controller of 1.36 would end with a nil dereference in `resourceclaim.IsForPod`: with the gate
/// `DRAWorkloadResourceClaims` on it does, on a pod without a PodGroup that refers to a claim as generated
/// for it which is another's.
fn panics_in_1_36(case: &Case) -> bool {
    let mut pods = (0u8..).zip(&case.pods);
    pods.any(|(place, pod)| {
        pod.pod_group.is_none()
            && pod.claims.iter().any(|reference| match reference {
                ReferenceSpec::Template(claim) => case
                    .claims
                    .get(usize::from(*claim))
                    .is_some_and(|claim| claim.owner != OwnerSpec::Pod(place)),
                ReferenceSpec::Claim(_)
                | ReferenceSpec::TemplateWithoutStatus
                | ReferenceSpec::TemplateWithoutClaim => false,
            })
    })
}
