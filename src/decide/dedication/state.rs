//! The state of a dedication: its policies, its devices, and who uses them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::drift::drift;
use super::namespaces::KnownNamespaces;
use super::objects::{PolicyKind, objects};
use super::plan::is_ours;
use super::terms::{Terms, object_name};
use super::tolerating::{Tolerant, lacking, tolerants};
use crate::assess::DeviceBasis;
use crate::decide::owner::owner;
use crate::engine::{self, ProposedTaint};
use crate::model::{
    DeviceId, DeviceTaintRule, Effect, Kind, NamespacedName, Reading, RuleMetadata, Taint, Warning,
};
use crate::naming::phrase::few;

/// The policies and bindings of one kind, as far as they could be read.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyListing {
    /// All that there are.
    Read(Vec<Value>),
    /// They could not be read, for this reason.
    Unread(String),
}

/// The policies and bindings of a cluster, each kind once.
#[derive(Clone, Debug, PartialEq)]
pub struct Policies(pub Vec<(PolicyKind, PolicyListing)>);

impl Policies {
    /// The object of that kind and name, or why it is not known whether there is one.
    fn one(&self, kind: PolicyKind, name: &str) -> Result<Option<&Value>, String> {
        let found = self.0.iter().find(|(found, _)| *found == kind);
        match found.map(|(_, found)| found) {
            Some(PolicyListing::Read(objects)) => {
                let is_named = |object: &&Value| object["metadata"]["name"] == name;
                Ok(objects.iter().find(is_named))
            }
            Some(PolicyListing::Unread(why)) => Err(why.clone()),
            None => Err("the policies were not read".to_owned()),
        }
    }

    /// All objects that could be read.
    fn all(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().flat_map(|(_, found)| match found {
            PolicyListing::Read(objects) => objects.as_slice(),
            PolicyListing::Unread(_) => &[],
        })
    }

    /// What could not be read, with the reason.
    pub fn unread(&self) -> impl Iterator<Item = (Kind, &str)> {
        self.0.iter().filter_map(|(kind, found)| match found {
            PolicyListing::Unread(why) => Some((kind.kind(), why.as_str())),
            PolicyListing::Read(_) => None,
        })
    }

    /// The terms of a dedication, as its policies note them: those of the policy that lets claims in count.
    #[must_use]
    pub fn terms(&self, name: &str) -> Option<Terms> {
        // A kind that could not be read is passed over here: `policy_states` says so of it.
        let noted = PolicyKind::ALL.into_iter().filter_map(|kind| {
            let object = self.one(kind, &object_name(name)).ok()??;
            is_ours(object, name).then(|| Terms::of_object(object))?
        });
        noted.into_iter().find(|terms: &Terms| terms.name == name)
    }
}

/// What became of a policy or binding since it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyCondition {
    /// It is as it was made.
    AsMade,
    /// It is not there.
    Missing,
    /// One of its name is there that was not made for the dedication.
    NotOurs,
    /// It is different, with what.
    Changed(Vec<String>),
    /// It could not be read, for this reason.
    Unknown(String),
}

/// A policy or binding of a dedication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyState {
    /// What it is.
    pub kind: PolicyKind,
    /// What it is called.
    pub name: String,
    /// What became of it.
    pub condition: PolicyCondition,
}

/// A claim that holds a dedicated device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceUser {
    /// Namespace and name.
    pub claim: NamespacedName,
    /// Whether the dedication is for it; absent where that cannot be known.
    pub is_member: Option<bool>,
    /// Whether it only watches the device.
    pub admin_access: bool,
}

/// A device of a dedication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DedicatedDevice {
    /// Which.
    pub id: DeviceId,
    /// The rule that taints it.
    pub rule: String,
    /// The effect of its taint.
    pub effect: Effect,
    /// The claims that hold it; absent where claims could not be read.
    pub users: Option<Vec<DeviceUser>>,
}

/// All that is known of a dedication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DedicationState {
    /// Its name.
    pub name: String,
    /// Its terms; absent where no policy notes them.
    pub terms: Option<Terms>,
    /// Its policies and bindings.
    pub policies: Vec<PolicyState>,
    /// The names of its rules.
    pub rules: Vec<String>,
    /// Its devices, in order.
    pub devices: Vec<DedicatedDevice>,
    /// The taints that its claims tolerate: by its terms, and without terms those of its rules.
    pub taints: Vec<Taint>,
    /// Claims that it is for and that lack the toleration: made before it was.
    pub lacking: Vec<NamespacedName>,
    /// Claims and templates of others that tolerate the taint.
    pub others: Vec<Tolerant>,
}

impl DedicationState {
    /// Whether it lets claims in and keeps others out as it was made; absent where that is not known.
    #[must_use]
    pub fn is_enforced(&self) -> Option<bool> {
        let mut is_known = true;
        for policy in &self.policies {
            match policy.condition {
                PolicyCondition::AsMade => {}
                PolicyCondition::Unknown(_) => is_known = false,
                // One that is missing or changed settles it, whatever is not known of the rest.
                PolicyCondition::Missing
                | PolicyCondition::NotOurs
                | PolicyCondition::Changed(_) => {
                    return Some(false);
                }
            }
        }
        is_known.then_some(true)
    }
}

/// The rules with the taint of the dedication `name`, whatever made them.
pub fn members_of_rules<'a>(
    name: &'a str,
    rules: &'a [DeviceTaintRule],
) -> impl Iterator<Item = &'a DeviceTaintRule> {
    rules
        .iter()
        .filter(move |rule| rule.taint.dedication() == Some(name))
}

/// Whether `rule` was made for the dedication of its taint: it carries the label, and this plugin made it.
#[must_use]
pub fn is_our_rule(rule: &DeviceTaintRule) -> bool {
    // The taint alone proves nothing, since any user may make such a rule.
    let label = rule.metadata.labels.get(RuleMetadata::DEDICATION);
    rule.taint.dedication().is_some()
        && label.map(String::as_str) == rule.taint.dedication()
        && owner(rule).is_this_plugin()
}

/// Warnings that the removal of `rules` alone opens the devices of dedications, while their policies stay: one for each
/// dedication.
#[must_use]
pub fn left_policies(rules: &[DeviceTaintRule]) -> Vec<Warning> {
    let names: BTreeSet<&str> = rules
        .iter()
        .filter(|rule| is_our_rule(rule))
        .filter_map(|rule| rule.taint.dedication())
        .collect();
    let warning = |name: &str| {
        let own = members_of_rules(name, rules);
        let rules: Vec<String> = own.map(|rule| rule.name.to_string()).collect();
        let noun = if rules.len() == 1 { "rule" } else { "rules" };
        Warning {
            code: "dedication-rule",
            message: format!(
                "dedication {name}: after the removal of {noun} {}, claims can get the devices of the {noun} without \
                 a toleration of the dedication; the dedication's admission policies, if it has any, stay",
                few(&rules)
            ),
            fix: Some(format!(
                "to end the whole dedication: kubectl devicetaint undedicate {name}"
            )),
        }
    };
    names.into_iter().map(warning).collect()
}

/// The names of all dedications of which there is a rule or a policy.
#[must_use]
pub fn names(rules: &[DeviceTaintRule], policies: &Policies) -> BTreeSet<String> {
    let of_rules = rules
        .iter()
        .filter_map(|rule| rule.taint.dedication())
        .map(str::to_owned);
    let of_policies = policies.all().filter_map(|object| {
        let name = object["metadata"]["labels"][RuleMetadata::DEDICATION].as_str()?;
        is_ours(object, name).then(|| name.to_owned())
    });
    of_rules.chain(of_policies).collect()
}

/// All that is known of the dedication `name`.
#[must_use]
pub fn state(
    name: &str,
    basis: &DeviceBasis<'_>,
    policies: &Policies,
    namespaces: &KnownNamespaces,
) -> DedicationState {
    let reading = basis.reading;
    let snapshot = &reading.snapshot;
    let terms = policies.terms(name);
    let rules: Vec<&DeviceTaintRule> = members_of_rules(name, &snapshot.rules).collect();
    let is_member = |namespace: &str| {
        let terms = terms.as_ref()?;
        namespaces.lets_in(terms, namespace)
    };
    let mut devices: Vec<DedicatedDevice> = Vec::new();
    for rule in &rules {
        let proposed = [ProposedTaint::of_rule(rule, basis.now)];
        let selected = engine::selection(snapshot, &proposed, basis.semantics).devices;
        devices.extend(selected.into_iter().map(|id| DedicatedDevice {
            users: users(&id, reading, &is_member),
            rule: rule.name.to_string(),
            effect: rule.taint.effect.clone(),
            id,
        }));
    }
    devices.sort_by(|one, other| one.id.cmp(&other.id));
    // No policy says what the members tolerate, so that the taints of the rules have to.
    let tolerated = terms
        .as_ref()
        .map(Terms::tolerated)
        .unwrap_or_else(|| rules.iter().map(|rule| rule.taint.clone()).collect());
    let lacks = snapshot.claims.iter().filter(|claim| {
        is_member(claim.name.namespace.as_str()) == Some(true)
            && claim
                .spec
                .as_ref()
                .is_some_and(|spec| lacking(spec, &tolerated))
    });
    let others = tolerants(snapshot, &tolerated).into_iter();
    DedicationState {
        name: name.to_owned(),
        policies: policy_states(name, terms.as_ref(), policies),
        rules: rules.iter().map(|rule| rule.name.to_string()).collect(),
        lacking: lacks.map(|claim| claim.name.clone()).collect(),
        // A namespace that may or may not be a member is listed: an outsider too many harms less than one too
        // few.
        others: others
            .filter(|one| is_member(one.name.namespace.as_str()) != Some(true))
            .collect(),
        taints: tolerated,
        devices,
        terms,
    }
}

fn users(
    id: &DeviceId,
    reading: &Reading,
    is_member: &impl Fn(&str) -> Option<bool>,
) -> Option<Vec<DeviceUser>> {
    if !reading.known.contains(&Kind::ResourceClaim) {
        return None;
    }
    let claims = reading.snapshot.claims.iter();
    let users = claims.flat_map(|claim| {
        let results = claim.allocation.iter().flat_map(|found| &found.results);
        let holding = results.filter(|result| result.device == *id);
        holding.map(|result| DeviceUser {
            claim: claim.name.clone(),
            is_member: is_member(claim.name.namespace.as_str()),
            admin_access: result.admin_access,
        })
    });
    Some(users.collect())
}

/// What became of each policy and binding of the dedication `name`.
pub(super) fn policy_states(
    name: &str,
    terms: Option<&Terms>,
    policies: &Policies,
) -> Vec<PolicyState> {
    let wanted = |kind: PolicyKind| {
        // Any version will do: `drift` compares metadata and specs.
        let all = objects(terms?, None).into_iter();
        all.filter(|wanted| wanted.kind == kind)
            .map(|wanted| wanted.object)
            .next()
    };
    let called = object_name(name);
    let one = |kind: PolicyKind| PolicyState {
        kind,
        name: called.clone(),
        condition: match (policies.one(kind, &called), wanted(kind)) {
            (Err(why), _) => PolicyCondition::Unknown(why),
            (Ok(None), _) => PolicyCondition::Missing,
            (Ok(Some(found)), _) if !is_ours(found, name) => PolicyCondition::NotOurs,
            (Ok(Some(_)), None) => PolicyCondition::Changed(vec![
                "it has no annotation with the terms of the dedication".to_owned(),
            ]),
            (Ok(Some(found)), Some(wanted)) => match drift(&wanted, found) {
                different if different.is_empty() => PolicyCondition::AsMade,
                different => PolicyCondition::Changed(different),
            },
        },
    };
    PolicyKind::ALL.into_iter().map(one).collect()
}

impl DeviceUser {
    /// Whether the dedication is not known to be for the claim, and the claim holds the device as its own.
    #[must_use]
    pub fn is_other(&self) -> bool {
        self.is_member != Some(true) && !self.admin_access
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decide::dedication::testing::terms;

    fn made(name: &str) -> Policies {
        let wanted = objects(&terms(name, &["research"]), None).into_iter();
        Policies(
            wanted
                .map(|one| (one.kind, PolicyListing::Read(vec![one.object])))
                .collect(),
        )
    }

    fn conditions(name: &str, policies: &Policies) -> Vec<PolicyCondition> {
        let states = policy_states(name, policies.terms(name).as_ref(), policies);
        states.into_iter().map(|state| state.condition).collect()
    }

    fn enforced(policies: &Policies) -> Option<bool> {
        let state = DedicationState {
            name: "a".to_owned(),
            terms: None,
            policies: policy_states("a", policies.terms("a").as_ref(), policies),
            rules: Vec::new(),
            devices: Vec::new(),
            taints: Vec::new(),
            lacking: Vec::new(),
            others: Vec::new(),
        };
        state.is_enforced()
    }

    #[test]
    fn policies_as_they_were_made_are_enforced() {
        let policies = made("a");
        assert!(
            conditions("a", &policies)
                .iter()
                .all(|one| *one == PolicyCondition::AsMade)
        );
        assert_eq!(enforced(&policies), Some(true));
        assert_eq!(names(&[], &policies), ["a".to_owned()].into());
    }

    #[test]
    fn a_removed_rule_of_a_dedication_leaves_its_policies() {
        let mut rule = crate::decide::testing::rule("NoSchedule");
        rule.taint.key = Terms::KEY.to_owned();
        rule.taint.value = "a".to_owned();
        assert_eq!(left_policies(std::slice::from_ref(&rule)), []);
        let labels = &mut rule.metadata.labels;
        let managed = RuleMetadata::MANAGED_BY.to_owned();
        labels.insert(managed, RuleMetadata::THIS_PROGRAM.to_owned());
        labels.insert(RuleMetadata::DEDICATION.to_owned(), "a".to_owned());
        let warnings = left_policies(&[rule.clone(), rule]);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let fix = warnings[0].fix.as_deref().unwrap_or_default();
        assert!(fix.ends_with("undedicate a"), "{fix}");
    }

    #[test]
    fn a_rule_is_ours_by_its_label_and_its_maker() {
        let mut rule = crate::decide::testing::rule("NoSchedule");
        rule.taint.key = Terms::KEY.to_owned();
        rule.taint.value = "a".to_owned();
        let labels = [
            (RuleMetadata::MANAGED_BY, RuleMetadata::THIS_PROGRAM),
            (RuleMetadata::DEDICATION, "a"),
        ];
        rule.metadata.labels = labels
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        rule.managers.clear();
        assert!(is_our_rule(&rule));
        assert_eq!(
            names(std::slice::from_ref(&rule), &Policies(Vec::new())),
            ["a".to_owned()].into()
        );
        for key in [RuleMetadata::MANAGED_BY, RuleMetadata::DEDICATION] {
            let mut theirs = rule.clone();
            theirs.metadata.labels.remove(key);
            assert!(!is_our_rule(&theirs), "{key}");
        }
        rule.taint.value = "b".to_owned();
        assert!(!is_our_rule(&rule));
    }

    #[test]
    fn a_policy_that_only_audits_or_is_ignored_on_failure_is_named_as_drift() {
        let mut policies = made("a");
        for (kind, found) in &mut policies.0 {
            let PolicyListing::Read(objects) = found else {
                continue;
            };
            match kind {
                PolicyKind::ValidatingBinding => {
                    objects[0]["spec"]["validationActions"] = json!(["Audit"]);
                }
                PolicyKind::Validating => objects[0]["spec"]["failurePolicy"] = json!("Ignore"),
                PolicyKind::Mutating | PolicyKind::MutatingBinding => {}
            }
        }
        let changed = |line: &str| PolicyCondition::Changed(vec![line.to_owned()]);
        assert_eq!(
            conditions("a", &policies)[2..],
            [
                changed("spec.failurePolicy is Ignore, not Fail"),
                changed("spec.validationActions[0] is Audit, not Deny"),
            ]
        );
        assert_eq!(enforced(&policies), Some(false));
    }

    #[test]
    fn missing_unread_and_foreign_policies_are_told_apart() {
        let mut policies = made("a");
        policies.0[1].1 = PolicyListing::Read(Vec::new());
        policies.0[2].1 = PolicyListing::Unread("denied".to_owned());
        if let PolicyListing::Read(objects) = &mut policies.0[3].1 {
            objects[0]["metadata"]["labels"] = json!({});
        }
        assert_eq!(
            conditions("a", &policies),
            [
                PolicyCondition::AsMade,
                PolicyCondition::Missing,
                PolicyCondition::Unknown("denied".to_owned()),
                PolicyCondition::NotOurs,
            ]
        );
        assert_eq!(enforced(&policies), Some(false));
        let mut unread = made("a");
        unread.0[2].1 = PolicyListing::Unread("denied".to_owned());
        assert_eq!(enforced(&unread), None, "an unknown is no yes");
    }

    #[test]
    fn the_rules_of_a_dedication_are_those_with_its_taint() {
        let dedicated = |name: &str| {
            let mut rule = crate::decide::testing::named(name, "NoSchedule");
            rule.taint.key = Terms::KEY.to_owned();
            rule.taint.value = name.to_owned();
            rule
        };
        let plain = crate::decide::testing::named("plain", "NoSchedule");
        let rules = [dedicated("a"), dedicated("b"), plain];
        let members: Vec<&DeviceTaintRule> = members_of_rules("a", &rules).collect();
        assert_eq!(members, [&rules[0]]);
    }
}
