//! The table by which the gate chooses of the second tier: does every row still mean something?

use std::process::Command;

use regex::Regex;

use super::source::root;

const TABLE: &str = include_str!("../../.ci/concerns");
const SECOND_TIER: &str = include_str!("../full.rs");

/// Filters with the patterns of the paths that concern them.
fn rows() -> Vec<(&'static str, Vec<Regex>)> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let rows = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        let filter = words.next()?;
        let patterns = words.map(|word| Regex::new(&format!("^{word}")).expect("a pattern"));
        Some((filter, patterns.collect()))
    });
    rows.collect()
}

/// The files of the project.
fn files() -> Vec<String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let output = git.current_dir(root()).output().expect("git runs");
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn every_path_of_the_gates_table_is_there() {
    let (rows, files) = (rows(), files());
    assert!(!rows.is_empty() && !files.is_empty());
    for (filter, patterns) in rows {
        assert!(!patterns.is_empty(), "{filter}");
        for pattern in patterns {
            let found = files.iter().any(|file| pattern.is_match(file));
            assert!(found, "{filter}: {pattern} is the beginning of no file");
        }
    }
}

/// The modules of `tests/full.rs` that hold tests are in the table, and nothing else is.
#[test]
fn every_part_of_the_second_tier_is_in_the_gates_table() {
    let filters: Vec<&str> = rows().iter().map(|(filter, _)| *filter).collect();
    let syntax = syn::parse_file(SECOND_TIER).expect("code");
    let helpers = [
        "advice",
        "case",
        "debian",
        "dedicated",
        "differential",
        "harness",
        "page",
        "validated",
    ];
    let mut parts = Vec::new();
    for item in &syntax.items {
        let syn::Item::Mod(module) = item else {
            continue;
        };
        let name = module.ident.to_string();
        let inside = module.content.iter().flat_map(|(_, items)| items);
        let inside = inside.filter_map(|item| match item {
            syn::Item::Mod(module) => Some(format!("{name}::{}", module.ident)),
            _ => None,
        });
        match name.as_str() {
            "cluster" => parts.extend(inside),
            _ => parts.push(format!("{name}::")),
        }
    }
    let is_helper = |part: &String| helpers.iter().any(|helper| part.contains(helper));
    parts.retain(|part| !is_helper(part));
    let (mut covered, mut expected) = (filters.clone(), parts);
    covered.retain(|filter| *filter != "packaging::linted");
    covered.sort_unstable();
    expected.sort_unstable();
    assert_eq!(covered, expected);
}
