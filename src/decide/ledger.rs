//! What was changed, and what was not: for whoever interrupts a command, or whom it fails.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Failure;

/// The changes that a command makes, one after the other, and what it waits for after that.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<LedgerState>);

#[derive(Debug, Default)]
struct LedgerState {
    planned: Vec<Planned>,
    under_way: Option<UnderWay>,
    done: Vec<String>,
    unchanged: Vec<String>,
    left: Option<String>,
    advice: Vec<String>,
}

/// A change that was not made yet.
#[derive(Debug)]
struct Planned {
    name: String,
    goal: RuleGoal,
}

/// A change that was sent, or is about to be.
#[derive(Debug)]
struct UnderWay {
    name: String,
    kind: Sending,
}

/// What is sent about a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// It is made.
    Creation,
    /// The one that is there is changed or deleted.
    Change,
}

/// What keeps a command from being complete, which decides whether the same command completes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incompleteness {
    /// It passes: somebody broke the command off, or the network or the server was in the way.
    Passing,
    /// A permission is missing.
    Denied,
    /// It stays until somebody mends it, on the server or in a file.
    Lasting,
    /// A decision, or a mistake in the command: the same again would end in the same way, and what to
    /// do instead is said there.
    Decided,
}

impl Incompleteness {
    /// What to do about what is open.
    fn advice(self) -> Option<&'static str> {
        match self {
            Self::Passing => Some("run the same command again to complete the change"),
            Self::Denied => Some(
                "get the missing permission, then run the same command again to complete the change",
            ),
            Self::Lasting => {
                Some("correct this error, then run the same command again to complete the change")
            }
            Self::Decided => None,
        }
    }
}

/// What is to become of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleGoal {
    /// What the command is for.
    Changed,
    /// What the command did is taken back.
    Reverted,
}

impl Ledger {
    /// What is going to be done, in this order.
    pub fn plan(&self, names: impl IntoIterator<Item = String>, goal: RuleGoal) {
        let planned = names.into_iter().map(|name| Planned { name, goal });
        self.state().planned.extend(planned);
    }

    /// The next change is sent.
    pub fn begin(&self, name: &str, kind: Sending) {
        // Recorded before the request is sent: an interrupt while the reply is outstanding leaves its result
        // unknown.
        let name = name.to_owned();
        self.state().under_way = Some(UnderWay { name, kind });
    }

    /// It was made: `NAME VERB`.
    pub fn done(&self, name: &str, verb: &str) {
        let mut state = self.state();
        state.settle(name);
        state.done.push(format!("{name} {verb}"));
    }

    /// There was nothing to change.
    pub fn unchanged(&self, name: &str) {
        let mut state = self.state();
        state.settle(name);
        state.unchanged.push(name.to_owned());
    }

    /// It was not made.
    pub fn failed(&self) {
        // It stays planned, so that the account lists it as not changed.
        self.state().under_way = None;
    }

    /// What to do for whoever interrupts the command from now on, instead of running it again.
    pub fn advise(&self, advice: impl IntoIterator<Item = String>) {
        self.state().advice = advice.into_iter().collect();
    }

    /// What the command still waits for; nothing is said of nothing.
    pub fn left(&self, left: &str) {
        self.state().left = (!left.is_empty()).then(|| left.to_owned());
    }

    /// The failure with what became of the changes, one detail each kind, and with what to do now about
    /// what is open because of `incompleteness`.
    #[must_use]
    pub fn account(&self, failure: Failure, incompleteness: Incompleteness) -> Failure {
        let state = self.state();
        let left = state.left.iter().map(|left| format!("left: {left}"));
        let facts = state.changes().into_iter().chain(left);
        let failure = facts.fold(failure, Failure::detail);
        let failure = state.under_way.iter().fold(failure, |failure, sent| {
            sent.way_back().into_iter().fold(failure, Failure::hint)
        });
        if state.advice.is_empty() {
            let advice = incompleteness.advice().filter(|_| !state.is_complete());
            advice.into_iter().fold(failure, Failure::hint)
        } else {
            state.advice.iter().fold(failure, Failure::hint)
        }
    }

    fn state(&self) -> MutexGuard<'_, LedgerState> {
        // A panic while it was held must not keep the account from the user.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnderWay {
    fn describe(&self) -> String {
        let name = &self.name;
        match self.kind {
            Sending::Creation => may_have_been_created(&[name]),
            Sending::Change => format!("may have been changed: {name}"),
        }
    }

    /// How to remove what may have been created.
    fn way_back(&self) -> Option<String> {
        match self.kind {
            Sending::Creation => Some(to_remove(&[&self.name])),
            Sending::Change => None,
        }
    }
}

/// What is said of rules whose creation was sent and not disproved.
#[must_use]
pub fn may_have_been_created(names: &[&String]) -> String {
    format!("may have been created: {}", joined(names, ", "))
}

/// How to remove rules that may have been created.
#[must_use]
pub fn to_remove(names: &[&String]) -> String {
    let them = if names.len() == 1 { "it" } else { "them" };
    format!(
        "to remove {them}: kubectl devicetaint remove {} --ignore-not-found",
        joined(names, " ")
    )
}

fn joined(names: &[&String], separator: &str) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    names.join(separator)
}

impl LedgerState {
    fn settle(&mut self, name: &str) {
        self.under_way = None;
        self.planned.retain(|planned| planned.name != name);
    }

    fn is_complete(&self) -> bool {
        self.planned.is_empty() && self.under_way.is_none()
    }

    fn changes(&self) -> Vec<String> {
        if self.is_complete() && self.done.is_empty() {
            return vec!["nothing was changed".to_owned()];
        }
        let done = if self.done.is_empty() {
            "nothing".to_owned()
        } else {
            self.done.join(", ")
        };
        let mut lines = vec![format!("changed: {done}")];
        if !self.unchanged.is_empty() {
            lines.push(format!("unchanged: {}", self.unchanged.join(", ")));
        }
        lines.extend(self.under_way.iter().map(UnderWay::describe));
        lines.extend(self.open("not changed", RuleGoal::Changed));
        lines.extend(self.open("not reverted", RuleGoal::Reverted));
        lines
    }

    /// The planned changes of that kind that were not begun.
    fn open(&self, what: &str, goal: RuleGoal) -> Option<String> {
        let open = self.planned.iter().filter(|planned| planned.goal == goal);
        let names: Vec<&str> = open
            .map(|planned| planned.name.as_str())
            // What was sent is told of as in progress, and may have been changed.
            .filter(|name| {
                self.under_way
                    .as_ref()
                    .is_none_or(|sent| sent.name != *name)
            })
            .collect();
        (!names.is_empty()).then(|| format!("{what}: {}", names.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said, the facts first.
    fn account(ledger: &Ledger, incompleteness: Incompleteness) -> Vec<String> {
        let failure = ledger.account(Failure::usage("stopped"), incompleteness);
        [failure.details(), failure.hints()].concat()
    }

    #[test]
    fn whoever_interrupts_is_told_what_was_changed() {
        let ledger = Ledger::default();
        assert_eq!(
            account(&ledger, Incompleteness::Passing),
            ["nothing was changed"]
        );
        ledger.unchanged("z");
        assert_eq!(
            account(&ledger, Incompleteness::Passing),
            ["nothing was changed"]
        );
        ledger.plan(["a", "b", "c"].map(str::to_owned), RuleGoal::Changed);
        ledger.begin("a", Sending::Change);
        ledger.done("a", "created");
        ledger.begin("b", Sending::Change);
        assert_eq!(
            account(&ledger, Incompleteness::Passing),
            [
                "changed: a created",
                "unchanged: z",
                "may have been changed: b",
                "not changed: c",
                "run the same command again to complete the change",
            ]
        );
    }

    #[test]
    fn whoever_interrupts_a_wait_is_told_what_is_left_and_how_to_go_on() {
        let ledger = Ledger::default();
        ledger.plan(["a".to_owned()], RuleGoal::Changed);
        ledger.done("a", "configured");
        ledger.advise(["wait on".to_owned()]);
        ledger.left("1 pod");
        assert_eq!(
            account(&ledger, Incompleteness::Passing),
            ["changed: a configured", "left: 1 pod", "wait on"]
        );
        ledger.plan(["a", "b"].map(str::to_owned), RuleGoal::Reverted);
        ledger.begin("a", Sending::Change);
        ledger.done("a", "reverted");
        assert_eq!(
            account(&ledger, Incompleteness::Passing)[..2],
            ["changed: a configured, a reverted", "not reverted: b"]
        );
    }

    #[test]
    fn the_same_command_again_is_advised_only_where_it_would_do_better() {
        let ledger = Ledger::default();
        ledger.plan(["a".to_owned()], RuleGoal::Changed);
        for (incompleteness, advice) in [
            (
                Incompleteness::Passing,
                Some("run the same command again to complete the change"),
            ),
            (
                Incompleteness::Denied,
                Some(
                    "get the missing permission, then run the same command again to complete the change",
                ),
            ),
            (
                Incompleteness::Lasting,
                Some("correct this error, then run the same command again to complete the change"),
            ),
            (Incompleteness::Decided, None),
        ] {
            let account = account(&ledger, incompleteness);
            let mut told = vec!["changed: nothing", "not changed: a"];
            told.extend(advice);
            assert_eq!(account, told, "{incompleteness:?}");
        }
    }

    #[test]
    fn a_creation_that_was_sent_may_have_been_made_until_it_is_disproved() {
        let ledger = Ledger::default();
        ledger.plan(["a".to_owned()], RuleGoal::Changed);
        ledger.begin("a", Sending::Creation);
        assert_eq!(
            account(&ledger, Incompleteness::Passing),
            [
                "changed: nothing",
                "may have been created: a",
                "to remove it: kubectl devicetaint remove a --ignore-not-found",
                "run the same command again to complete the change",
            ]
        );
        ledger.failed();
        assert_eq!(
            account(&ledger, Incompleteness::Decided),
            ["changed: nothing", "not changed: a"]
        );
    }
}
