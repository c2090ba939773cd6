//! Ownership of rules.

use std::fmt;

use crate::model::{DeviceTaintRule, FieldManager, RuleMetadata};

/// Who has made a rule and looks after it, as far as the rule tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// This plugin has made it.
    ThisPlugin,
    /// A GitOps program applies it, and sets it back when it is changed.
    GitOps {
        /// Such as `Argo CD`.
        program: &'static str,
        /// What it belongs to there, such as `application rack-4`.
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

/// Who has made `rule`.
///
/// Marks of GitOps count first: what carries them is applied again, whoever wrote to it last. A rule
/// is this plugin's if it has its label and the server noted that the plugin wrote the spec: the
/// label alone may be a copy.
#[must_use]
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

/// Who applies it again and again, if somebody does.
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
    /// Whether this plugin has made the rule, so that nobody else has to be thought of.
    #[must_use]
    pub fn is_this_plugin(&self) -> bool {
        *self == Self::ThisPlugin
    }

    /// What happens to a change of rule `name`, where the owner does not leave it at that.
    #[must_use]
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
    use crate::decide::testing::{foreign, manager, rule};

    fn with_label(mut rule: DeviceTaintRule, key: &str, value: &str) -> DeviceTaintRule {
        rule.metadata
            .labels
            .insert(key.to_owned(), value.to_owned());
        rule
    }

    fn with_annotation(mut rule: DeviceTaintRule, key: &str, value: &str) -> DeviceTaintRule {
        let annotations = &mut rule.metadata.annotations;
        annotations.insert(key.to_owned(), value.to_owned());
        rule
    }

    #[test]
    fn a_rule_of_somebody_else_is_told_from_one_of_this_plugin() {
        let kubectl = || foreign("theirs", "kubectl-create");
        for (rule, expected) in [
            (rule("None"), "created by this plugin"),
            (kubectl(), "created by kubectl-create"),
            (
                foreign("theirs", "gpu-driver-controller"),
                "created by gpu-driver-controller",
            ),
            (
                with_label(kubectl(), "argocd.argoproj.io/instance", "rack-4"),
                "applied by Argo CD (application rack-4)",
            ),
            (
                with_annotation(
                    rule("None"),
                    "argocd.argoproj.io/tracking-id",
                    "racks:resource.k8s.io/DeviceTaintRule:/drain",
                ),
                "applied by Argo CD (application racks)",
            ),
            (
                with_label(kubectl(), "kustomize.toolkit.fluxcd.io/name", "racks"),
                "applied by Flux (Kustomization racks)",
            ),
            (
                with_label(kubectl(), "helm.toolkit.fluxcd.io/name", "gpu"),
                "applied by Flux (HelmRelease gpu)",
            ),
            (
                with_label(kubectl(), RuleMetadata::MANAGED_BY, "Helm"),
                "part of a Helm release",
            ),
            (
                with_annotation(kubectl(), "meta.helm.sh/release-name", "gpu"),
                "part of Helm release gpu",
            ),
        ] {
            assert_eq!(owner(&rule).to_string(), expected);
            assert_eq!(
                owner(&rule).is_this_plugin(),
                expected == "created by this plugin"
            );
        }
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

    #[test]
    fn a_rule_of_this_plugin_that_somebody_has_edited_stays_ours() {
        let mut edited = rule("None");
        let kubectl = manager("kubectl-edit", "2026-11-21T02:00:00Z");
        edited.managers.push(kubectl);
        assert_eq!(owner(&edited), Owner::ThisPlugin);
        // Files may have been stripped of it.
        edited.managers.clear();
        assert_eq!(owner(&edited), Owner::ThisPlugin);
        edited.metadata.labels.clear();
        assert_eq!(owner(&edited), Owner::Unknown);
    }

    #[test]
    fn only_what_is_applied_again_is_set_back() {
        assert_eq!(Owner::ThisPlugin.sets_back("drain"), None);
        assert_eq!(
            owner(&foreign("drain", "kubectl-create")).sets_back("drain"),
            None
        );
        let argo = with_label(rule("None"), "argocd.argoproj.io/instance", "rack-4");
        insta::assert_snapshot!(owner(&argo).sets_back("drain").unwrap(), @"rule drain is applied \
            by Argo CD (application rack-4), which will revert this change: make the \
            change there, or pause reconciliation there first");
    }

    #[test]
    fn the_label_counts_unless_another_program_wrote_the_spec_and_only_with_this_name() {
        let mut labelled = rule("None");
        let mut labels = manager("kubectl-label", "2026-11-21T02:00:00Z");
        labels.owns_spec = false;
        labelled.managers = vec![labels];
        assert!(owner(&labelled).is_this_plugin(), "it wrote labels only");
        let other = with_label(rule("None"), RuleMetadata::MANAGED_BY, "kustomize");
        assert!(!owner(&other).is_this_plugin());
        let empty = with_label(rule("None"), ARGO_INSTANCE, "");
        assert!(
            owner(&empty).is_this_plugin(),
            "an empty label names no application"
        );
    }
}
