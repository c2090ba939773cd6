//! Names that code uses.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

/// A path as it is written, without generic arguments: `["crate", "model", "Pod"]`.
pub type Name = Vec<String>;

/// Every path that the file names: in imports, grouped or renamed or not, in code, and in arguments of macros
/// and attributes.
pub fn names(file: &syn::File) -> BTreeSet<Name> {
    let mut names = Names::default();
    names.visit_file(file);
    names.found
}

/// The paths of an import, with the name that each has here.
pub fn imported(tree: &syn::UseTree) -> Vec<(Name, String)> {
    match tree {
        syn::UseTree::Path(path) => {
            let mut found = imported(&path.tree);
            for (name, here) in &mut found {
                name.insert(0, path.ident.to_string());
                if here.is_empty() {
                    *here = path.ident.to_string();
                }
            }
            found
        }
        // `use a::{self}` names `a` itself.
        syn::UseTree::Name(name) if name.ident == "self" => vec![(Vec::new(), String::new())],
        syn::UseTree::Name(name) => vec![(vec![name.ident.to_string()], name.ident.to_string())],
        syn::UseTree::Rename(name) if name.ident == "self" => {
            vec![(Vec::new(), name.rename.to_string())]
        }
        syn::UseTree::Rename(name) => {
            vec![(vec![name.ident.to_string()], name.rename.to_string())]
        }
        syn::UseTree::Glob(_) => vec![(Vec::new(), "*".to_owned())],
        syn::UseTree::Group(group) => group.items.iter().flat_map(imported).collect(),
    }
}

#[derive(Default)]
struct Names {
    found: BTreeSet<Name>,
}

impl Names {
    /// Paths among tokens, which have no other form.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Name = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.end(&mut path);
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
                other => {
                    self.end(&mut path);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.tokens(group.stream());
                    }
                }
            }
        }
        self.end(&mut path);
    }

    fn end(&mut self, path: &mut Name) {
        if path.len() > 1 {
            self.found.insert(path.clone());
        }
        path.clear();
    }
}

impl<'a> Visit<'a> for Names {
    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        let imported = imported(&item.tree);
        self.found
            .extend(imported.into_iter().map(|(name, _)| name));
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let name: Name = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        // A name alone is something that an import has brought, or that is defined here.
        if name.len() > 1 {
            self.found.insert(name);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'a syn::Macro) {
        self.tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }

    fn visit_meta_list(&mut self, list: &'a syn::MetaList) {
        self.tokens(list.tokens.clone());
        visit::visit_meta_list(self, list);
    }
}
