//! Table of ARCHITECTURE.md: the parts, and the parts that each may use.

use std::collections::BTreeSet;

/// Names that one part of the crate may use.
#[derive(Debug)]
pub struct Row {
    /// The part, as a path of modules: `["commands", "work"]`.
    pub module: Vec<String>,
    /// True if it may name "all of these": the rows above of which it is no part itself.
    pub all: bool,
    /// The other modules that it may name, as such paths.
    pub modules: Vec<Vec<String>>,
    /// The crates that it may name, as code spells them; `std` aside.
    pub crates: BTreeSet<String>,
    /// Forbidden acts, in words.
    pub never: String,
}

impl Row {
    /// The part's name in the table.
    pub fn name(&self) -> String {
        self.module.join("::")
    }
}

const ALL: &str = "all of these";

/// The rows in their order. Text in brackets explains, and binds no part.
pub fn rows(document: &str) -> Vec<Row> {
    let lines = document
        .lines()
        .skip_while(|line| !line.starts_with("| module"));
    let lines = lines.skip(2).take_while(|line| line.starts_with('|'));
    lines.map(row).collect()
}

fn row(line: &str) -> Row {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [module, modules, crates, never] = cells[..] else {
        panic!("a row of four columns: {line}");
    };
    let segments = |path: &str| path.split("::").map(str::to_owned).collect();
    let mut modules = listed(modules);
    Row {
        module: segments(module.trim_matches('`')),
        all: modules.remove(ALL),
        modules: modules.iter().map(|path| segments(path)).collect(),
        crates: listed(crates)
            .iter()
            .map(|name| name.replace('-', "_"))
            .filter(|name| name != "std")
            .collect(),
        never: never.to_owned(),
    }
}

/// The words between the commas, without text in brackets.
fn listed(cell: &str) -> BTreeSet<String> {
    let mut text = String::new();
    let mut depth = 0;
    for character in cell.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            other if depth == 0 => text.push(other),
            _ => {}
        }
    }
    let words = text.split(',').map(|word| word.trim().trim_matches('`'));
    let words = words.filter(|word| !word.is_empty() && *word != "–");
    words.map(str::to_owned).collect()
}
