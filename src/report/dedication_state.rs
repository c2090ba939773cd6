//! Dedications and tolerations as reports show them.

use super::dedications::{
    DedicatedDeviceReport, DedicatedUsage, Dedication, DedicationPolicy, Enforcement,
    PolicyStateReport,
};
use super::tolerations::{ToleranceReport, TolerantReport};
use crate::decide::dedication::{
    AdminAccess, DedicatedDevice, DedicationState, DeviceUser, Members, PolicyCondition,
    PolicyState, Tolerance, Tolerant,
};
use crate::engine::tolerate::tolerates_eviction;
use crate::model::{Effect, Taint};

/// A dedication as reports show it.
#[must_use]
pub fn reported(state: &DedicationState) -> Dedication {
    let terms = state.terms.as_ref();
    let (namespaces, selector) = match terms.map(|terms| &terms.members) {
        Some(Members::Namespaces(names)) => (Some(names.iter().cloned().collect()), None),
        Some(Members::Selected(selector)) => (None, Some(selector.to_string())),
        None => (None, None),
    };
    let effect = terms
        .map(|terms| &terms.effect)
        .or_else(|| state.devices.first().map(|device| &device.effect));
    let others = state.others.iter();
    Dedication {
        name: state.name.clone(),
        effect: effect.map(ToString::to_string),
        namespaces,
        namespace_selector: selector,
        allowed_namespaces: terms
            .map_or_else(Vec::new, |terms| terms.allowed.iter().cloned().collect()),
        allow_admin_access: terms.is_some_and(|terms| terms.admin_access == AdminAccess::Allowed),
        enforcement: enforcement(state),
        policies: state.policies.iter().map(policy).collect(),
        rules: state.rules.clone(),
        dedicated_devices: state.devices.iter().map(device).collect(),
        claims_lacking_toleration: state.lacking.iter().map(Into::into).collect(),
        tolerated_by_others: others
            .map(|one| tolerant_report(one, &state.taints))
            .collect(),
    }
}

fn enforcement(state: &DedicationState) -> Enforcement {
    let is_missing = |policy: &PolicyState| policy.condition == PolicyCondition::Missing;
    match state.is_enforced() {
        Some(true) if rules_are_as_made(state) => Enforcement::Enforced,
        Some(true) => Enforcement::NotEnforced,
        Some(false) if state.policies.iter().all(is_missing) => Enforcement::TaintOnly,
        Some(false) => Enforcement::NotEnforced,
        None => Enforcement::Unknown,
    }
}

/// Whether the taints of all devices keep others out: one with effect None does not.
fn rules_are_as_made(state: &DedicationState) -> bool {
    let keeps_out = |device: &DedicatedDevice| match device.effect {
        Effect::NoSchedule | Effect::NoExecute => true,
        Effect::None | Effect::Unknown(_) => false,
    };
    // Policies add and protect a toleration of their own effect.
    let terms = state.terms.as_ref();
    let is_as_made = |device: &DedicatedDevice| {
        keeps_out(device) && terms.is_none_or(|terms| terms.effect == device.effect)
    };
    !state.rules.is_empty() && state.devices.iter().all(is_as_made)
}

fn policy(state: &PolicyState) -> DedicationPolicy {
    let (condition, messages) = match &state.condition {
        PolicyCondition::AsMade => (PolicyStateReport::Unmodified, Vec::new()),
        PolicyCondition::Missing => (PolicyStateReport::Missing, Vec::new()),
        PolicyCondition::NotOurs => (PolicyStateReport::Foreign, Vec::new()),
        PolicyCondition::Changed(lines) => (PolicyStateReport::Modified, lines.clone()),
        PolicyCondition::Unknown(why) => (PolicyStateReport::Unknown, vec![why.clone()]),
    };
    DedicationPolicy {
        kind: state.kind.kind().as_str().to_owned(),
        name: state.name.clone(),
        policy_state: condition,
        messages,
    }
}

fn device(device: &DedicatedDevice) -> DedicatedDeviceReport {
    let users = device.users.as_ref();
    let usage = match users {
        None => DedicatedUsage::Unknown,
        // Admin access takes a device from nobody, so that it is as free as one that no claim holds.
        Some(users) if users.iter().all(|user| user.admin_access) => DedicatedUsage::Free,
        // One claim of others settles it, whatever is not known of the rest.
        Some(users)
            if users
                .iter()
                .any(|user| user.is_member == Some(false) && !user.admin_access) =>
        {
            DedicatedUsage::UsedByOthers
        }
        Some(users) if users.iter().any(DeviceUser::is_other) => DedicatedUsage::Unknown,
        Some(_) => DedicatedUsage::Used,
    };
    let claims = users.map(|users| users.iter().map(|user| (&user.claim).into()).collect());
    DedicatedDeviceReport {
        device: device.id.to_string(),
        rule: device.rule.clone(),
        effect: device.effect.to_string(),
        usage,
        claims,
    }
}

/// A claim or template that tolerates one of `taints`, as reports show it.
#[must_use]
pub fn tolerant_report(one: &Tolerant, taints: &[Taint]) -> TolerantReport {
    let evicting: Vec<Taint> = taints
        .iter()
        .map(|taint| Taint {
            effect: Effect::NoExecute,
            ..taint.clone()
        })
        .collect();
    let stays = |taint: &Taint| {
        one.by
            .iter()
            .any(|toleration| tolerates_eviction(toleration, taint))
    };
    TolerantReport {
        kind: one.kind.kind().as_str().to_owned(),
        namespace: one.name.namespace.to_string(),
        name: one.name.name.to_string(),
        tolerance: match one.tolerance {
            Tolerance::Key => ToleranceReport::Key,
            Tolerance::Wildcard => ToleranceReport::Wildcard,
        },
        admin_access: one.admin_access,
        tolerations: one.by.iter().map(Into::into).collect(),
        tolerations_text: one.by.iter().map(ToString::to_string).collect(),
        scheduling_only: !evicting.iter().any(stays),
        devices: one.devices.iter().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::dedication::PolicyKind;
    use crate::decide::dedication::TolerantKind;
    use crate::decide::dedication::testing::{terms, toleration};
    use crate::model::{DeviceId, NamespacedName};

    fn user(is_member: Option<bool>, admin_access: bool) -> DeviceUser {
        DeviceUser {
            claim: NamespacedName {
                namespace: "a".into(),
                name: "b".into(),
            },
            is_member,
            admin_access,
        }
    }

    fn dedicated(users: Option<Vec<DeviceUser>>, effect: Effect) -> DedicatedDevice {
        DedicatedDevice {
            id: DeviceId {
                driver: "d".into(),
                pool: "p".into(),
                device: "x".into(),
            },
            rule: "rule".to_owned(),
            effect,
            users,
        }
    }

    fn with(conditions: &[PolicyCondition], effect: Effect) -> DedicationState {
        let policies = PolicyKind::ALL.into_iter().zip(conditions);
        DedicationState {
            name: "a".to_owned(),
            terms: Some(terms("a", &["a"])),
            policies: policies
                .map(|(kind, condition)| PolicyState {
                    kind,
                    name: "dedicated-a".to_owned(),
                    condition: condition.clone(),
                })
                .collect(),
            rules: vec!["rule".to_owned()],
            devices: vec![dedicated(Some(Vec::new()), effect)],
            taints: terms("a", &["a"]).tolerated(),
            lacking: Vec::new(),
            others: Vec::new(),
        }
    }

    #[test]
    fn who_has_a_device_is_told_by_its_claims() {
        for (what, users, usage) in [
            ("no claim", Some(vec![]), DedicatedUsage::Free),
            (
                "a watcher",
                Some(vec![user(Some(false), true)]),
                DedicatedUsage::Free,
            ),
            (
                "a member",
                Some(vec![user(Some(true), false)]),
                DedicatedUsage::Used,
            ),
            (
                "a member and another",
                Some(vec![user(Some(true), false), user(Some(false), false)]),
                DedicatedUsage::UsedByOthers,
            ),
            (
                "who is not known",
                Some(vec![user(None, false)]),
                DedicatedUsage::Unknown,
            ),
            ("unread claims", None, DedicatedUsage::Unknown),
        ] {
            assert_eq!(
                device(&dedicated(users, Effect::NoSchedule)).usage,
                usage,
                "{what}"
            );
        }
    }

    #[test]
    fn a_dedication_is_enforced_only_where_all_of_it_is_known_to_be_as_made() {
        let good = || PolicyCondition::AsMade;
        let all = |one: PolicyCondition| [good(), good(), good(), one];
        for (what, conditions, effect, expected) in [
            (
                "all",
                all(good()),
                Effect::NoSchedule,
                Enforcement::Enforced,
            ),
            (
                "taint without effect",
                all(good()),
                Effect::None,
                Enforcement::NotEnforced,
            ),
            (
                "another effect than that of the policies",
                all(good()),
                Effect::NoExecute,
                Enforcement::NotEnforced,
            ),
            (
                "unread",
                all(PolicyCondition::Unknown("denied".to_owned())),
                Effect::NoSchedule,
                Enforcement::Unknown,
            ),
            (
                "one is missing",
                all(PolicyCondition::Missing),
                Effect::NoSchedule,
                Enforcement::NotEnforced,
            ),
            (
                "all are missing",
                [0; 4].map(|_| PolicyCondition::Missing),
                Effect::NoSchedule,
                Enforcement::TaintOnly,
            ),
        ] {
            assert_eq!(
                reported(&with(&conditions, effect)).enforcement,
                expected,
                "{what}"
            );
        }
    }

    #[test]
    fn a_toleration_without_effect_does_not_keep_pods_from_eviction() {
        // Without terms, the taints of the rules say what is tolerated.
        for noted in [Some(terms("a", &["a"])), None] {
            let of = |written: &str| {
                let one = Tolerant {
                    kind: TolerantKind::Claim,
                    name: user(None, false).claim,
                    tolerance: Tolerance::Key,
                    admin_access: false,
                    by: vec![toleration(written)],
                    devices: Vec::new(),
                };
                let state = DedicationState {
                    terms: noted.clone(),
                    others: vec![one],
                    ..with(&[], Effect::NoSchedule)
                };
                reported(&state).tolerated_by_others[0].scheduling_only
            };
            assert!(of("dedicated:") && of("dedicated=a:NoSchedule"));
            assert!(!of("dedicated=a:NoExecute"));
        }
    }
}
