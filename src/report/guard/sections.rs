//! How is it told what became of guards?

use super::outcome::GuardResult;
use crate::report::table::{Column, Section, Shown, Table, Tone};

impl GuardResult {
    /// Whether it lets one go on, in words.
    fn state(&self) -> &'static str {
        if self.tripped {
            "tripped"
        } else {
            "not tripped"
        }
    }
}

/// The guards in lines, and as a table of a page.
#[must_use]
pub(in crate::report) fn sections(guards: &[GuardResult]) -> [Section; 2] {
    let line = |guard: &GuardResult| {
        let name = guard.name();
        format!("{name}: {}, {}", guard.state(), guard.value_in_words())
    };
    let row = |guard: &GuardResult| {
        let state = guard.state().to_owned();
        vec![state, guard.name(), guard.value_in_words()]
    };
    let table = Section::table(Table {
        columns: vec![
            Column::text("STATE").of_words(&[
                ("tripped", Some(Tone::Bad)),
                ("not tripped", Some(Tone::Good)),
            ]),
            Column::text("GUARD"),
            Column::prose("VALUE"),
        ],
        rows: guards.iter().map(row).collect(),
    });
    [
        Section::list("Guards", guards.iter().map(line).collect()).shown(Shown::Unpaged),
        table.titled("Guards".to_owned()).shown(Shown::Page),
    ]
}
