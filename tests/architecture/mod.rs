//! Is the house in order? ARCHITECTURE.md as tests.

mod compiled;
mod concerns;
mod decisions;
mod dependencies;
mod documentation;
mod layout;
mod manifest;
mod names;
mod repository;
mod source;
mod table;
mod weight;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use kubectl_devicetaint::assess::{Guard, Hazard, Outcome, Signal};
use kubectl_devicetaint::report::casing::pascal_case;
use kubectl_devicetaint::topics::Topic;
use layout::{Layout, between_folders, circles};
use names::{Name, names};
use source::{Source, files, parsed, root, sources};
use table::{Row, rows};

/// Lines of code a file may have, comments and its own tests left aside.
const LONGEST_FILE: usize = 600;

/// What a part may not do, in the words of the table, and the names by which code would do it.
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

/// Whether a part may name what stands at a path, which belongs to the part `other`. Nobody has to
/// list what is a part of itself.
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
fn every_dependency_is_used() {
    let sources = sources();
    let layout = Layout::new(sources);
    let known = manifest::dependencies();
    let used: BTreeSet<String> = sources
        .iter()
        .flat_map(|source| crates(source, &layout, &known))
        .collect();
    let unused: Vec<&String> = known.difference(&used).collect();
    assert!(unused.is_empty(), "{unused:?}");

    let known = manifest::dev_dependencies();
    let folders = ["src", "tests", "benches"].map(|folder| root().join(folder));
    let used: BTreeSet<String> = folders
        .iter()
        .flat_map(|folder| files(folder))
        .flat_map(|path| names(&parsed(&path)))
        .filter_map(|name| name.into_iter().next())
        .collect();
    let unused: Vec<&String> = known.difference(&used).collect();
    assert!(unused.is_empty(), "{unused:?}");
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
fn only_commands_know_the_command_line() {
    let (rows, sources) = (document(), sources());
    let layout = Layout::new(sources);
    let clap = BTreeSet::from(["clap".to_owned()]);
    for (source, row) in rooms(&rows, sources) {
        if !["commands", "completion"].contains(&row.module[0].as_str()) {
            assert!(
                crates(source, &layout, &clap).is_empty(),
                "{}",
                source.path.display()
            );
        }
    }
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

/// In how many places a file of a room still names what a folder around it exports instead of the sibling that has
/// it. It can only shrink.
const ARROWS_UP: [(&str, usize); 1] = [("decide", 4)];

#[test]
fn siblings_name_siblings() {
    let layout = Layout::new(sources());
    let arrows = layout.arrows_up();
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (from, to) in arrows {
        let arrow = format!("{} -> {}", from.join("/"), to.join("/"));
        found.entry(&from[0]).or_default().push(arrow);
    }
    let counts: Vec<(&str, usize)> = found.iter().map(|(room, all)| (*room, all.len())).collect();
    assert_eq!(counts, ARROWS_UP, "{found:#?}");
}

/// The two that have read the pods of the devices in question: the view, and a watch that keeps them current.
const WITH_PODS: [&[&str]; 2] = [
    &["commands", "work", "cluster_view", "view"],
    &["commands", "work", "follow"],
];

/// The type of a view says which pods were read. Whoever takes its facts and goes to the engine himself is asked by nobody.
#[test]
fn commands_get_verdicts_on_pods_from_views_only() {
    let ways = [["engine", "preview"], ["engine", "usage"], ["Basis", "new"]];
    let commands = sources()
        .iter()
        .filter(|source| starts_with(&source.module, &["commands"]))
        .filter(|source| !WITH_PODS.iter().any(|module| source.module == *module));
    let mut wrong = Vec::new();
    for source in commands {
        let mut names = source.names.iter();
        if let Some(name) = names.find(|name| {
            name.windows(2)
                .any(|pair| ways.iter().any(|way| pair == *way))
        }) {
            wrong.push(format!("{}: {}", source.path.display(), name.join("::")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn async_stays_with_those_who_talk_to_others() {
    for source in sources() {
        if source.module.first().is_some_and(|first| {
            ["cluster", "commands", "kubelet", "main"].contains(&first.as_str())
        }) {
            continue;
        }
        assert!(!source.asynchronous, "{}", source.path.display());
    }
}

#[test]
fn main_is_short() {
    let main = fs::read_to_string(root().join("src/main.rs")).expect("there is one");
    assert!(main.lines().count() <= 30);
}

#[test]
fn module_roots_hold_documentation_and_exports_only() {
    let sources = sources();
    for source in sources.iter().filter(|source| source.is_root()) {
        let path = source.path.display();
        assert!(source.documented, "{path} begins with what it is for");
        assert!(
            !source.has_code,
            "{path} holds more than modules and exports"
        );
    }
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

#[test]
fn every_file_is_compiled() {
    let orphans = compiled::orphans();
    assert!(orphans.is_empty(), "{orphans:#?}");
}

#[test]
fn every_summary_means_something_alone() {
    let found = documentation::summaries_that_lean_on_others();
    assert!(found.is_empty(), "{found:#?}");
}

/// Where texts are parsed, so that they are compared: effects, and the codes of hazards in reports.
const PARSERS: [&[&str]; 4] = [
    &["wire"],
    &["naming"],
    &["model", "taint"],
    &["assess", "hazard"],
];

/// The names under which documents write counts.
fn counts() -> BTreeSet<String> {
    fn collect(schema: &serde_json::Value, found: &mut BTreeSet<String>) {
        match schema {
            serde_json::Value::Object(fields) => {
                let names = fields.keys().filter(|name| name.ends_with("Count"));
                found.extend(names.cloned());
                fields.values().for_each(|field| collect(field, found));
            }
            serde_json::Value::Array(all) => all.iter().for_each(|one| collect(one, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    for (_, schema) in kubectl_devicetaint::report::schema::files() {
        collect(schema.as_value(), &mut found);
    }
    found
}

/// The severities in both of the ways in which they are written.
const SEVERITIES: [&str; 8] = [
    "ok", "notice", "warning", "danger", "Ok", "Notice", "Warning", "Danger",
];

#[test]
fn decisions_are_made_on_types() {
    let outcomes = [
        Outcome::EvictedNow,
        Outcome::EvictedLater,
        Outcome::Tolerates,
        Outcome::Terminating,
        Outcome::NotEvicted,
    ];
    let in_reports = Hazard::ALL.map(|hazard| pascal_case(hazard.code()));
    let counts = counts();
    assert!(counts.contains("evictedPodCount"), "{counts:?}");
    let mut words = vec!["NoExecute", "NoSchedule", "None"];
    words.extend(SEVERITIES);
    words.extend(in_reports.iter().map(String::as_str));
    words.extend(outcomes.map(Outcome::as_str));
    words.extend(Hazard::ALL.map(Hazard::code));
    words.extend(Signal::ALL.map(Signal::name));
    words.extend(counts.iter().map(String::as_str));
    let mut wrong = Vec::new();
    for source in sources() {
        if PARSERS
            .iter()
            .any(|parser| starts_with(&source.module, parser))
        {
            continue;
        }
        let found = decisions::compared_texts(&source.syntax(), &words);
        wrong.extend(
            found
                .iter()
                .map(|text| format!("{}: {text}", source.path.display())),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn starts_with(module: &[String], parser: &[&str]) -> bool {
    module.len() >= parser.len() && module.iter().zip(parser).all(|(one, other)| one == other)
}

/// Where something is decided by one hazard: counts of their own, losses that pods share, and when devices are free
/// again.
const DECIDED_BY_HAZARDS: [&[&str]; 3] = [
    &["assess", "plan", "cost"],
    &["assess", "totals"],
    &["report", "impact", "release_time"],
];

/// Whoever asks the table for all of them needs no change for a new one.
#[test]
fn a_row_is_all_that_a_signal_or_a_hazard_needs() {
    let signals = Signal::ALL.map(|signal| format!("{signal:?}"));
    let hazards = Hazard::ALL.map(|hazard| format!("{hazard:?}"));
    let mut wrong = Vec::new();
    for source in sources() {
        let is_one_of = |modules: &[&[&str]]| modules.iter().any(|module| source.module == *module);
        for name in &source.names {
            let [.., kind, variant] = name.as_slice() else {
                continue;
            };
            let names_a_row = match kind.as_str() {
                "Signal" => signals.contains(variant),
                "Hazard" => hazards.contains(variant) && !is_one_of(&DECIDED_BY_HAZARDS),
                _ => false,
            };
            if names_a_row {
                wrong.push(format!("{}: {kind}::{variant}", source.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");

    let page = |name: &str| {
        fs::read_to_string(root().join("docs/src").join(name)).expect("a page of the book")
    };
    let (help, book) = (Topic::Guards.text(), page("guards.md"));
    for signal in Signal::ALL {
        let name = signal.name();
        assert!(format!("{name}>0").parse::<Guard>().is_ok(), "{name}");
        assert!(
            help.contains(name) && book.contains(signal.meaning()),
            "{name}"
        );
    }
    let (help, book) = (Topic::Hazards.text(), page("hazards.md"));
    for hazard in Hazard::ALL {
        let code = hazard.code();
        assert!(
            help.contains(code) && book.contains(hazard.meaning()),
            "{code}"
        );
    }
}
