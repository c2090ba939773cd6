//! A page of the book as browsers get it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A page, with the path of its file and what its fragments can be.
pub struct Html {
    pub path: PathBuf,
    pub text: String,
    ids: BTreeSet<String>,
}

impl Html {
    /// Every page below `folder`.
    pub fn all(folder: &Path) -> Vec<Self> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder.canonicalize().unwrap()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(Self::all(&path));
            } else if path.extension().is_some_and(|it| it == "html") {
                let text = fs::read_to_string(&path).unwrap();
                let ids = tags(&text).filter_map(|tag| attribute(tag, "id"));
                let ids = ids.collect();
                found.push(Self { path, text, ids });
            }
        }
        found
    }

    /// What a browser loads with the page: scripts, styles, pictures.
    pub fn loaded(&self) -> Vec<String> {
        let loading = tags(&self.text).filter(|tag| {
            ["script", "link", "img", "iframe", "source"]
                .iter()
                .any(|name| is(tag, name))
        });
        loading
            .flat_map(|tag| [attribute(tag, "src"), attribute(tag, "href")])
            .flatten()
            .collect()
    }

    /// Where it leads to within the book.
    pub fn links(&self) -> Vec<String> {
        let links = tags(&self.text).filter(|tag| is(tag, "a"));
        let places = links.filter_map(|tag| attribute(tag, "href"));
        places
            .filter(|place| !place.contains("://") && !place.starts_with("mailto:"))
            .collect()
    }

    /// Whether a link of this page leads to something in the book, which is in `folder`.
    pub fn reaches(&self, link: &str, folder: &Path, pages: &[Self]) -> bool {
        let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
        let target = if path.is_empty() {
            self.path.clone()
        } else {
            self.path.parent().unwrap().join(path)
        };
        let Ok(target) = target.canonicalize() else {
            return false;
        };
        if !target.starts_with(folder.canonicalize().unwrap()) {
            return false;
        }
        let page = pages.iter().find(|page| page.path == target);
        fragment.is_empty() || page.is_some_and(|page| page.ids.contains(fragment))
    }
}

/// The opening tags, without their brackets.
fn tags(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split('<').skip(1);
    parts.filter_map(|part| part.split_once('>').map(|(tag, _)| tag))
}

fn is(tag: &str, name: &str) -> bool {
    tag.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    let (value, _) = rest.split_once('"')?;
    Some(value.replace("&amp;", "&"))
}
