//! Weight of the repository: no figure may exceed its budget.
//!
//! `weight.txt` has the figures and their budgets. Code is every line of Rust in `src`, `crates/*/src`, `packaging/src`
//! and `build.rs`, and of CSS and JavaScript beside them, without blank lines, comments and tests. Tests are the
//! lines of Rust, Go, Python and shell in `tests` and `crates/*/tests`, and test code beside the program: folders named
//! `tests` or ending in `_tests`, files named `tests.rs`, `testing.rs` or ending in `_tests.rs`, and inline modules
//! behind `#[cfg(test)]`. Snapshots and data do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use kubectl_devicetaint::commands;
use regex::Regex;
use serde_json::Value;

use super::source::root;

const TABLE: &str = include_str!("weight.txt");

/// Flags that no help shows; at most eight.
const HIDDEN_FLAGS: &[&str] = &["ignore-daemonsets"];

type Figures = BTreeMap<String, usize>;

/// A line of the table.
struct Budget<'a> {
    name: &'a str,
    /// The figure when the table was made; 0 for a room that was added since.
    start: usize,
    most: usize,
    /// Why the figure may exceed that of the start.
    reason: &'a str,
}

fn budgets() -> Vec<Budget<'static>> {
    let lines = TABLE
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let budgets = lines.map(|line| {
        let mut parts = line.split('|').map(str::trim);
        let mut next = || parts.next().unwrap_or_default();
        let name = next();
        let [start, most] = [next(), next()].map(|it| it.parse().expect("a number"));
        Budget {
            name,
            start,
            most,
            reason: next(),
        }
    });
    budgets.collect()
}

#[test]
fn no_figure_exceeds_its_budget() {
    let (figures, budgets) = (figures(root()), budgets());
    let named: BTreeSet<&str> = budgets.iter().map(|budget| budget.name).collect();
    let unknown = figures.keys().filter(|name| !named.contains(name.as_str()));
    let mut wrong: Vec<String> = unknown
        .map(|name| format!("{name} is {}, and has no line", figures[name]))
        .collect();
    for budget in &budgets {
        let Budget {
            name, start, most, ..
        } = budget;
        let figure = figures.get(*name).copied().unwrap_or_default();
        if figure > *most {
            wrong.push(format!(
                "{name} is {figure}, {} above its budget of {most}",
                figure - most
            ));
        }
        if most > start && !name.starts_with("room ") {
            wrong.push(format!(
                "{name} may not grow: its budget is {most}, and it began at {start}"
            ));
        } else if most > start && budget.reason.is_empty() {
            wrong.push(format!(
                "{name} may grow from {start} to {most} without a reason in its line"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "remove something, or change tests/architecture/weight.txt: {wrong:#?}"
    );
}

#[test]
fn few_flags_are_hidden() {
    fn hidden(command: &clap::Command, found: &mut BTreeSet<String>) {
        let arguments = command.get_arguments().filter(|one| one.is_hide_set());
        found.extend(arguments.filter_map(|one| one.get_long().map(str::to_owned)));
        command.get_subcommands().for_each(|one| hidden(one, found));
    }
    let mut found = BTreeSet::new();
    hidden(&commands::command(), &mut found);
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, HIDDEN_FLAGS);
    assert!(HIDDEN_FLAGS.len() <= 8);
}

/// Lines are formatted as rustfmt does it, and no code is generated or pasted in.
#[test]
fn code_is_formatted_and_written_by_hand() {
    let banned = ["rustfmt::", "include!", "@generated", "Code generated"];
    let banned = ["skip", "(", "", ""].iter().zip(banned);
    let banned: Vec<String> = banned.map(|(end, start)| format!("{start}{end}")).collect();
    let mut wrong = Vec::new();
    for path in ["src", "tests", "packaging", "benches", "fuzz", "crates"]
        .iter()
        .flat_map(|folder| under(root(), folder, &["rs"]))
        .filter(|path| path != "tests/architecture/weight.rs")
    {
        let text = read(root(), &path);
        let found = banned.iter().filter(|word| text.contains(*word));
        wrong.extend(found.map(|word| format!("{path}: {word}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// All figures of a checkout, by name.
fn figures(root: &Path) -> Figures {
    let mut figures = Figures::new();
    for name in ["code", "characters", "files", "tests"] {
        figures.insert(name.to_owned(), 0);
    }
    let mut folders = vec!["src".to_owned(), "packaging/src".to_owned()];
    folders.extend(crates(root, "src"));
    for folder in folders {
        for path in under(root, &folder, &["rs", "css", "js"]) {
            count_code(&path, &read(root, &path), &mut figures);
        }
    }
    if root.join("build.rs").exists() {
        add(
            &mut figures,
            "code",
            counted(lines(&read(root, "build.rs")), "//").len(),
        );
        add(&mut figures, "files", 1);
    }
    let mut folders = vec!["tests".to_owned()];
    folders.extend(crates(root, "tests"));
    for folder in folders {
        for (extensions, comment) in [(["rs", "go"], "//"), (["py", "sh"], "#")] {
            for path in under(root, &folder, &extensions) {
                let count = counted(lines(&read(root, &path)), comment).len();
                add(&mut figures, "tests", count);
            }
        }
    }
    count_schemas(root, &mut figures);
    count_documents(root, &mut figures);
    figures
}

fn add(figures: &mut Figures, name: &str, count: usize) {
    *figures.entry(name.to_owned()).or_default() += count;
}

fn count_code(path: &str, text: &str, figures: &mut Figures) {
    let all = lines(text);
    let code = if !path.ends_with(".rs") {
        counted(all, "//")
    } else if is_test(path) {
        return add(figures, "tests", counted(all, "//").len());
    } else {
        let (product, tests) = split(&all);
        add(figures, "tests", counted(tests, "//").len());
        counted(product, "//")
    };
    let parts: Vec<&str> = path.split('/').collect();
    let room = if parts.len() > 2 {
        parts[..2].join("/")
    } else {
        "src".to_owned()
    };
    add(figures, &format!("room {room}"), code.len());
    add(figures, "code", code.len());
    let characters = code.iter().map(|line| line.chars().count());
    add(figures, "characters", characters.sum());
    add(figures, "files", 1);
}

/// True if a file holds tests only.
pub(super) fn is_test(path: &str) -> bool {
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let mut folders = folders.split('/');
    folders.any(|folder| folder == "tests" || folder.ends_with("_tests"))
        || ["tests.rs", "testing.rs"].contains(&file)
        || file.ends_with("_tests.rs")
}

/// The lines of a file without its inline test modules, and the lines of these modules.
fn split<'a>(lines: &[&'a str]) -> (Vec<&'a str>, Vec<&'a str>) {
    let attribute = Regex::new(r"^\s*#\[cfg\((all\()?test\b").expect("a pattern");
    let module = Regex::new(r"^\s*(pub(\(.*\))? )?mod \w+ \{").expect("a pattern");
    let (mut product, mut tests) = (Vec::new(), Vec::new());
    let mut rest = lines;
    while let [first, after @ ..] = rest {
        if attribute.is_match(first) && after.first().is_some_and(|line| module.is_match(line)) {
            let indentation = after[0].len() - after[0].trim_start().len();
            let end = format!("{}}}", " ".repeat(indentation));
            let length = rest.iter().position(|line| line.trim_end() == end);
            let (inside, left) = rest.split_at(length.unwrap_or(rest.len()));
            tests.extend(inside);
            product.extend(left.first());
            rest = left.get(1..).unwrap_or_default();
        } else {
            product.push(*first);
            rest = after;
        }
    }
    (product, tests)
}

fn lines(text: &str) -> Vec<&str> {
    text.split('\n').collect()
}

fn counted<'a>(lines: Vec<&'a str>, comment: &str) -> Vec<&'a str> {
    let trimmed = lines.into_iter().map(str::trim);
    trimmed
        .filter(|line| !line.is_empty() && !line.starts_with(comment))
        .collect()
}

fn count_schemas(root: &Path, figures: &mut Figures) {
    fn walk<'a>(value: &'a Value, names: &mut BTreeSet<&'a String>, total: &mut usize) {
        match value {
            Value::Object(fields) => {
                let properties = fields.get("properties").and_then(Value::as_object);
                for name in properties.into_iter().flat_map(|all| all.keys()) {
                    *total += 1;
                    names.insert(name);
                }
                fields.values().for_each(|field| walk(field, names, total));
            }
            Value::Array(all) => all.iter().for_each(|one| walk(one, names, total)),
            _ => {}
        }
    }
    let files = under(root, "schemas", &["json"]);
    let schemas: Vec<Value> = files
        .iter()
        .map(|path| serde_json::from_str(&read(root, path)).expect("JSON"))
        .collect();
    let (mut names, mut total) = (BTreeSet::new(), 0);
    for schema in &schemas {
        walk(schema, &mut names, &mut total);
    }
    add(figures, "schemas", schemas.len());
    add(figures, "properties", total);
    add(figures, "property_names", names.len());
}

fn count_documents(root: &Path, figures: &mut Figures) {
    let flag = Regex::new(r"^- `(?:-\w, )?(--[\w-]+)").expect("a pattern");
    for path in under(root, "docs/src", &["md"]) {
        let text = read(root, &path);
        add(figures, "book_words", text.split_whitespace().count());
        let is_page = path.strip_prefix("docs/src/commands/");
        if is_page.is_some_and(|name| !name.contains('/') && !name.ends_with("options.md")) {
            add(figures, "pages", 1);
            let flags = text.lines().filter_map(|line| flag.captures(line));
            add(
                figures,
                "flag_slots",
                flags.filter(|found| &found[1] != "--help").count(),
            );
        }
    }
    let changelog = read(root, "CHANGELOG.md");
    add(figures, "changelog_lines", changelog.lines().count());
}

/// The paths of all crates that have such a folder.
fn crates(root: &Path, folder: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root.join("crates")) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.expect("a folder").file_name());
    names
        .map(|name| format!("crates/{}/{folder}", name.to_string_lossy()))
        .collect()
}

/// Files with these extensions in a folder, from the root on; built files are left out.
pub(super) fn under(root: &Path, folder: &str, extensions: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(root.join(folder)) else {
        return found;
    };
    for entry in entries {
        let entry = entry.expect("it can be listed");
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{folder}/{name}");
        if entry.file_type().expect("a type").is_dir() {
            if name != "target" {
                found.extend(under(root, &path, extensions));
            }
        } else if name
            .rsplit_once('.')
            .is_some_and(|(_, end)| extensions.contains(&end))
        {
            found.push(path);
        }
    }
    found
}

pub(super) fn read(root: &Path, path: &str) -> String {
    let bytes = fs::read(root.join(path)).expect("it can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}
