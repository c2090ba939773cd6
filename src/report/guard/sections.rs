//! Sections about guards.

use crate::assess::GuardOutcome;
use crate::report::table::{Column, Section, Shown, Table, Tone};

/// State of the guard, in words.
fn state(guard: &GuardOutcome) -> &'static str {
    if guard.tripped {
        "tripped"
    } else {
        "not tripped"
    }
}

/// The guards in lines, and as a table of a page.
pub(in crate::report) fn sections(guards: &[GuardOutcome]) -> [Section; 2] {
    let line = |guard: &GuardOutcome| {
        let name = guard.guard.expression();
        format!("{name}: {}, {}", state(guard), guard.value_in_words())
    };
    let row = |guard: &GuardOutcome| {
        let state = state(guard).to_owned();
        vec![
            state,
            guard.guard.expression().to_owned(),
            guard.value_in_words(),
        ]
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
        // In two forms: pages have the state in a column, whose words they mark, and text has a line for each.
        Section::list("Guards", guards.iter().map(line).collect()).shown(Shown::Unpaged),
        table.titled("Guards".to_owned()).shown(Shown::Page),
    ]
}
