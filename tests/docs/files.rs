//! Files of the documentation.

use std::fs;
use std::path::{Path, PathBuf};

use crate::page::root;

/// Folders without documentation.
const ELSEWHERE: [&str; 4] = [".git", "target", "node_modules", "runs"];

/// Every Markdown file of the repository, by its path there.
pub fn every_page() -> Vec<String> {
    let mut found = Vec::new();
    collect(root(), &mut found);
    found.sort();
    found
}

/// The pages of the book.
pub fn pages_of_the_book() -> Vec<String> {
    let mut pages = every_page();
    pages.retain(|path| path.starts_with("docs/src/"));
    pages
}

fn collect(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() && !ELSEWHERE.contains(&name.as_str()) {
            collect(&path, found);
        } else if name.ends_with(".md") {
            let path = path.strip_prefix(root()).unwrap();
            found.push(path.to_str().unwrap().to_owned());
        }
    }
}
