//! Ownership of rules.

use std::fmt;

use crate::model::{DeviceTaintRule, FieldManager, RuleMetadata};

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
    let label = metadata.labels.get(RuleMetadata::MANAGED_BY);
    let writers = || rule.managers.iter().filter(|manager| manager.owns_spec);
    let ours = |manager: &FieldManager| manager.name == RuleMetadata::THIS_PROGRAM;
    let is_labelled = label.is_some_and(|label| label == RuleMetadata::THIS_PROGRAM);
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
    let is_labelled = label(RuleMetadata::MANAGED_BY).is_some_and(|name| name == "Helm");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::testing::{foreign, manager};

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
            RuleMetadata::MANAGED_BY,
            RuleMetadata::THIS_PROGRAM,
        );
        assert_eq!(owner(&copied).to_string(), "created by kubectl-create");
        let mut escalated = foreign("theirs", "kubectl-create");
        let ours = manager(RuleMetadata::THIS_PROGRAM, "2026-11-21T02:00:00Z");
        escalated.managers.insert(0, ours);
        assert_eq!(owner(&escalated).to_string(), "created by kubectl-create");
    }
}
