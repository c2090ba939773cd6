//! Do summaries say something?

use std::fs;

use super::source::{files, root};

/// Summaries that mean nothing without the one before them: `FILE:LINE: TEXT`.
pub fn summaries_that_lean_on_others() -> Vec<String> {
    let folders = ["src", "tests", "benches"].map(|folder| root().join(folder));
    let mut found = Vec::new();
    for path in folders.iter().flat_map(|folder| files(folder)) {
        let text = fs::read_to_string(&path).expect("sources are text");
        let mut before = "";
        for (number, line) in text.lines().enumerate() {
            let is_first = !is_documentation(before);
            if is_first && is_documentation(line) && leans(line) {
                let path = path.strip_prefix(root()).expect("below the project");
                found.push(format!("{}:{}: {line}", path.display(), number + 1));
            }
            before = line;
        }
    }
    found
}

fn is_documentation(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("///") || line.starts_with("//!")
}

fn leans(line: &str) -> bool {
    let text = line
        .trim_start()
        .trim_start_matches(['/', '!'])
        .trim_start();
    text.starts_with("The same")
}
