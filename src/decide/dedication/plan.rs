//! What is done about the policies of a dedication, and in which order.

use serde_json::Value;

use super::objects::{DesiredObject, PolicyKind};
use crate::error::Failure;
use crate::model::RuleMetadata;

/// What is done about one policy or binding.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyStep {
    /// It is made.
    Create(DesiredObject),
    /// The one that is there is as it should be.
    Keep(DesiredObject),
}

impl PolicyStep {
    /// The object as it should be.
    #[must_use]
    pub fn wanted(&self) -> &DesiredObject {
        match self {
            Self::Create(wanted) | Self::Keep(wanted) => wanted,
        }
    }

    /// Whether there is anything to do.
    #[must_use]
    pub fn is_open(&self) -> bool {
        match self {
            Self::Create(_) => true,
            Self::Keep(_) => false,
        }
    }
}

/// Whether `object` was made for the dedication of that name: its labels say so. The
/// name alone proves nothing.
#[must_use]
pub fn is_ours(object: &Value, dedication: &str) -> bool {
    let labels = &object["metadata"]["labels"];
    let is_of = labels[RuleMetadata::DEDICATION] == dedication;
    is_of && labels[RuleMetadata::MANAGED_BY] == RuleMetadata::THIS_PROGRAM
}

/// Whether an object that was `found`, made for the dedication, is the one that is there `now` and still is of the
/// dedication. Another of its name is not meant, and one that was given away since is not removed.
#[must_use]
pub fn is_still_ours(found: &Value, now: &Value, dedication: &str) -> bool {
    now["metadata"]["uid"] == found["metadata"]["uid"] && is_ours(now, dedication)
}

/// What is done about one object, `found` being the one of its name, if there is one.
///
/// # Errors
///
/// One that was not made for this dedication, is being deleted, or has another spec.
pub fn plan(
    wanted: DesiredObject,
    found: Option<&Value>,
    dedication: &str,
) -> Result<PolicyStep, Failure> {
    let Some(found) = found else {
        return Ok(PolicyStep::Create(wanted));
    };
    let name = wanted.kind.full_name(&wanted.name);
    if !is_ours(found, dedication) {
        return Err(Failure::refused(format!(
            "{name} exists and does not belong to dedication {dedication}; nothing was changed"
        ))
        .hint("choose another name: --name"));
    }
    // What is made of it would be gone with the object.
    if found["metadata"]["deletionTimestamp"].is_string() {
        let failure = format!("{name} is being deleted; nothing was changed");
        return Err(Failure::refused(failure).hint("run the same command again after the deletion"));
    }
    // The whole spec: a condition that was added lets claims past the policy.
    if wanted.object["spec"] != found["spec"] {
        return Err(Failure::refused(format!(
            "{name} exists with other content; nothing was changed"
        ))
        .hint(format!(
            "to replace the dedication, end it first: kubectl devicetaint undedicate {dedication}"
        )));
    }
    Ok(PolicyStep::Keep(wanted))
}

/// Of the objects called as the dedication's are, those that are removed with it, in that order: who is
/// refused first.
#[must_use]
pub fn removable(found: &[(PolicyKind, Value)], dedication: &str) -> Vec<(PolicyKind, Value)> {
    let mut ours: Vec<(PolicyKind, Value)> = found
        .iter()
        .filter(|(_, object)| is_ours(object, dedication))
        .cloned()
        .collect();
    // In reverse of how they are made: as long as others are refused, members are let in.
    ours.sort_by_key(|(kind, _)| std::cmp::Reverse(*kind));
    ours
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decide::dedication::objects::objects;
    use crate::decide::dedication::testing::terms;

    fn wanted() -> DesiredObject {
        objects(&terms("a", &["a"]), None).remove(0)
    }

    fn decided(found: Option<&Value>) -> Result<PolicyStep, Failure> {
        plan(wanted(), found, "a")
    }

    #[test]
    fn what_is_not_there_is_made_and_what_is_the_same_is_kept() {
        let created = decided(None).unwrap();
        assert!(matches!(created, PolicyStep::Create(_)) && created.is_open());
        let mut found = wanted().object;
        found["metadata"]["uid"] = json!("u");
        found["status"] = json!({"observedGeneration": 1});
        let kept = decided(Some(&found)).unwrap();
        assert!(matches!(kept, PolicyStep::Keep(_)) && !kept.is_open());
    }

    #[test]
    fn only_the_object_that_was_found_is_removed_and_only_while_it_is_of_the_dedication() {
        let mut found = wanted().object;
        found["metadata"]["uid"] = json!("u");
        let mut changed = found.clone();
        changed["metadata"]["resourceVersion"] = json!("8");
        assert!(is_still_ours(&found, &changed, "a"));
        assert!(!is_still_ours(&found, &changed, "b"));
        changed["metadata"]["uid"] = json!("anew");
        assert!(!is_still_ours(&found, &changed, "a"), "another of its name");
        changed["metadata"]["uid"] = json!("u");
        changed["metadata"]["labels"] = json!({});
        assert!(!is_still_ours(&found, &changed, "a"), "given away");
    }

    #[test]
    fn a_policy_that_somebody_else_made_is_left_alone() {
        let mut found = wanted().object;
        for labels in [
            json!({}),
            json!({RuleMetadata::DEDICATION: "a"}),
            json!({RuleMetadata::DEDICATION: "b", RuleMetadata::MANAGED_BY: RuleMetadata::THIS_PROGRAM}),
        ] {
            found["metadata"]["labels"] = labels;
            let failure = decided(Some(&found)).unwrap_err();
            assert!(
                failure
                    .to_string()
                    .contains("does not belong to dedication a"),
                "{failure}"
            );
            assert_eq!(removable(&[(PolicyKind::Mutating, found.clone())], "a"), []);
        }
    }

    #[test]
    fn a_policy_with_another_spec_is_refused() {
        for (field, value) in [
            ("failurePolicy", json!("Ignore")),
            (
                "matchConditions",
                json!([{"name": "never", "expression": "false"}]),
            ),
        ] {
            let mut found = wanted().object;
            found["spec"][field] = value;
            assert!(decided(Some(&found)).is_err(), "{field}");
        }
    }

    #[test]
    fn nothing_is_made_of_what_is_being_deleted() {
        let mut found = wanted().object;
        found["metadata"]["deletionTimestamp"] = json!("2026-11-21T01:00:00Z");
        assert!(decided(Some(&found)).is_err());
    }

    #[test]
    fn policies_are_removed_the_other_way_round() {
        let found: Vec<(PolicyKind, Value)> = objects(&terms("a", &["a"]), None)
            .into_iter()
            .map(|wanted| (wanted.kind, wanted.object))
            .collect();
        let kinds: Vec<PolicyKind> = removable(&found, "a")
            .iter()
            .map(|(kind, _)| *kind)
            .collect();
        let mut expected = PolicyKind::ALL;
        expected.reverse();
        assert_eq!(kinds, expected);
    }
}
