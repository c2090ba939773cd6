//! The command that comes after a change of rules, in a line.

use crate::model::Effect;

/// What comes next for `rules`, which are how a command names those that it has added with `effect`.
#[must_use]
pub fn after_add(rules: &str, effect: &Effect) -> String {
    match effect {
        Effect::None | Effect::Unknown(_) => before_eviction(rules),
        // Whoever keeps new pods off has chosen to let the others stay.
        Effect::NoSchedule => {
            format!(
                "next, to make the devices schedulable again: kubectl devicetaint remove {rules}"
            )
        }
        Effect::NoExecute => {
            format!("next: kubectl devicetaint wait {rules} --for evicted")
        }
    }
}

/// What comes next for `rules` that are to evict, and do not yet.
#[must_use]
pub fn before_eviction(rules: &str) -> String {
    format!("next: kubectl devicetaint escalate {rules} --to NoExecute --wait")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_an_addition_depends_on_the_effect() {
        assert!(after_add("drain", &Effect::None).contains("escalate drain --to NoExecute"));
        assert!(after_add("drain", &Effect::NoExecute).contains("wait drain --for evicted"));
        let cordoned = after_add("drain", &Effect::NoSchedule);
        assert!(
            cordoned.ends_with("kubectl devicetaint remove drain"),
            "{cordoned}"
        );
        assert!(!cordoned.contains("NoExecute"), "{cordoned}");
    }
}
