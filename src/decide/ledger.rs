//! Changes made and not made, for the message after an interruption or a failure.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::rule_result::RuleResult;
use crate::error::Failure;

/// The changes that a command makes, one after the other, and what it waits for after that.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<LedgerState>);

#[derive(Debug, Default)]
struct LedgerState {
    planned: Vec<Planned>,
    under_way: Option<UnderWay>,
    done: Vec<Done>,
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

/// Result of all changes made to one object.
#[derive(Debug)]
struct Done {
    name: String,
    /// True if the command created it: then it is not there by anything else.
    is_own: bool,
    last: RuleResult,
}

/// True if the object exists no more.
fn is_removal(result: RuleResult) -> bool {
    match result {
        RuleResult::Deleted
        | RuleResult::AlreadyDeleted
        | RuleResult::Gone
        | RuleResult::NotFound => true,
        RuleResult::Created
        | RuleResult::Configured
        | RuleResult::Unchanged
        | RuleResult::DeletionRequested
        | RuleResult::Failed
        | RuleResult::Unknown => false,
    }
}

impl Done {
    /// Notes a further result. Of an object that the command created, that is what counts while it is there.
    fn and_then(&mut self, next: RuleResult) {
        if !(self.is_own && next == RuleResult::Configured) {
            self.last = next;
        }
    }

    /// True if the command created the object, and it is gone: it leaves nothing behind.
    fn is_temporary(&self) -> bool {
        self.is_own && is_removal(self.last)
    }
}

/// A change that was sent, or is about to be.
#[derive(Debug)]
struct UnderWay {
    name: String,
    kind: Sending,
}

/// Request about a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// It is made.
    Creation,
    /// The one that is there is changed or deleted.
    Change,
}

/// Reason for an incomplete command; it decides if the same command completes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incompleteness {
    /// It passes: the command was interrupted, or the network or the server was in the way.
    Passing,
    /// A permission is missing.
    Denied,
    /// It stays until it is repaired on the server or in a file.
    Lasting,
    /// A decision, or a mistake in the command: the same again would end in the same way, and what to
    /// do instead is said there.
    Decided,
}

impl Incompleteness {
    /// Advice about what is open.
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

/// Planned state of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleGoal {
    /// It is created.
    Created,
    /// It is changed.
    Changed,
    /// It is deleted.
    Deleted,
}

impl RuleGoal {
    const ALL: [Self; 3] = [Self::Created, Self::Changed, Self::Deleted];

    /// Statement about rules for which it was not reached.
    fn missed(self) -> &'static str {
        match self {
            Self::Created => "not created",
            Self::Changed => "not changed",
            Self::Deleted => "not deleted",
        }
    }
}

impl Ledger {
    /// Plans changes, in this order.
    pub fn plan(&self, changes: impl IntoIterator<Item = (String, RuleGoal)>) {
        let changes = changes.into_iter();
        let planned = changes.map(|(name, goal)| Planned { name, goal });
        self.state().planned.extend(planned);
    }

    /// The next change is sent.
    pub fn begin(&self, name: &str, kind: Sending) {
        // Recorded before the request is sent: an interrupt while the reply is outstanding leaves its result
        // unknown.
        let name = name.to_owned();
        self.state().under_way = Some(UnderWay { name, kind });
    }

    /// It was made, with this result.
    pub fn done(&self, name: &str, result: RuleResult) {
        let mut state = self.state();
        state.settle(name);
        state.unchanged.retain(|unchanged| unchanged != name);
        // An object is listed once, however often it is changed: a long list hides what follows it.
        match state.done.iter_mut().find(|done| done.name == name) {
            Some(done) => done.and_then(result),
            None => state.done.push(Done {
                name: name.to_owned(),
                is_own: result == RuleResult::Created,
                last: result,
            }),
        }
    }

    /// There was nothing to change.
    pub fn unchanged(&self, name: &str) {
        let mut state = self.state();
        state.settle(name);
        let mut done = state.done.iter();
        if !done.any(|done| done.name == name) && !state.unchanged.iter().any(|it| it == name) {
            state.unchanged.push(name.to_owned());
        }
    }

    /// It was not made.
    pub fn failed(&self) {
        // It stays planned, so that the account lists it as not made.
        self.state().under_way = None;
    }

    /// Advice for an interruption from now on, instead of running the command again.
    pub fn advise(&self, advice: impl IntoIterator<Item = String>) {
        self.state().advice = advice.into_iter().collect();
    }

    /// Sets what the command still waits for; an empty text is not shown.
    pub fn left(&self, left: &str) {
        self.state().left = (!left.is_empty()).then(|| left.to_owned());
    }

    /// The failure with what became of the changes, one detail each kind, and with what to do now about
    /// what is open because of `incompleteness`.
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

    /// Command that removes what may have been created.
    fn way_back(&self) -> Option<String> {
        match self.kind {
            Sending::Creation => Some(to_remove(&[&self.name])),
            Sending::Change => None,
        }
    }
}

/// Statement about rules whose creation was sent and not disproved.
pub fn may_have_been_created(names: &[&String]) -> String {
    format!("may have been created: {}", joined(names, ", "))
}

/// Command that removes rules that may have been created.
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
        let done = self.done.iter().filter(|done| !done.is_temporary());
        let done: Vec<String> = done
            .map(|done| format!("{} {}", done.name, done.last.as_str()))
            .collect();
        if self.is_complete() && done.is_empty() {
            return vec!["nothing was changed".to_owned()];
        }
        let done = if done.is_empty() {
            "nothing".to_owned()
        } else {
            done.join(", ")
        };
        let mut lines = vec![format!("changed: {done}")];
        if !self.unchanged.is_empty() {
            lines.push(format!("unchanged: {}", self.unchanged.join(", ")));
        }
        lines.extend(self.under_way.iter().map(UnderWay::describe));
        lines.extend(RuleGoal::ALL.into_iter().filter_map(|goal| self.open(goal)));
        lines
    }

    /// The planned changes of that kind that were not begun.
    fn open(&self, goal: RuleGoal) -> Option<String> {
        let open = self.planned.iter().filter(|planned| planned.goal == goal);
        let names: Vec<&str> = open
            .map(|planned| planned.name.as_str())
            // Sent changes are told as in progress, and may have been made.
            .filter(|name| {
                self.under_way
                    .as_ref()
                    .is_none_or(|sent| sent.name != *name)
            })
            .collect();
        (!names.is_empty()).then(|| format!("{}: {}", goal.missed(), names.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Message, the facts first.
    fn account(ledger: &Ledger, incompleteness: Incompleteness) -> Vec<String> {
        let failure = ledger.account(Failure::usage("stopped"), incompleteness);
        [failure.details(), failure.hints()].concat()
    }

    fn planned(name: &str, goal: RuleGoal) -> [(String, RuleGoal); 1] {
        [(name.to_owned(), goal)]
    }

    #[test]
    fn an_object_is_listed_once_and_one_that_came_and_went_is_not() {
        use RuleResult::{
            AlreadyDeleted, Configured, Created, Deleted, DeletionRequested, Gone, NotFound,
            Unknown,
        };
        for (results, shown) in [
            (&[Created, Configured, Configured][..], "changed: a created"),
            (&[Configured, Configured], "changed: a configured"),
            (&[Created, Unknown], "changed: a unknown"),
            (&[Configured, Deleted], "changed: a deleted"),
            (
                &[Created, DeletionRequested],
                "changed: a deletion requested",
            ),
            (&[Created, Deleted], "nothing was changed"),
            (&[Created, DeletionRequested, Gone], "nothing was changed"),
            (
                &[Created, Configured, AlreadyDeleted],
                "nothing was changed",
            ),
            (&[Created, Deleted, Gone], "nothing was changed"),
            (&[Created, NotFound], "nothing was changed"),
            (&[Deleted, Created], "changed: a created"),
            (&[Deleted, Created, Deleted], "changed: a deleted"),
            (&[Gone], "changed: a gone"),
            // The second comparison with the controller creates rules of the same names.
            (&[Created, Deleted, Created], "changed: a created"),
        ] {
            let ledger = Ledger::default();
            for result in results {
                ledger.done("a", *result);
            }
            let account = account(&ledger, Incompleteness::Passing);
            assert_eq!(account, [shown], "{results:?}");
        }
        let ledger = Ledger::default();
        ledger.unchanged("b");
        ledger.unchanged("b");
        ledger.unchanged("c");
        ledger.done("c", Created);
        ledger.done("a", Created);
        ledger.unchanged("a");
        assert_eq!(
            account(&ledger, Incompleteness::Passing),
            ["changed: c created, a created", "unchanged: b"]
        );
    }

    #[test]
    fn a_creation_that_was_sent_may_have_been_made_until_it_is_disproved() {
        let ledger = Ledger::default();
        ledger.plan(planned("a", RuleGoal::Created));
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
            ["changed: nothing", "not created: a"]
        );
    }
}
