//! The table in `docs/src/connection.md` has the cases in which this program differs from kubectl.

use std::{env, fs, path::Path};

use super::{
    case::{Case, Expected, Outcome},
    credentials, files, plugins, preferences, proxies, servers,
};

const BEGIN: &str = "<!-- made of the cases of the test: begin -->\n";
const END: &str = "<!-- made of the cases of the test: end -->\n";

const SUBJECTS: [&[Case]; 6] = [
    files::CASES,
    credentials::CASES,
    plugins::CASES,
    preferences::CASES,
    servers::CASES,
    proxies::CASES,
];

#[test]
fn table_of_the_page_has_the_differences_from_kubectl() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/connection.md");
    let page = fs::read_to_string(&path).expect("the page");
    let (before, rest) = page.split_once(BEGIN).expect("the beginning of the table");
    let (_, after) = rest.split_once(END).expect("the end of the table");
    let made = format!("{before}{BEGIN}{}{END}{after}", table());
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, &made).expect("the page can be written");
    }
    let written = fs::read_to_string(&path).expect("the page");
    assert!(
        written == made,
        "docs/src/connection.md is out of date; write it anew: \
         UPDATE_GENERATED=1 cargo test --test full parity::page"
    );
}

fn table() -> String {
    let mut text = "\n| case | kubectl | this program |\n|---|---|---|\n".to_owned();
    for case in SUBJECTS.into_iter().flatten() {
        let Expected::Differs {
            kubectl,
            plugin,
            why,
        } = case.expected
        else {
            continue;
        };
        let (kubectl, plugin) = (word(kubectl), word(plugin));
        text.push_str(&format!(
            "| {} | {kubectl} | **{plugin}**: {why} |\n",
            case.what
        ));
    }
    text.push('\n');
    text
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Works => "works",
        Outcome::Refused => "refuses",
        Outcome::Waits => "waits",
    }
}
