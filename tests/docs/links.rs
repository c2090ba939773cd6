//! Does every link lead somewhere?
//!
//! Those inside the repository are followed, with their anchors. External addresses are not requested: only
//! their form is checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::files::{every_page, pages_of_the_book};
use crate::page::{options, root};

/// Where the links and pictures of a page lead.
fn links(text: &str) -> Vec<String> {
    let events = Parser::new_ext(text, options());
    let places = events.filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.to_string())
        }
        _ => None,
    });
    places.collect()
}

/// The anchors of a page's headings, as GitHub and the book make them.
fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, options()) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                let before = times.entry(anchor.clone()).or_default();
                found.push(match *before {
                    0 => anchor,
                    before => format!("{anchor}-{before}"),
                });
                *before += 1;
            }
            _ => {}
        }
    }
    found
}

fn anchor(heading: &str) -> String {
    let kept = heading
        .trim()
        .chars()
        .filter(|it| it.is_alphanumeric() || [' ', '-', '_'].contains(it));
    kept.map(|it| if it == ' ' { '-' } else { it })
        .collect::<String>()
        .to_lowercase()
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => assert!(plain.pop(), "{} leads out", path.display()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Fault of a link of this page, if there is one.
fn wrong(page: &str, link: &str) -> Option<String> {
    if link.contains("://") {
        let address: Result<http::Uri, _> = link.parse();
        let is_well_formed = address.is_ok_and(|address| {
            address.scheme_str() == Some("https")
                && address.host().is_some_and(|it| it.contains('.'))
        });
        return (!is_well_formed).then(|| "no address".to_owned());
    }
    let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() {
        PathBuf::from(page)
    } else {
        plain(&Path::new(page).parent().unwrap().join(path))
    };
    if page.starts_with("docs/src/") && !target.starts_with("docs/src") {
        return Some("the book does not have it".to_owned());
    }
    if !root().join(&target).exists() {
        return Some("no such file".to_owned());
    }
    if fragment.is_empty() {
        return None;
    }
    (!has_anchor(&target, fragment)).then(|| "no such heading".to_owned())
}

/// True if a file has that anchor. It is read once: hundreds of links lead to the same pages.
fn has_anchor(file: &Path, fragment: &str) -> bool {
    static KNOWN: Mutex<BTreeMap<PathBuf, BTreeSet<String>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let anchors = known.entry(file.to_owned()).or_insert_with(|| {
        let text = fs::read_to_string(root().join(file)).unwrap();
        anchors(&text).into_iter().collect()
    });
    anchors.contains(fragment)
}

#[test]
fn every_link_leads_somewhere() {
    let mut followed = 0;
    let mut found = Vec::new();
    for page in every_page() {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        for link in links(&text) {
            followed += 1;
            found.extend(wrong(&page, &link).map(|why| format!("{page}: {link}: {why}")));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
    assert!(followed > 50, "only {followed} links");
}

#[test]
fn every_page_of_the_book_is_in_its_contents() {
    let summary = fs::read_to_string(root().join("docs/src/SUMMARY.md")).unwrap();
    let mut listed: Vec<String> = links(&summary);
    listed.push("SUMMARY.md".to_owned());
    listed.sort();
    let pages = pages_of_the_book().into_iter();
    let pages: Vec<String> = pages
        .map(|page| page.trim_start_matches("docs/src/").to_owned())
        .collect();
    assert_eq!(listed, pages);
}
