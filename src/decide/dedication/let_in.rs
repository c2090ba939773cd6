//! The warning of a preview about the claims that a dedication lets in.

use super::namespaces::KnownNamespaces;
use super::state::{Policies, PolicyCondition, policy_states};
use crate::model::Warning;
use crate::naming::phrase::few;

/// Who is let in by the policies of the dedication `name`, and whether they are.
#[must_use]
pub fn let_in(name: &str, policies: &Policies, namespaces: &KnownNamespaces) -> Warning {
    let warning =
        |code: &'static str, message: String, fix: Option<String>| Warning { code, message, fix };
    let describe = Some(format!(
        "show details with `kubectl devicetaint dedicate describe {name}`"
    ));
    let terms = policies.terms(name);
    let states = policy_states(name, terms.as_ref(), policies);
    let unknown = states.iter().find_map(|state| match &state.condition {
        PolicyCondition::Unknown(why) => Some(why.clone()),
        PolicyCondition::AsMade
        | PolicyCondition::Missing
        | PolicyCondition::NotOurs
        | PolicyCondition::Changed(_) => None,
    });
    // Before it is said that there are no policies: those that could not be read may be there.
    if let Some(why) = unknown {
        let message = format!("the namespaces of dedication {name} are unknown: {why}");
        return warning("dedication-unknown", message, None);
    }
    let Some(terms) = terms else {
        let message = format!(
            "dedication {name} has no admission policies: claims have to tolerate its taint themselves"
        );
        return warning("dedication-without-policies", message, None);
    };
    let members = namespaces.members(&terms).and_then(|members| {
        let members: Vec<String> = members.into_iter().map(str::to_owned).collect();
        let noun = if members.len() == 1 {
            "namespace"
        } else {
            "namespaces"
        };
        (!members.is_empty()).then(|| format!("{noun} {}", few(&members)))
    });
    // A selector may match no namespace yet, and has its labels to be called by.
    let members = members.unwrap_or_else(|| terms.members_line());
    let is_as_made = |condition: &PolicyCondition| *condition == PolicyCondition::AsMade;
    if states.iter().all(|state| is_as_made(&state.condition)) {
        let message = format!(
            "dedication {name} adds the toleration of this taint to new claims in {members}, \
             including the claims of pods that replace evicted pods"
        );
        return warning("dedication-lets-in", message, None);
    }
    let message = format!(
        "the policies of dedication {name} for {members} were modified: new claims may lack the \
         toleration, or other claims may get it"
    );
    warning("dedication-not-enforced", message, describe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::dedication::testing::terms;
    use crate::decide::dedication::{PolicyListing, objects};

    fn made() -> Policies {
        let wanted = objects(&terms("a", &["research"]), None).into_iter();
        Policies(
            wanted
                .map(|one| (one.kind, PolicyListing::Read(vec![one.object])))
                .collect(),
        )
    }

    #[test]
    fn a_preview_says_who_is_let_in_only_where_the_policies_are_as_made() {
        let unread = KnownNamespaces::Unread("denied".to_owned());
        let code = |policies: &Policies| let_in("a", policies, &unread).code;
        assert_eq!(code(&made()), "dedication-lets-in");
        assert!(
            let_in("a", &made(), &unread)
                .message
                .contains("in namespace research")
        );
        let mut missing = made();
        missing.0[3].1 = PolicyListing::Read(Vec::new());
        assert_eq!(code(&missing), "dedication-not-enforced");
        let mut denied = made();
        denied.0[3].1 = PolicyListing::Unread("denied".to_owned());
        assert_eq!(code(&denied), "dedication-unknown");
        let none = Policies(
            made()
                .0
                .into_iter()
                .map(|(kind, _)| (kind, PolicyListing::Read(Vec::new())))
                .collect(),
        );
        assert_eq!(code(&none), "dedication-without-policies");
    }
}
