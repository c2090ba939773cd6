//! What was changed, and what was not: for whoever interrupts a command, or whom it fails.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The changes that a command makes, one after the other.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    planned: Vec<String>,
    under_way: Option<String>,
    done: Vec<String>,
}

impl Ledger {
    /// What is going to be changed, in this order.
    pub(super) fn plan(&self, names: impl IntoIterator<Item = String>) {
        self.state().planned.extend(names);
    }

    /// The next change is sent.
    pub(super) fn begin(&self, name: &str) {
        self.state().under_way = Some(name.to_owned());
    }

    /// It was made: `NAME VERB`.
    pub(super) fn done(&self, name: &str, verb: &str) {
        let mut state = self.state();
        state.under_way = None;
        state.planned.retain(|planned| planned != name);
        state.done.push(format!("{name} {verb}"));
    }

    /// It was not made.
    pub(super) fn failed(&self) {
        self.state().under_way = None;
    }

    /// What became of the changes, one line each kind; empty when none was ever planned.
    pub(super) fn account(&self) -> Vec<String> {
        let state = self.state();
        if state.planned.is_empty() && state.done.is_empty() {
            return vec!["nothing was changed".to_owned()];
        }
        let mut lines = Vec::new();
        let done = if state.done.is_empty() {
            "nothing".to_owned()
        } else {
            state.done.join(", ")
        };
        lines.push(format!("changed: {done}"));
        if let Some(name) = &state.under_way {
            lines.push(format!("not known: {name}, whose change was under way"));
        }
        let open = state.planned.iter();
        let open: Vec<&str> = open
            .filter(|name| state.under_way.as_ref() != Some(name))
            .map(String::as_str)
            .collect();
        if !open.is_empty() {
            lines.push(format!("not changed: {}", open.join(", ")));
        }
        lines
    }

    /// Whether there is anything left to do.
    pub(super) fn is_complete(&self) -> bool {
        let state = self.state();
        state.planned.is_empty() && state.under_way.is_none()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_interrupts_is_told_what_was_changed() {
        let ledger = Ledger::default();
        assert_eq!(ledger.account(), ["nothing was changed"]);
        ledger.plan(["a", "b", "c"].map(str::to_owned));
        ledger.begin("a");
        ledger.done("a", "created");
        ledger.begin("b");
        assert_eq!(
            ledger.account(),
            [
                "changed: a created",
                "not known: b, whose change was under way",
                "not changed: c"
            ]
        );
        assert!(!ledger.is_complete());
    }
}
