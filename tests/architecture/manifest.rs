//! The dependencies that Cargo.toml names.

use std::collections::BTreeSet;

const MANIFEST: &str = include_str!("../../Cargo.toml");

/// Those of the program, as code spells them.
pub fn dependencies() -> BTreeSet<String> {
    named_in(|section| section == "dependencies" || section.ends_with(".dependencies"))
}

fn named_in(wanted: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut section = "";
    let mut names = BTreeSet::new();
    for line in MANIFEST.lines() {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']');
        } else if wanted(section)
            && !line.starts_with('#')
            && let Some((name, _)) = line.split_once(" =")
        {
            names.insert(name.replace('-', "_"));
        }
    }
    assert!(!names.is_empty(), "Cargo.toml has dependencies");
    names
}
