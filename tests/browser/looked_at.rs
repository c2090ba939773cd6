//! Pages as a reader sees them.

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

use super::chromium::{Chromium, Look};
use super::made::{ASKED, Pages, hostile};

/// Script that lists the faults of the open page; empty if there are none.
const FAULTS: &str = include_str!("faults.js");

const LOOK: Look = Look {
    width: 1_600,
    scheme: "light",
    medium: "screen",
    scripts: true,
};

fn looks() -> Vec<Look> {
    let mut looks = Vec::new();
    for width in [400, 1_600] {
        for scheme in ["light", "dark"] {
            looks.push(Look {
                width,
                scheme,
                ..LOOK
            });
        }
    }
    // The narrower of the usual sheets, turned as the page asks for, without its margins.
    looks.push(Look {
        width: 980,
        medium: "print",
        ..LOOK
    });
    looks
}

/// Checks a page with all settings, and keeps pictures in the folder of KEEP_PAGES.
fn assert_readable(browser: &mut Chromium, file: &Path) {
    for look in looks() {
        browser.open(file, look);
        let faults = browser.evaluate(FAULTS);
        let what = format!("{} {look:?}", file.display());
        assert_eq!(faults, Value::Array(Vec::new()), "{what}");
        assert!(browser.said().is_empty(), "{what}: {:?}", browser.said());
        let own = format!("file://{}", file.display());
        assert_eq!(browser.requested(), [own.as_str()], "{what}");
        if let Some(kept) = env::var_os("KEEP_PAGES").map(PathBuf::from) {
            fs::create_dir_all(&kept).unwrap();
            let name = file.file_stem().unwrap().to_string_lossy();
            let Look {
                width,
                scheme,
                medium,
                ..
            } = look;
            browser.photograph(&kept.join(format!("{name}-{width}-{scheme}-{medium}.png")));
            fs::copy(file, kept.join(format!("{name}.html"))).unwrap();
        }
    }
}

#[test]
fn every_page_is_readable_and_quiet_and_asks_nobody_for_anything() {
    let pages = Pages::new();
    let mut browser = Chromium::start();
    for (name, arguments) in ASKED {
        assert_readable(&mut browser, &pages.of_the_example(name, arguments));
    }
}

#[test]
fn no_name_takes_a_page_over_or_makes_it_too_wide() {
    let pages = Pages::new();
    let mut browser = Chromium::start();
    let objects = hostile(12);
    let file = pages.of("hostile-preview", "preview --all-devices", &objects);
    assert_readable(&mut browser, &file);
    let alien =
        "[document.scripts.length, document.images.length, document.title.startsWith('taken')]";
    assert_eq!(browser.evaluate(alien), serde_json::json!([0, 0, false]));
    // Effect of the names if they were markup: the policy of the page prevents it, too.
    let file = pages.of("hostile-preview", "preview --all-devices", &objects);
    let unescaped = fs::read_to_string(&file).unwrap();
    let unescaped = unescaped
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'");
    fs::write(&file, unescaped).unwrap();
    browser.open(&file, LOOK);
    assert_ne!(browser.evaluate("document.images.length"), 0);
    assert_ne!(browser.evaluate("document.title"), "taken");
    let asked = browser.requested();
    assert!(
        !asked.iter().any(|address| address.starts_with("http")) || blocked(&browser),
        "{asked:?}"
    );
}

/// True if the browser says that it kept the page from loading something.
fn blocked(browser: &Chromium) -> bool {
    let said = browser.said();
    said.iter()
        .any(|entry| entry.to_string().contains("Content Security Policy"))
}

#[test]
fn a_page_of_two_thousand_pods_is_readable() {
    let pages = Pages::new();
    let mut browser = Chromium::start();
    let file = pages.of("many", "preview --all-devices", &super::made::many(2_000));
    assert_readable(&mut browser, &file);
    browser.open(&file, LOOK);
    let rows = browser.evaluate("document.querySelectorAll('tbody tr').length");
    assert_eq!(rows, 2_000);
}
