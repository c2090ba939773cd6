//! Exit 0 means that the output is true of the server's state.

use serde_json::Value;

use super::command::Goal;
use super::normal::{self, is_cautious};
use super::state::State;
use super::told;
use crate::cluster::rules::support::Run;
use crate::harness::Entry;

/// The exit code after faults that pass by themselves.
pub const TRY_AGAIN: i32 = 75;

/// A run, and the rules before and after it.
pub struct Try<'a> {
    pub goal: &'a Goal,
    /// The names of the driver and the namespace that it is about.
    pub ours: [&'a str; 2],
    /// The lane's name, with which the names of its rules end.
    pub lane: &'a str,
    pub before: &'a State,
    pub after: &'a State,
    /// Run of the command without faults.
    pub calm: &'a Run,
    pub run: &'a Run,
    /// True if partial answers are an error.
    pub strict: bool,
    /// True if all of its faults pass by themselves.
    pub unlucky: bool,
    /// Changes by the server meanwhile to the rules of the lane.
    pub history: &'a [Entry],
    /// True if a request was sent twice on its way.
    pub doubled: bool,
}

/// Exit code of a command that the user breaks off.
pub const BROKEN_OFF: i32 = 130;

impl Try<'_> {
    /// The laws that are broken by a run of the same command after one that ended with [`TRY_AGAIN`], in
    /// which nothing goes wrong.
    pub fn violations_of_trying_again(&self) -> Vec<String> {
        // A rule that was removed already cannot be removed.
        let is_gone = self.run.code == 1
            && matches!(self.goal, Goal::Gone(_))
            && self.run.stderr.contains("no rule");
        let law = "trying again does it".to_owned();
        let reached = match self.run.code {
            0 => self.is_reached(),
            code => is_gone || code == self.calm.code,
        };
        if reached { Vec::new() } else { vec![law] }
    }

    /// The laws that are broken.
    pub fn violations(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut check = |law: &str, holds: bool| {
            if !holds {
                found.push(law.to_owned());
            }
        };
        let code = self.run.code;
        check(
            "it ends with a code that has a meaning",
            (0..=6).contains(&code)
                || code == TRY_AGAIN
                || (code == BROKEN_OFF && *self.goal == Goal::BrokenOff),
        );
        let lies = told::lies(self.run, self.history, self.doubled);
        check(
            &format!("what is told is the server's history: {lies:?}"),
            lies.is_empty(),
        );
        check(
            "a failure says why",
            code == 0 || !self.run.stderr.is_empty(),
        );
        check("what is printed is true", self.lines_are_true());
        if code == 0 {
            let is_reached = self.is_reached() || *self.goal == Goal::BrokenOff;
            let lines =
                (!is_reached).then(|| normal::lines_of_one(&self.run.stdout, &self.calm.stdout));
            check(&format!("the goal is reached: {lines:#?}"), is_reached);
            check("what is said of evictions is true", self.claims_are_true());
        } else {
            check(
                "what a failure says of changes is true",
                self.account_is_true() || *self.goal == Goal::BrokenOff,
            );
        }
        check(
            "who is only unlucky is told to try again",
            !self.unlucky || code != 1 || self.calm.code == 1,
        );
        if code == 2 || code == 4 {
            check("a refusal changes nothing", self.before == self.after);
        }
        if matches!(self.goal, Goal::Nothing | Goal::Refused) {
            check("nothing is changed", self.before == self.after);
        }
        found
    }

    fn name(&self, rule: &str) -> String {
        format!("{rule}-{}", self.lane)
    }

    fn is_reached(&self) -> bool {
        let have = |rules: &[&str], effect: &str| {
            rules.iter().all(|rule| {
                let rule = self.after.get(&self.name(rule));
                rule.is_some_and(|rule| rule.effect == effect && !rule.deleted)
            })
        };
        match self.goal {
            Goal::Answer => self.is_the_answer(),
            Goal::Nothing => true,
            Goal::Effect(rules, effect) => have(rules, effect),
            Goal::Refused | Goal::BrokenOff => false,
            Goal::Gone(rules) => rules.iter().all(|rule| {
                self.after
                    .get(&self.name(rule))
                    .is_none_or(|rule| rule.deleted)
            }),
        }
    }

    /// The output of the run without faults, or a part of it that is marked as one. Changes are judged line
    /// by line, since an interrupted command has less to do.
    fn is_the_answer(&self) -> bool {
        if self.before != self.after || self.calm.stdout.contains("created") {
            return true;
        }
        if normal::says_the_same(&self.run.stdout, &self.calm.stdout, &self.ours) {
            return true;
        }
        let marked = match serde_json::from_str::<Value>(&self.run.stdout) {
            Ok(report) => report["incomplete"]
                .as_array()
                .is_some_and(|gaps| !gaps.is_empty()),
            // `describe` marks missing data among the lines that it prints.
            Err(_) => {
                let has = |mark: &str| self.run.stderr.contains(mark);
                has("ncomplete") || has("at least") || self.run.stdout.contains("\nIncomplete:")
            }
        };
        marked && !self.strict
    }

    /// Every `TYPE/NAME VERB`.
    fn lines_are_true(&self) -> bool {
        let lines = self.run.stdout.lines().filter_map(|line| {
            let line = line.strip_prefix("devicetaintrule.resource.k8s.io/")?;
            line.split_once(' ')
        });
        let mut lines = lines.filter(|(_, said)| !said.contains("dry run"));
        lines.all(|(name, said)| {
            let (before, after) = (self.before.get(name), self.after.get(name));
            let version = |rule: Option<&super::state::Stored>| {
                rule.map(|rule| rule.resource_version.clone())
            };
            match said {
                "created" => after.is_some() && version(before) != version(after),
                "configured" => after.is_some() && version(before) != version(after),
                "unchanged" => after.is_some(),
                "deleted" | "already deleted" | "gone" => after.is_none(),
                "deletion requested" => after.is_none_or(|rule| rule.deleted),
                "observed" | "evicted" => before == after,
                "reverted" => true,
                _ => false,
            }
        })
    }

    /// Rules said to be left are left; changed rules are reported.
    fn account_is_true(&self) -> bool {
        let said = |what: &str| -> Vec<&str> {
            let prefix = format!("  {what}: ");
            let mut lines = self.run.stderr.lines();
            let line = lines.find_map(|line| line.strip_prefix(&prefix));
            let words = line.into_iter().flat_map(|line| line.split([' ', ',']));
            words.collect()
        };
        if self.run.stderr.contains("nothing was changed") && self.before != self.after {
            return false;
        }
        let changed = said("changed");
        let open = ["not created", "not changed", "not deleted"]
            .map(said)
            .concat();
        let unknown = [said("may have been changed"), said("may have been created")].concat();
        let mut names = self.before.keys().chain(self.after.keys());
        names.all(|name| {
            let same = self.before.get(name) == self.after.get(name);
            let told = |names: &[&str]| names.contains(&name.as_str());
            let shown = self.run.stdout.contains(&format!("/{name} "));
            match same {
                true => !told(&changed) || self.run.stderr.contains("revert"),
                false => !told(&open) && (told(&changed) || told(&unknown) || shown),
            }
        })
    }

    /// Sentences about evictions are those of the undisturbed run.
    fn claims_are_true(&self) -> bool {
        let lines = |run: &Run| -> Vec<String> {
            let text = normal::text(&run.stderr);
            let lines = text.lines().filter(|line| line.contains("evicted"));
            lines.map(str::to_owned).collect()
        };
        let known = lines(self.calm);
        lines(self.run)
            .iter()
            .all(|line| known.contains(line) || is_cautious(line))
    }
}
