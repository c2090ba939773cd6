//! Files behind module paths.

use std::collections::{BTreeMap, BTreeSet};

use super::names::Name;
use super::source::Source;

/// The modules of the crate, and the exports of their roots.
pub struct Layout<'a> {
    sources: BTreeMap<&'a [String], &'a Source>,
    /// Exports of `mod.rs`: by module, the path behind every name.
    exports: BTreeMap<&'a [String], &'a [(Name, String)]>,
}

impl<'a> Layout<'a> {
    /// Of these files.
    pub fn new(sources: &'a [Source]) -> Self {
        let roots = sources.iter().filter(|source| source.is_root());
        Self {
            exports: roots
                .map(|source| (source.module.as_slice(), source.imports.as_slice()))
                .collect(),
            sources: sources
                .iter()
                .map(|source| (source.module.as_slice(), source))
                .collect(),
        }
    }

    /// A path inside the crate, from the crate's root; nothing for a path that leads elsewhere.
    pub fn absolute(&self, module: &[String], name: &[String]) -> Option<Name> {
        let (first, rest) = name.split_first()?;
        match first.as_str() {
            "crate" if is_of_engine(module) => match rest.first() {
                Some(first) if first == "model" => Some(rest.to_vec()),
                _ => self.continued(vec!["engine".to_owned()], rest),
            },
            "crate" | "kubectl_devicetaint" => Some(rest.to_vec()),
            "self" => self.continued(module.to_vec(), rest),
            "super" => {
                let (_, parent) = module.split_last()?;
                self.absolute_from(parent, rest)
            }
            _ => {
                let child = [module, std::slice::from_ref(first)].concat();
                self.sources
                    .contains_key(child.as_slice())
                    .then(|| [module, name].concat())
            }
        }
    }

    fn absolute_from(&self, module: &[String], rest: &[String]) -> Option<Name> {
        match rest.first().map(String::as_str) {
            Some("super") => self.absolute(module, rest),
            _ => self.continued(module.to_vec(), rest),
        }
    }

    fn continued(&self, mut module: Name, rest: &[String]) -> Option<Name> {
        module.extend_from_slice(rest);
        Some(module)
    }

    /// The module of the file in which the thing at the absolute path is defined.
    pub fn definition(&self, path: &[String]) -> &'a [String] {
        let (length, (&module, source)) = (0..=path.len())
            .rev()
            .find_map(|length| {
                let found = self.sources.get_key_value(&path[..length])?;
                Some((length, found))
            })
            .expect("the root of the library is a file");
        let Some(wanted) = path.get(length).filter(|_| source.is_root()) else {
            return module;
        };
        let exports = self.exports.get(module).copied().unwrap_or_default();
        let named = exports.iter().find(|(_, name)| name == wanted);
        let behind = named.and_then(|(path, _)| self.absolute(module, path));
        // An export of itself would recurse forever.
        match behind.filter(|behind| behind != path) {
            Some(behind) => self.definition(&behind),
            None => module,
        }
    }

    /// Files that each file names, exports followed to where a thing is defined. Roots export and use
    /// nothing, so they are left out.
    pub fn uses(&self) -> BTreeMap<&'a [String], BTreeSet<&'a [String]>> {
        let files = self.sources.iter().filter(|(_, source)| !source.is_root());
        files
            .map(|(&module, source)| {
                let used = source
                    .names
                    .iter()
                    .filter_map(|name| self.absolute(module, name))
                    .map(|path| self.definition(&path))
                    .filter(|used| *used != module && !self.sources[used].is_root())
                    .collect();
                (module, used)
            })
            .collect()
    }
}

/// Uses between the folders of each folder. Files of one folder may use each other.
pub fn between_folders<'a>(
    uses: &BTreeMap<&'a [String], BTreeSet<&'a [String]>>,
) -> BTreeMap<&'a [String], BTreeSet<&'a [String]>> {
    let mut arrows: BTreeMap<&[String], BTreeSet<&[String]>> = BTreeMap::new();
    for (&from, used) in uses {
        for &to in used {
            let both = from.iter().zip(to);
            let common = both.take_while(|(one, other)| one == other).count();
            // Uses between rooms are checked against the table.
            if common > 0 && common + 1 < from.len().min(to.len()) {
                let siblings = [from, to].map(|module| &module[..=common]);
                arrows.entry(siblings[0]).or_default().insert(siblings[1]);
                arrows.entry(siblings[1]).or_default();
            }
        }
    }
    arrows
}

/// The groups of files of which each leads to every other.
pub fn circles<'a>(
    uses: &BTreeMap<&'a [String], BTreeSet<&'a [String]>>,
) -> Vec<BTreeSet<&'a [String]>> {
    let reached: BTreeMap<_, _> = uses
        .keys()
        .map(|&from| (from, reachable(uses, from)))
        .collect();
    let mut circles: Vec<BTreeSet<&[String]>> = Vec::new();
    for (&one, from_one) in &reached {
        let circle: BTreeSet<&[String]> = from_one
            .iter()
            .copied()
            .filter(|other| reached[other].contains(one))
            .collect();
        if !circle.is_empty() && !circles.contains(&circle) {
            circles.push(circle);
        }
    }
    circles
}

fn reachable<'a>(
    uses: &BTreeMap<&'a [String], BTreeSet<&'a [String]>>,
    from: &'a [String],
) -> BTreeSet<&'a [String]> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        for &used in &uses[file] {
            if reached.insert(used) {
                open.push(used);
            }
        }
    }
    reached
}

/// True for a module of the crate of the engine, in which `crate` is another root.
fn is_of_engine(module: &[String]) -> bool {
    let first = module.first().map(String::as_str);
    matches!(first, Some("engine" | "model"))
}
