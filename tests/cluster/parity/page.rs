//! The table in `docs/src/connection.md` is made of the cases.

use std::{env, fs, path::Path};

use super::{
    case::{Case, Expected, Outcome},
    credentials, files, plugins, preferences, proxies, servers,
};

const BEGIN: &str = "<!-- made of the cases of the test: begin -->\n";
const END: &str = "<!-- made of the cases of the test: end -->\n";

/// Subjects, the tests that hold them, and their cases.
const SUBJECTS: [(&str, &str, &[Case]); 6] = [
    (
        "Kubeconfig, flags, and pods",
        "files::kubeconfigs_and_flags_choose_as_for_kubectl",
        files::CASES,
    ),
    (
        "Credentials and impersonation",
        "credentials::user_is_the_same_as_for_kubectl",
        credentials::CASES,
    ),
    (
        "Credential plugins",
        "plugins::plugins_are_run_as_kubectl_runs_them",
        plugins::CASES,
    ),
    (
        "Preferences (`kuberc`)",
        "preferences::plugins_that_kubectl_may_not_run_are_not_run",
        preferences::CASES,
    ),
    (
        "Servers and their certificates",
        "servers::servers_are_trusted_as_kubectl_trusts_them",
        servers::CASES,
    ),
    (
        "Proxies",
        "proxies::proxy_is_the_same_as_for_kubectl",
        proxies::CASES,
    ),
];

#[test]
fn table_of_the_page_is_that_of_the_cases() {
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
    let mut text = String::new();
    for (subject, test, cases) in SUBJECTS {
        text.push_str(&format!("\n### {subject}\n\nTest: `parity::{test}`\n\n"));
        text.push_str("| case | kubectl | this program |\n|---|---|---|\n");
        for case in cases {
            let (kubectl, plugin) = match case.expected {
                Expected::Works => ("works".to_owned(), "works, as the same user".to_owned()),
                Expected::Refused => ("refuses".to_owned(), "refuses".to_owned()),
                Expected::Waits => (
                    "waits".to_owned(),
                    "waits, and prints what it waits for".to_owned(),
                ),
                Expected::Differs {
                    kubectl,
                    plugin,
                    why,
                } => (
                    word(kubectl).to_owned(),
                    format!("**{}**: {why}", word(plugin)),
                ),
            };
            text.push_str(&format!("| {} | {kubectl} | {plugin} |\n", case.what));
        }
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
