//! Is the house in order? ARCHITECTURE.md as tests.

mod dependencies;
mod layout;
mod manifest;
mod names;
mod repository;
mod source;
mod table;
mod weight;
mod words;

use std::collections::BTreeSet;

use layout::{Layout, between_folders, circles};
use names::Name;
use source::{Source, sources};
use table::{Row, rows};

/// Lines of code a file may have, comments and its own tests left aside.
const LONGEST_FILE: usize = 600;

/// Acts forbidden to a part, in the words of the table, and the names by which code would do them.
const FORBIDDEN: &[(&str, &[&str])] = &[
    (
        "I/O",
        &[
            "std::fs",
            "std::io",
            "std::net",
            "std::process",
            "std::env",
            "std::os",
            "tokio",
            "futures",
        ],
    ),
    ("network", &["std::net", "tokio", "http", "kube"]),
    (
        "clock",
        &[
            "std::time::Instant",
            "std::time::SystemTime",
            "Instant::now",
            "SystemTime::now",
            "Timestamp::now",
            "Zoned::now",
            "jiff::Timestamp::now",
            "jiff::Zoned::now",
            "tokio::time",
        ],
    ),
    ("clap", &["clap"]),
    ("kube", &["kube"]),
    ("serde", &["serde", "serde_json"]),
];

fn document() -> Vec<Row> {
    rows(include_str!("../../ARCHITECTURE.md"))
}

/// The row that a module belongs to: the longest that fits.
fn row_of<'a>(rows: &'a [Row], module: &[String]) -> Option<&'a Row> {
    let fitting = rows.iter().filter(|row| module.starts_with(&row.module));
    fitting.max_by_key(|row| row.module.len())
}

/// True if a part may name the item at a path, which belongs to the part `other`. Items of the part itself
/// need no listing.
fn is_allowed(row: &Row, other: &Row, path: &[String], rows: &[Row]) -> bool {
    let place = |wanted: &Row| rows.iter().position(|row| row.module == wanted.module);
    let among_all = || other.module[0] != row.module[0] && place(other) < place(row);
    other.module.starts_with(&row.module)
        || row.modules.iter().any(|listed| path.starts_with(listed))
        || row.all && among_all()
}

/// Every file of the program that is not the library's root, with its row.
fn rooms<'a>(rows: &'a [Row], sources: &'a [Source]) -> Vec<(&'a Source, &'a Row)> {
    let sources = sources.iter().filter(|source| !source.module.is_empty());
    let rooms = sources.map(|source| {
        let row = row_of(rows, &source.module).unwrap_or_else(|| {
            let path = source.path.display();
            panic!("{path} has no row in the table of ARCHITECTURE.md")
        });
        (source, row)
    });
    rooms.collect()
}

#[test]
fn data_flows_one_way() {
    let (rows, sources) = (document(), sources());
    let layout = Layout::new(sources);
    let mut trespasses = Vec::new();
    for (source, row) in rooms(&rows, sources) {
        for name in &source.names {
            let Some(path) = layout.absolute(&source.module, name) else {
                continue;
            };
            if let Some(other) = row_of(&rows, &path)
                && !is_allowed(row, other, &path, &rows)
            {
                let path = source.path.display();
                trespasses.push(format!(
                    "{path} names {}: {}",
                    name.join("::"),
                    other.name()
                ));
            }
        }
    }
    assert!(trespasses.is_empty(), "{trespasses:#?}");
}

#[test]
fn every_row_is_a_part_and_names_all_that_it_lists() {
    let (rows, sources) = (document(), sources());
    let layout = Layout::new(sources);
    let rooms = rooms(&rows, sources);
    assert!(rows.len() > 5, "the table was found: {rows:?}");
    for row in &rows {
        let files = rooms.iter().filter(|(_, room)| room.module == row.module);
        let named: Vec<Name> = files
            .flat_map(|(source, _)| {
                let names = source.names.iter();
                names.filter_map(|name| layout.absolute(&source.module, name))
            })
            .collect();
        let is_part = |source: &Source| source.module.starts_with(&row.module);
        assert!(sources.iter().any(is_part), "there is no {}", row.name());
        for listed in &row.modules {
            assert!(
                named.iter().any(|name| name.starts_with(listed)),
                "{} does not name {}, which its row lists",
                row.name(),
                listed.join("::")
            );
        }
    }
}

/// The crates that a file names; a module of its own that has a crate's name is none.
fn crates(source: &Source, layout: &Layout<'_>, known: &BTreeSet<String>) -> BTreeSet<String> {
    let names = source.names.iter();
    let foreign = names.filter(|name| layout.absolute(&source.module, name).is_none());
    let first = foreign.filter_map(|name| name.first());
    first
        .filter(|name| known.contains(*name))
        .cloned()
        .collect()
}

#[test]
fn every_part_uses_the_crates_of_its_row_and_no_others() {
    let (rows, sources) = (document(), sources());
    let layout = Layout::new(sources);
    let mut known = manifest::dependencies();
    known.remove("kubectl_devicetaint");
    let rooms = rooms(&rows, sources);
    let mut wrong = Vec::new();
    for row in &rows {
        let files = rooms.iter().filter(|(_, room)| room.module == row.module);
        let used: BTreeSet<String> = files
            .flat_map(|(source, _)| crates(source, &layout, &known))
            .collect();
        let name = row.name();
        wrong.extend(
            used.difference(&row.crates)
                .map(|found| format!("{name} names {found}")),
        );
        wrong.extend(
            row.crates
                .difference(&used)
                .map(|listed| format!("{name} does not use {listed}, which its row lists")),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn nobody_does_what_its_row_forbids() {
    let (rows, sources) = (document(), sources());
    let mut trespasses = Vec::new();
    for (source, row) in rooms(&rows, sources) {
        let forbidden = FORBIDDEN.iter().filter(|(word, _)| {
            let mut words = row.never.split(',').map(str::trim);
            words.any(|found| found == *word)
        });
        for (word, ways) in forbidden {
            let ways: Vec<Name> = ways.iter().map(|way| segments(way)).collect();
            let ways = &ways;
            let found = source
                .names
                .iter()
                .filter(|name| ways.iter().any(|way| name.starts_with(way)));
            trespasses.extend(
                found.map(|name| format!("{}: {word}: {}", source.path.display(), name.join("::"))),
            );
        }
    }
    assert!(trespasses.is_empty(), "{trespasses:#?}");
}

fn segments(path: &str) -> Name {
    path.split("::").map(str::to_owned).collect()
}

#[test]
fn folders_do_not_lead_to_each_other() {
    let sources = sources();
    let circles: Vec<String> = circles(&between_folders(&Layout::new(sources).uses()))
        .into_iter()
        .map(|circle| {
            circle
                .iter()
                .map(|child| child.join("/"))
                .collect::<Vec<_>>()
        })
        .map(|circle| circle.join(" ⇄ "))
        .collect();
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn files_stay_readable() {
    let long: Vec<String> = sources()
        .iter()
        .filter(|source| source.lines > LONGEST_FILE)
        .map(|source| format!("{}: {}", source.path.display(), source.lines))
        .collect();
    assert!(long.is_empty(), "{long:#?}");
}
