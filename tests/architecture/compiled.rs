//! Which files does cargo compile?

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::source::{attributes, files, parsed, root};

/// Rust files of the project that no target leads to: nobody would notice what is wrong in them.
pub fn orphans() -> Vec<PathBuf> {
    let folders = ["src", "tests", "benches"].map(|folder| root().join(folder));
    let all: BTreeSet<PathBuf> = folders.iter().flat_map(|folder| files(folder)).collect();
    let mut reached = BTreeSet::new();
    for target in all.iter().filter(|path| is_target(path)) {
        follow(target, &mut reached);
    }
    all.difference(&reached).cloned().collect()
}

/// The files with which cargo begins: those of the crate, and `tests/NAME.rs` or `tests/NAME/main.rs`.
fn is_target(path: &Path) -> bool {
    let within = path.strip_prefix(root()).expect("below the project");
    let parts: Vec<_> = within.iter().map(|part| part.to_string_lossy()).collect();
    match &parts[..] {
        [src, file] if src == "src" => file == "lib.rs" || file == "main.rs",
        [_, _] => true,
        [tests, _, file] => tests == "tests" && file == "main.rs",
        _ => false,
    }
}

fn follow(path: &Path, reached: &mut BTreeSet<PathBuf>) {
    if !reached.insert(path.to_owned()) {
        return;
    }
    let folder = path.parent().expect("a folder");
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let below = match &*name {
        "mod" | "main" | "lib" => folder.to_owned(),
        // A target beside others has its modules beside itself, any other file in a folder of its name.
        _ if is_target(path) => folder.to_owned(),
        name => folder.join(name),
    };
    let places = Places { folder, below };
    follow_all(&parsed(path).items, &places, reached);
}

/// Where the modules of a file are looked for.
struct Places<'a> {
    /// The folder of the file, from which `#[path = "…"]` leads.
    folder: &'a Path,
    /// The folder of modules without it.
    below: PathBuf,
}

fn follow_all(items: &[syn::Item], places: &Places<'_>, reached: &mut BTreeSet<PathBuf>) {
    for item in items {
        let syn::Item::Mod(module) = item else {
            continue;
        };
        let name = module.ident.to_string();
        if let Some((_, items)) = &module.content {
            let inside = Places {
                below: places.below.join(&name),
                ..*places
            };
            follow_all(items, &inside, reached);
            continue;
        }
        let candidates = match named(attributes(item)) {
            Some(path) => vec![places.folder.join(path)],
            None => vec![
                places.below.join(format!("{name}.rs")),
                places.below.join(&name).join("mod.rs"),
            ],
        };
        let found = candidates.into_iter().find(|candidate| candidate.is_file());
        let found = found.unwrap_or_else(|| panic!("mod {name} in {}", places.below.display()));
        follow(&normal(&found), reached);
    }
}

/// The file that `#[path = "…"]` names.
fn named(attributes: &[syn::Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let syn::Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        let syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) = &pair.value
        else {
            return None;
        };
        pair.path.is_ident("path").then(|| text.value())
    })
}

/// Without `..`.
fn normal(path: &Path) -> PathBuf {
    path.canonicalize().expect("the file is there")
}
