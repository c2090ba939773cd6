//! Violations of a policy by a requested change.

use std::collections::BTreeMap;

use super::document::{DeviceTaintPolicy, Protected, Requirement};
use crate::assess::Guard;
use crate::engine::{ProposedTaint, SelectorScope, Semantics};
use crate::error::Failure;
use crate::model::{DeviceSelector, DeviceTaintRule, Effect, RuleMetadata, Warning};
use crate::naming::device;

/// What a team has agreed on, with the file that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The file's name.
    pub name: String,
    /// What it says.
    pub terms: DeviceTaintPolicy,
}

/// What a change breaks of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyViolation {
    /// The policy's file.
    pub policy: String,
    /// What it is.
    pub reason: ViolationReason,
    /// In words, with the name of the rule.
    pub message: String,
}

/// What of a policy is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolationReason {
    /// A rule would select a device that no rule may select.
    ProtectedDevice,
    /// A rule does not say what it has to say.
    NotSaid,
}

impl ViolationReason {
    /// The reason as reports write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ProtectedDevice => "ProtectedDevice",
            Self::NotSaid => "NotSaid",
        }
    }
}

impl PolicyViolation {
    /// The violation in one line.
    #[must_use]
    pub fn line(&self) -> String {
        format!("policy {}: {}", self.policy, self.message)
    }
}

/// Several of them, all of which have to be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policies(pub Vec<Policy>);

/// A rule that is asked for or about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedRule {
    /// What it is called, such as `rule drain`.
    what: String,
    selector: Option<DeviceSelector>,
    effect: Effect,
    /// What it says about itself; nothing where nobody can say yet.
    annotations: Option<BTreeMap<String, String>>,
}

impl CheckedRule {
    /// A rule that gets the effect `to`.
    #[must_use]
    pub fn of_rule(rule: &DeviceTaintRule, to: &Effect) -> Self {
        Self {
            what: format!("rule {}", rule.name),
            selector: rule.selector.clone(),
            effect: to.clone(),
            annotations: Some(rule.metadata.annotations.clone()),
        }
    }

    /// A taint that is looked at, of a `rule` if there is one or a manifest of it.
    #[must_use]
    pub fn proposed(proposed: &ProposedTaint, rule: Option<&DeviceTaintRule>) -> Self {
        if let Some(rule) = rule {
            return Self::of_rule(rule, &proposed.taint.effect);
        }
        let selector = proposed.selector.as_ref();
        let devices = selector.map_or_else(|| "no devices".to_owned(), device::format);
        Self {
            what: format!("the rule for {devices}"),
            selector: proposed.selector.clone(),
            effect: proposed.taint.effect.clone(),
            annotations: None,
        }
    }

    fn mentions(&self, key: &str) -> bool {
        let text = self.annotations.as_ref().and_then(|all| all.get(key));
        text.is_some_and(|text| !text.trim().is_empty())
    }

    fn keeps(&self, requirement: Requirement) -> bool {
        let (reason, ticket) = (
            self.mentions(RuleMetadata::REASON),
            self.mentions(RuleMetadata::TICKET),
        );
        match requirement {
            Requirement::Reason => reason,
            Requirement::Ticket => ticket,
            Requirement::ReasonOrTicket => reason || ticket,
        }
    }

    /// Whether it may select one of those devices, as it is written: which are there today plays no part.
    /// Class and expressions are taken to narrow nothing, since nobody knows what they choose tomorrow.
    fn touches(&self, protected: &DeviceSelector, semantics: &Semantics) -> bool {
        let reach = SelectorScope::of(self.selector.as_ref(), &self.effect, semantics);
        match (reach, &self.selector) {
            (SelectorScope::NoDevice, _) => false,
            // What the scheduler takes for every device keeps pods off the protected ones, too.
            (SelectorScope::EveryDevice | SelectorScope::EveryDeviceForTheScheduler, _)
            | (SelectorScope::Described, None) => true,
            (SelectorScope::Described, Some(asked)) => {
                meet(asked.driver.as_ref(), protected.driver.as_ref())
                    && meet(asked.pool.as_ref(), protected.pool.as_ref())
                    && meet(asked.device.as_ref(), protected.device.as_ref())
            }
        }
    }
}

/// Whether something can be what both ask for.
fn meet<T: PartialEq>(left: Option<&T>, right: Option<&T>) -> bool {
    left.zip(right).is_none_or(|(left, right)| left == right)
}

impl Policies {
    /// The guards of all, each with the policy that it is from.
    #[must_use]
    pub fn guards(&self) -> Vec<Guard> {
        let guards = self.0.iter().flat_map(|policy| {
            let guards = policy.terms.guards.iter().cloned();
            guards.map(|guard| guard.of_policy(&policy.name))
        });
        guards.collect()
    }

    /// What is broken by the rules that are `asked` for.
    #[must_use]
    pub fn violations(&self, asked: &[CheckedRule], semantics: &Semantics) -> Vec<PolicyViolation> {
        let of = |policy: &Policy| {
            let found = asked.iter().flat_map(|asked| {
                let terms = &policy.terms;
                let touched = terms.never_taint.iter();
                let touched =
                    touched.filter(|protected| asked.touches(&protected.device, semantics));
                // What is only looked at says nothing of itself yet: `asked_later` tells what it will have to
                // say.
                let told = asked.annotations.is_some();
                let missing = terms
                    .require
                    .iter()
                    .filter(move |required| told && !asked.keeps(**required));
                let touched = touched.map(|protected| touches(policy, asked, protected));
                touched.chain(missing.map(|required| lacks(policy, asked, *required)))
            });
            found.collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }

    /// Refuses the rules that are `asked` for where they break a policy. Nothing was changed.
    ///
    /// # Errors
    ///
    /// What is broken, and what to do about it.
    pub fn refuse(&self, asked: &[CheckedRule], semantics: &Semantics) -> Result<(), Failure> {
        let violations = self.violations(asked, semantics);
        if violations.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = violations.iter().map(PolicyViolation::line).collect();
        let failure = Failure::refused(format!("{}; nothing was changed", lines.join("; ")));
        let unsaid = violations
            .iter()
            .any(|found| found.reason == ViolationReason::NotSaid);
        Err(if unsaid {
            failure.hint(
                "set the reason with `add --reason`, or the ticket with `add --ticket`; `add` \
                also updates an existing rule",
            )
        } else {
            failure
        })
    }

    /// What `add` is told of each of the rules that are `asked` for what they do not say yet, each once.
    #[must_use]
    pub fn unsaid(&self, asked: &[CheckedRule]) -> Vec<&'static str> {
        let required = self.0.iter().flat_map(|policy| &policy.terms.require);
        let missing = |requirement: &&Requirement| {
            let mut asked = asked.iter().filter(|asked| asked.annotations.is_some());
            asked.any(|asked| !asked.keeps(**requirement))
        };
        let missing: Vec<Requirement> = required.filter(missing).copied().collect();
        let mut unsaid: Vec<&'static str> = Vec::new();
        for requirement in &missing {
            let flag = match requirement {
                Requirement::Reason => "--reason",
                Requirement::Ticket => "--ticket",
                // The other may be asked for anyway.
                Requirement::ReasonOrTicket if missing.contains(&Requirement::Ticket) => "--ticket",
                Requirement::ReasonOrTicket => "--reason",
            };
            if !unsaid.contains(&flag) {
                unsaid.push(flag);
            }
        }
        unsaid
    }

    /// What the policies will ask of those rules that are only looked at: nobody can say it before they
    /// are made.
    #[must_use]
    pub fn asked_later(&self, asked: &[CheckedRule]) -> Vec<Warning> {
        let is_open = asked.iter().any(|asked| asked.annotations.is_none());
        let policies = self
            .0
            .iter()
            .filter(|policy| is_open && !policy.terms.require.is_empty());
        let warning = |policy: &Policy| {
            let all = |of: fn(Requirement) -> &'static str| {
                let parts: Vec<&str> = policy.terms.require.iter().copied().map(of).collect();
                parts.join(" and ")
            };
            Warning {
                code: "policy-requires",
                message: format!("policy {}: a rule needs {}", policy.name, all(words)),
                fix: Some(format!("when you add the rule, set {}", all(flags))),
            }
        };
        policies.map(warning).collect()
    }
}

fn words(requirement: Requirement) -> &'static str {
    match requirement {
        Requirement::Reason => "a reason",
        Requirement::Ticket => "a ticket",
        Requirement::ReasonOrTicket => "a reason or a ticket",
    }
}

/// What `add` is told it with.
fn flags(requirement: Requirement) -> &'static str {
    match requirement {
        Requirement::Reason => "--reason",
        Requirement::Ticket => "--ticket",
        Requirement::ReasonOrTicket => "--reason or --ticket",
    }
}

fn touches(policy: &Policy, asked: &CheckedRule, protected: &Protected) -> PolicyViolation {
    let devices = device::format(&protected.device);
    let why: String = protected
        .message
        .iter()
        .map(|why| format!(": {why}"))
        .collect();
    PolicyViolation {
        policy: policy.name.clone(),
        reason: ViolationReason::ProtectedDevice,
        message: format!(
            "{} would taint {devices}, which is protected (neverTaint){why}",
            asked.what
        ),
    }
}

fn lacks(policy: &Policy, asked: &CheckedRule, requirement: Requirement) -> PolicyViolation {
    PolicyViolation {
        policy: policy.name.clone(),
        reason: ViolationReason::NotSaid,
        message: format!("{} needs {}", asked.what, words(requirement)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::proposal::ProposedRule;
    use crate::decide::testing::{rule, selector, taint};
    use crate::decide::{AddStep, RuleDraft};
    use crate::error::ExitStatus;
    use crate::model::Minor;

    fn policies(never: &[&str], require: &[Requirement]) -> Policies {
        let protected = |text: &&str| Protected {
            device: device::parse(text).unwrap(),
            message: Some("its screen".to_owned()),
        };
        Policies(vec![Policy {
            name: "team.yaml".to_owned(),
            terms: DeviceTaintPolicy {
                guards: vec!["pods.evicted>20".parse().unwrap()],
                require: require.to_vec(),
                never_taint: never.iter().map(protected).collect(),
                ..DeviceTaintPolicy::default()
            },
        }])
    }

    fn asked(selector: Option<DeviceSelector>, effect: &str) -> CheckedRule {
        let mut rule = rule(effect);
        rule.selector = selector;
        CheckedRule::of_rule(&rule, &effect.into())
    }

    fn codes(policies: &Policies, asked: CheckedRule, minor: u32) -> Vec<&'static str> {
        let semantics = Semantics::of(Minor { minor, patch: None }).unwrap();
        let found = policies.violations(&[asked], &semantics).into_iter();
        found.map(|found| found.reason.as_str()).collect()
    }

    #[test]
    fn what_may_select_a_protected_device_is_refused_whatever_is_there_today() {
        let by = |text: &str| Some(device::parse(text).unwrap());
        let by_class = Some(DeviceSelector {
            device_class: Some("gpu".into()),
            ..DeviceSelector::default()
        });
        let everything = Some(DeviceSelector::default());
        for (never, selector, effect, minor, forbidden) in [
            (
                "gpu.example.com/login-1/*",
                by("gpu.example.com/login-1/gpu-0"),
                "None",
                37,
                true,
            ),
            (
                "gpu.example.com/login-1/*",
                by("gpu.example.com/login-2/gpu-0"),
                "NoExecute",
                37,
                false,
            ),
            (
                "gpu.example.com/login-1/*",
                by("gpu.example.com"),
                "NoSchedule",
                37,
                true,
            ),
            (
                "gpu.example.com/login-1/gpu-0",
                by("*/login-1/*"),
                "NoSchedule",
                37,
                true,
            ),
            (
                "gpu.example.com/login-1/gpu-0",
                by("*/*/gpu-1"),
                "NoSchedule",
                37,
                false,
            ),
            (
                "gpu.example.com",
                by("net.example.com"),
                "NoExecute",
                37,
                false,
            ),
            ("gpu.example.com", everything, "None", 37, true),
            ("gpu.example.com", by_class, "NoSchedule", 34, true),
            ("gpu.example.com", None, "NoSchedule", 37, true),
            ("gpu.example.com", None, "NoExecute", 34, true),
            ("gpu.example.com", None, "None", 37, false),
        ] {
            let found = codes(
                &policies(&[never], &[]),
                asked(selector.clone(), effect),
                minor,
            );
            assert_eq!(
                !found.is_empty(),
                forbidden,
                "{never} {selector:?} {effect}"
            );
            assert!(found.iter().all(|code| *code == "ProtectedDevice"));
        }
    }

    #[test]
    fn what_a_rule_has_to_say_is_missed_where_it_is_missing_or_blank() {
        use Requirement::{Reason, ReasonOrTicket, Ticket};
        let notes = |reason: &str, ticket: &str| {
            let mut rule = rule("None");
            let annotations = &mut rule.metadata.annotations;
            annotations.insert(RuleMetadata::REASON.to_owned(), reason.to_owned());
            annotations.insert(RuleMetadata::TICKET.to_owned(), ticket.to_owned());
            CheckedRule::of_rule(&rule, &Effect::NoExecute)
        };
        for (required, reason, ticket, missing) in [
            (&[Reason][..], "firmware", "", 0),
            (&[Reason], " ", "OPS-1", 1),
            (&[Ticket], "firmware", "", 1),
            (&[Reason, Ticket], "", "", 2),
            (&[ReasonOrTicket], "", "OPS-1", 0),
            (&[ReasonOrTicket], "firmware", "", 0),
            (&[ReasonOrTicket], "", " ", 1),
        ] {
            let found = codes(&policies(&[], required), notes(reason, ticket), 37);
            assert_eq!(
                found,
                vec!["NotSaid"; missing],
                "{required:?} {reason:?} {ticket:?}"
            );
        }
        let bare = asked(Some(selector("gpu-0")), "None");
        assert_eq!(codes(&policies(&[], &[Reason]), bare, 37), ["NotSaid"]);
    }

    #[test]
    fn nobody_can_say_the_reason_of_a_rule_that_is_only_looked_at() {
        let policies = policies(&["gpu.example.com"], &[Requirement::ReasonOrTicket]);
        let proposed = ProposedTaint {
            rule: None,
            selector: Some(selector("gpu-0")),
            taint: taint("NoExecute"),
        };
        let looked_at = CheckedRule::proposed(&proposed, None);
        let later = |policies: &Policies, asked: &CheckedRule| {
            let later = policies.asked_later(std::slice::from_ref(asked));
            later
                .into_iter()
                .map(|found| found.message)
                .collect::<Vec<_>>()
        };
        let told = later(&policies, &looked_at);
        assert_eq!(
            told,
            ["policy team.yaml: a rule needs a reason or a ticket"]
        );
        assert!(later(&Policies::default(), &looked_at).is_empty());
        let there = asked(Some(selector("gpu-0")), "None");
        assert!(later(&policies, &there).is_empty(), "it is missed at once");
        assert_eq!(codes(&policies, looked_at, 37), ["ProtectedDevice"]);
        let bare = rule("NoExecute");
        let found = codes(&policies, CheckedRule::proposed(&proposed, Some(&bare)), 37);
        assert_eq!(found, ["ProtectedDevice", "NotSaid"]);
    }

    #[test]
    fn a_step_says_what_the_rule_says_after_it() {
        let note = |key: &str| [(key.to_owned(), "x".to_owned())].into();
        let draft = RuleDraft {
            name: "drain".to_owned(),
            selector: selector("gpu-0"),
            taint: taint("None"),
            labels: BTreeMap::new(),
            annotations: note(RuleMetadata::REASON),
            manifest: None,
        };
        let mut there = rule("None");
        there.metadata.annotations = note(RuleMetadata::TICKET);
        let both = [Requirement::Reason, Requirement::Ticket];
        let created = ProposedRule::from(&AddStep::Create(draft.clone())).asked();
        assert_eq!(codes(&policies(&[], &both), created, 37), ["NotSaid"]);
        let kept = ProposedRule::from(&AddStep::Keep {
            draft,
            rule: Box::new(there),
        });
        let kept = kept.asked();
        assert!(codes(&policies(&[], &both), kept, 37).is_empty());
    }

    #[test]
    fn several_policies_add_up_and_each_is_named() {
        let mut both = policies(&["gpu.example.com"], &[]);
        let mut other = policies(&[], &[Requirement::Reason]);
        other.0[0].name = "site.yaml".to_owned();
        both.0.append(&mut other.0);
        let newest = Semantics::newest();
        let asked = [asked(Some(selector("gpu-0")), "None")];
        let failure = both.refuse(&asked, &newest).unwrap_err();
        assert_eq!(failure.status(), ExitStatus::Refused);
        assert_eq!(
            failure.to_string(),
            "policy team.yaml: rule drain would taint gpu.example.com/*/*, which is protected \
             (neverTaint): its screen; policy site.yaml: rule drain needs a reason; nothing was changed"
        );
        assert!(
            failure.hints()[0].contains("--reason"),
            "{:?}",
            failure.hints()
        );
        assert_eq!(both.guards().len(), 2);
        assert!(both.refuse(&[], &newest).is_ok());
        assert!(Policies::default().refuse(&asked, &newest).is_ok());
    }
}
