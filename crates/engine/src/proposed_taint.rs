//! Proposed taints: from arguments, rules and manifests.

use jiff::Timestamp;

use super::impact::ProposedTaint;
use crate::model::{DeviceSelector, DeviceTaintRule, Effect, Snapshot, Taint};

impl ProposedTaint {
    /// A taint for which no rule exists yet, added `now`.
    pub fn hypothetical(selector: DeviceSelector, taint: Taint, now: Timestamp) -> Self {
        Self {
            rule: None,
            selector: Some(selector),
            taint: Taint {
                effect: previewed(&taint.effect),
                time_added: Some(taint.time_added.unwrap_or(now)),
                ..taint
            },
        }
    }

    /// Such a taint for each of these selectors.
    pub fn hypothetical_for(
        selectors: impl IntoIterator<Item = DeviceSelector>,
        taint: &Taint,
        now: Timestamp,
    ) -> Vec<Self> {
        let selectors = selectors.into_iter();
        let proposed = selectors.map(|it| Self::hypothetical(it, taint.clone(), now));
        proposed.collect()
    }

    /// The taint of a rule that exists.
    ///
    /// A rule with effect `None` is taken as if its effect were changed to `NoExecute` at `now`: the
    /// server sets the time anew then (since 1.36), and this plugin does so where the server does
    /// not. Other rules keep their time.
    pub fn of_rule(rule: &DeviceTaintRule, now: Timestamp) -> Self {
        Self::of_changed_rule(rule, &previewed(&rule.taint.effect), now)
    }

    /// The taints of rules that exist, each as by [`ProposedTaint::of_rule`].
    pub fn of_rules<'a>(
        rules: impl IntoIterator<Item = &'a DeviceTaintRule>,
        now: Timestamp,
    ) -> Vec<Self> {
        let rules = rules.into_iter();
        rules.map(|rule| Self::of_rule(rule, now)).collect()
    }

    /// The taint of a rule that exists, with another effect from `now` on; with the effect that it
    /// has, it keeps its time.
    pub fn of_changed_rule(rule: &DeviceTaintRule, effect: &Effect, now: Timestamp) -> Self {
        let as_it_is = Self {
            rule: Some(rule.name.clone()),
            selector: rule.selector.clone(),
            taint: rule.taint.clone(),
        };
        as_it_is.with_effect(effect, now)
    }

    /// The taint with another effect, which a rule that exists has from `now` on; with the effect that
    /// it has, and where no rule has it yet, it keeps its time.
    #[must_use]
    pub fn with_effect(self, effect: &Effect, now: Timestamp) -> Self {
        let is_changed = self.rule.is_some() && *effect != self.taint.effect;
        let known = self.taint.time_added.filter(|_| !is_changed);
        Self {
            taint: Taint {
                effect: effect.clone(),
                time_added: Some(known.unwrap_or(now)),
                ..self.taint
            },
            ..self
        }
    }

    /// The taint of a manifest, which stands for the rule of its name if `snapshot` has one.
    pub fn of_manifest(manifest: &DeviceTaintRule, snapshot: &Snapshot, now: Timestamp) -> Self {
        let exists = snapshot.rules.iter().any(|rule| rule.name == manifest.name);
        Self {
            rule: exists.then(|| manifest.name.clone()),
            ..Self::of_rule(manifest, now)
        }
    }
}

/// The effect that a preview looks at: the controller previews `None` as if it were `NoExecute`.
fn previewed(effect: &Effect) -> Effect {
    match effect {
        Effect::None => Effect::NoExecute,
        Effect::NoSchedule | Effect::NoExecute | Effect::Unknown(_) => effect.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RuleMetadata;

    const NOW: i64 = 1_000;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("in range")
    }

    fn rule(effect: &str, added: Option<i64>) -> DeviceTaintRule {
        DeviceTaintRule {
            name: "drain".into(),
            uid: "uid".into(),
            resource_version: "1".into(),
            generation: 1,
            selector: Some(DeviceSelector::default()),
            taint: Taint {
                key: "example.com/drain".into(),
                value: String::new(),
                effect: effect.into(),
                time_added: added.map(at),
            },
            condition: None,
            metadata: RuleMetadata::default(),
            managers: Vec::new(),
        }
    }

    #[test]
    fn rule_is_previewed_as_the_controller_would_see_it() {
        for (name, effect, added, expected, time) in [
            ("None becomes NoExecute", "None", Some(10), "NoExecute", NOW),
            ("NoExecute keeps it", "NoExecute", Some(10), "NoExecute", 10),
            ("NoSchedule stays", "NoSchedule", Some(10), "NoSchedule", 10),
            ("unknown stays", "Newer", Some(10), "Newer", 10),
            ("no time means now", "NoExecute", None, "NoExecute", NOW),
        ] {
            let proposed = ProposedTaint::of_rule(&rule(effect, added), at(NOW));
            assert_eq!(proposed.taint.effect.as_str(), expected, "{name}");
            assert_eq!(proposed.taint.time_added, Some(at(time)), "{name}");
        }
    }

    #[test]
    fn manifest_stands_for_the_rule_of_its_name_only_if_there_is_one() {
        let manifest = rule("None", None);
        let mut snapshot = Snapshot::default();
        assert_eq!(
            ProposedTaint::of_manifest(&manifest, &snapshot, at(NOW)).rule,
            None
        );
        snapshot.rules.push(rule("NoSchedule", Some(10)));
        let known = ProposedTaint::of_manifest(&manifest, &snapshot, at(NOW));
        assert_eq!(known.rule, Some(manifest.name));
    }
}
