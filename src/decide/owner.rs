//! Ownership of rules.

use crate::model::{DeviceTaintRule, FieldManager, RuleMetadata};
use crate::naming::keys;
use std::fmt;

/// Creator of a rule that also looks after it, as far as the rule tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This plugin has made it.
    ThisPlugin,
    /// A GitOps program applies it, and sets it back when it is changed.
    GitOps {
        /// Such as `Argo CD`.
        program: &'static str,
        /// Unit that it belongs to there, such as `application rack-4`.
        unit: String,
    },
    /// It is part of a Helm release, whose next upgrade sets it back.
    Helm {
        /// The release; empty when the rule does not say.
        release: String,
    },
    /// Another program has made it: kubectl, or a driver's controller.
    Program {
        /// The name under which it writes, as the server noted it.
        name: String,
    },
    /// The rule says nothing about it, and it has no mark of this plugin.
    Unknown,
}

const ARGO_INSTANCE: &str = "argocd.argoproj.io/instance";
const ARGO_TRACKING: &str = "argocd.argoproj.io/tracking-id";
const FLUX_KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io/name";
const FLUX_HELM: &str = "helm.toolkit.fluxcd.io/name";
const HELM_RELEASE: &str = "meta.helm.sh/release-name";

/// Owner of `rule`.
///
/// Marks of GitOps count first: a rule that carries them is applied again, whatever wrote to it last. A rule is this
/// plugin's if it has its label and the server noted that the plugin wrote the spec: the label alone may be a copy.
pub fn owner(rule: &DeviceTaintRule) -> Owner {
    let metadata = &rule.metadata;
    if let Some(owner) = applied(metadata) {
        return owner;
    }
    let label = metadata.labels.get(keys::MANAGED_BY);
    let writers = || rule.managers.iter().filter(|manager| manager.owns_spec);
    let ours = |manager: &FieldManager| manager.name == keys::THIS_PROGRAM;
    let is_labelled = label.is_some_and(|label| label == keys::THIS_PROGRAM);
    // `kubectl get` leaves managed fields out, and then nothing contradicts the label.
    if is_labelled && (writers().next().is_none() || writers().any(ours)) {
        return Owner::ThisPlugin;
    }
    // The oldest entry is the one that made it; entries of one time stand in the server's order.
    let maker = writers()
        .filter(|manager| !ours(manager))
        .min_by_key(|manager| manager.time);
    let name = maker.map(|manager| &manager.name).or(label);
    match name {
        Some(name) => Owner::Program { name: name.clone() },
        None => Owner::Unknown,
    }
}

/// Program that applies it again and again, if one does.
fn applied(metadata: &RuleMetadata) -> Option<Owner> {
    let label = |key: &str| metadata.labels.get(key).filter(|text| !text.is_empty());
    let noted = |key: &str| {
        label(key)
            .cloned()
            .or_else(|| Some(metadata.annotation(key)?.to_owned()))
    };
    let git_ops = |program, unit| Some(Owner::GitOps { program, unit });
    if let Some(name) = noted(ARGO_INSTANCE) {
        return git_ops("Argo CD", format!("application {name}"));
    }
    if let Some(id) = noted(ARGO_TRACKING) {
        // APPLICATION:GROUP/KIND:NAMESPACE/NAME
        let name = id.split(':').next().unwrap_or_default();
        return git_ops("Argo CD", format!("application {name}"));
    }
    if let Some(name) = noted(FLUX_KUSTOMIZE) {
        return git_ops("Flux", format!("Kustomization {name}"));
    }
    if let Some(name) = noted(FLUX_HELM) {
        return git_ops("Flux", format!("HelmRelease {name}"));
    }
    let release = noted(HELM_RELEASE);
    let is_labelled = label(keys::MANAGED_BY).is_some_and(|name| name == "Helm");
    (is_labelled || release.is_some()).then(|| Owner::Helm {
        release: release.unwrap_or_default(),
    })
}

impl Owner {
    /// True if this plugin has made the rule, so that no other owner has to be considered.
    pub fn is_this_plugin(&self) -> bool {
        *self == Self::ThisPlugin
    }

    /// Reaction to a change of rule `name`, where the owner reverts it.
    pub fn sets_back(&self, name: &str) -> Option<String> {
        match self {
            Self::GitOps { program, unit } => Some(format!(
                "rule {name} is applied by {program} ({unit}), which will revert this change: \
                make the change there, or pause reconciliation there first"
            )),
            Self::Helm { release } => Some(format!(
                "rule {name} is part of {}, whose next upgrade will revert the change",
                helm(release)
            )),
            Self::ThisPlugin | Self::Program { .. } | Self::Unknown => None,
        }
    }
}

fn helm(release: &str) -> String {
    match release {
        "" => "a Helm release".to_owned(),
        name => format!("Helm release {name}"),
    }
}

impl fmt::Display for Owner {
    /// Follows the name of a rule: `applied by Argo CD (application rack-4)`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::ThisPlugin => "created by this plugin".to_owned(),
            Self::GitOps { program, unit } => format!("applied by {program} ({unit})"),
            Self::Helm { release } => format!("part of {}", helm(release)),
            Self::Program { name } => format!("created by {name}"),
            Self::Unknown => "created by another user or program".to_owned(),
        };
        formatter.pad(&text)
    }
}

/// Those of `rules` that `user` did not make, or that others changed, one line each with their author; an unknown
/// `user` made none. To be shown before a change of them is approved.
pub fn others(rules: &[DeviceTaintRule], user: Option<&str>) -> Vec<String> {
    let lines = rules.iter().filter_map(|rule| {
        let why = why_not_mine(rule, user);
        (!why.is_empty()).then(|| format!("rule {} {}", rule.name, why.join("; ")))
    });
    lines.collect()
}

/// True if the user's name matters: one of `rules` notes a user.
pub fn note_users(rules: &[DeviceTaintRule]) -> bool {
    let notes = [keys::CREATED_BY, keys::CHANGED_BY];
    let mut rules = rules.iter();
    rules.any(|rule| {
        notes
            .iter()
            .any(|key| rule.metadata.annotation(key).is_some())
    })
}

fn why_not_mine(rule: &DeviceTaintRule, user: Option<&str>) -> Vec<String> {
    let metadata = &rule.metadata;
    let noted = |key: &str, verb: &str| {
        let other = metadata.annotation(key)?;
        match user {
            Some(own) if own == other => None,
            Some(_) => Some(format!("was {verb} by {other}")),
            // An unknown user may be any user.
            None => Some(format!(
                "was {verb} by {other}, and your own user is unknown"
            )),
        }
    };
    let owner = owner(rule);
    let program =
        (!owner.is_this_plugin()).then(|| format!("was not created by this plugin: {owner}"));
    let why = [
        program,
        noted(keys::CREATED_BY, "created"),
        noted(keys::CHANGED_BY, "changed"),
        changed_outside(rule),
    ];
    why.into_iter().flatten().collect()
}

/// Other program that was the last to write the spec of a rule of this plugin, and when.
fn changed_outside(rule: &DeviceTaintRule) -> Option<String> {
    let last = rule.last_writer()?;
    // A client that removes a field owns nothing of it: only the generation counts the change.
    let made = rule.metadata.created;
    let is_unrecorded = rule.generation > 1
        && rule.metadata.annotation(keys::CHANGED_BY).is_none()
        && last.time.zip(made).is_some_and(|(last, made)| last <= made);
    if is_unrecorded && owner(rule).is_this_plugin() {
        return Some("was changed by a client that the server did not record".to_owned());
    }
    let is_foreign = last.name != keys::THIS_PROGRAM;
    // Of a rule of another owner, `program` says so already.
    (owner(rule).is_this_plugin() && is_foreign).then(|| {
        let time = last
            .time
            .map_or_else(String::new, |time| format!(" at {time}"));
        format!("was changed by {}{time}", last.name)
    })
}

/// Programs that will revert a change of these rules, a line each.
pub fn set_back(rules: &[DeviceTaintRule]) -> Vec<String> {
    let lines = rules
        .iter()
        .map(|rule| owner(rule).sets_back(rule.name.as_str()));
    lines.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{foreign, manager, named};

    fn with_label(mut rule: DeviceTaintRule, key: &str, value: &str) -> DeviceTaintRule {
        rule.metadata
            .labels
            .insert(key.to_owned(), value.to_owned());
        rule
    }

    #[test]
    fn a_copied_label_makes_no_rule_ours_and_neither_does_a_changed_effect() {
        let copied = with_label(
            foreign("theirs", "kubectl-create"),
            keys::MANAGED_BY,
            keys::THIS_PROGRAM,
        );
        assert_eq!(owner(&copied).to_string(), "created by kubectl-create");
        let mut escalated = foreign("theirs", "kubectl-create");
        let ours = manager(keys::THIS_PROGRAM, "2026-11-21T02:00:00Z");
        escalated.managers.insert(0, ours);
        assert_eq!(owner(&escalated).to_string(), "created by kubectl-create");
    }

    const ANNA: Option<&str> = Some("anna");

    fn noted(key: &str, user: &str) -> DeviceTaintRule {
        let mut rule = named("drain", "NoExecute");
        let annotations = &mut rule.metadata.annotations;
        annotations.insert(key.to_owned(), user.to_owned());
        rule
    }

    #[test]
    fn a_rule_is_mine_unless_another_user_or_program_made_or_changed_it() {
        let mut edited = named("drain", "NoExecute");
        edited
            .managers
            .push(manager("kubectl-edit", "2026-11-21T02:00:00Z"));
        let plain = || named("drain", "NoExecute");
        // A client removed a field, which leaves no entry in managedFields.
        let mut unrecorded = plain();
        unrecorded.generation = 2;
        unrecorded.metadata.created = Some("2026-11-21T01:00:00Z".parse().unwrap());
        unrecorded.managers = vec![manager(keys::THIS_PROGRAM, "2026-11-21T01:00:00Z")];
        let created = |by| noted(keys::CREATED_BY, by);
        let changed = |by| noted(keys::CHANGED_BY, by);
        let by_kubectl = foreign("drain", "kubectl-create");
        for (rule, me, expected) in [
            (plain(), ANNA, ""),
            (created("anna"), ANNA, ""),
            (created("bob"), ANNA, "was created by bob"),
            (created("anna"), None, "and your own user is unknown"),
            (changed("bob"), ANNA, "was changed by bob"),
            (changed("anna"), ANNA, ""),
            (edited, ANNA, "by kubectl-edit at 2026-11-21T02:00:00Z"),
            (unrecorded, ANNA, "that the server did not record"),
            (by_kubectl, ANNA, "created by kubectl-create"),
        ] {
            let found = others(std::slice::from_ref(&rule), me);
            assert_eq!(found.is_empty(), expected.is_empty(), "{found:?}");
            assert!(found.iter().all(|why| why.ends_with(expected)), "{found:?}");
        }
    }

    #[test]
    fn a_rule_is_mine_that_nobody_has_changed_since_or_that_the_plugin_itself_has() {
        let created = Some("2026-11-21T01:00:00Z".parse().unwrap());
        let of = |generation, changed_by: Option<&str>, time| {
            let mut rule = named("drain", "NoExecute");
            rule.metadata.created = created;
            rule.generation = generation;
            rule.managers = vec![manager(keys::THIS_PROGRAM, time)];
            let key = keys::CHANGED_BY.to_owned();
            let note = changed_by.map(|user| (key, user.to_owned()));
            rule.metadata.annotations.extend(note);
            rule
        };
        let (then, later) = ("2026-11-21T01:00:00Z", "2026-11-21T02:00:00Z");
        for rule in [
            of(1, None, then),
            of(1, None, later),
            of(2, None, later),
            of(2, Some("anna"), then),
        ] {
            assert_eq!(
                others(std::slice::from_ref(&rule), ANNA),
                [""; 0],
                "{rule:?}"
            );
        }
    }
}
