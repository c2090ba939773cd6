//! The files of the crate, as syntax.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use syn::visit_mut::{self, VisitMut};

use super::names::{Name, imported, names};
use super::weight::{is_test, read, under};

/// The folder of the project.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The sources of the engine, whose modules are `model` and `engine` to the program.
const ENGINE: &str = "crates/engine/src";

/// Facts about a file of the program, its tests left aside.
pub struct Source {
    /// Below the project's folder.
    pub path: PathBuf,
    /// The module that the file is: `["commands", "list"]`; empty for the root of the library.
    pub module: Vec<String>,
    /// Number of lines of code, comments and tests left aside.
    pub lines: usize,
    /// Every path that it names.
    pub names: BTreeSet<Name>,
    /// Imports and exports, with the name that each has here.
    pub imports: Vec<(Name, String)>,
}

/// Every file of the program but those that are tests.
pub fn sources() -> &'static [Source] {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
        let paths = ["src", ENGINE].map(|folder| under(root(), folder, &["rs"]));
        let mut paths = paths.concat();
        paths.sort_unstable();
        let paths = paths.into_iter().filter(|path| !is_test(path));
        let sources = paths.map(|path| Source::of(&read(root(), &path), path.into()));
        sources.collect()
    });
    &SOURCES
}

impl Source {
    /// The file with this text.
    pub fn of(text: &str, within: PathBuf) -> Self {
        let mut syntax =
            syn::parse_file(text).unwrap_or_else(|error| panic!("{}: {error}", within.display()));
        WithoutTests.visit_file_mut(&mut syntax);
        let imports = syntax.items.iter().filter_map(|item| match item {
            syn::Item::Use(item) => Some(imported(&item.tree)),
            _ => None,
        });
        Self {
            names: names(&syntax),
            imports: imports.flatten().collect(),
            module: module_of(&within),
            lines: lines_of_code(text),
            path: within,
        }
    }

    /// True if this is a file of documentation and exports.
    pub fn is_root(&self) -> bool {
        self.path.ends_with("mod.rs") || self.path.ends_with("lib.rs")
    }
}

fn module_of(path: &Path) -> Vec<String> {
    let of_engine = path.strip_prefix(ENGINE).ok();
    let within = of_engine.or_else(|| path.strip_prefix("src").ok());
    let within = within.unwrap_or(path).with_extension("");
    let parts = within
        .iter()
        .map(|part| part.to_string_lossy().into_owned());
    let mut module: Vec<String> = parts.collect();
    if module.last().is_some_and(|last| last == "mod") || module == ["lib"] {
        module.pop();
    }
    if of_engine.is_some() && module.first().is_none_or(|first| first != "model") {
        module.insert(0, "engine".to_owned());
    }
    module
}

/// Up to the tests at the end.
fn lines_of_code(text: &str) -> usize {
    let code = text.split("#[cfg(test)]\nmod tests {").next();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    code.unwrap_or_default().lines().filter(is_code).count()
}

/// Removes items of tests.
struct WithoutTests;

impl VisitMut for WithoutTests {
    fn visit_file_mut(&mut self, file: &mut syn::File) {
        file.items.retain(|item| !is_for_tests(attributes(item)));
        visit_mut::visit_file_mut(self, file);
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        item.items.retain(|item| match item {
            syn::ImplItem::Fn(function) => !is_for_tests(&function.attrs),
            _ => true,
        });
        visit_mut::visit_item_impl_mut(self, item);
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Ident>()
                .is_ok_and(|condition| condition == "test")
    })
}

/// The attributes of an item, of the kinds that occur.
fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
