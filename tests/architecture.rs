//! Is the house in order? ARCHITECTURE.md as tests.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test or benchmark, not the program"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What one module of the crate may name.
struct Room {
    module: &'static str,
    modules: &'static [&'static str],
    crates: &'static [&'static str],
}

/// Keep in step with the table of ARCHITECTURE.md.
const ROOMS: &[Room] = &[
    Room {
        module: "model",
        modules: &[],
        crates: &["jiff"],
    },
    Room {
        module: "naming",
        modules: &["model"],
        crates: &["sha2", "strsim", "thiserror"],
    },
    Room {
        module: "engine",
        modules: &["model"],
        crates: &[
            "cel_interpreter",
            "foldhash",
            "jiff",
            "kube_cel",
            "thiserror",
        ],
    },
    Room {
        module: "wire",
        modules: &["model"],
        crates: &[
            "foldhash",
            "jiff",
            "prost",
            "serde",
            "serde_json",
            "serde_path_to_error",
            "serde_yaml",
            "thiserror",
        ],
    },
    Room {
        module: "cluster",
        modules: &["model", "naming", "wire"],
        crates: &[
            "base64",
            "bytes",
            "flate2",
            "futures",
            "http",
            "http_body_util",
            "hyper_util",
            "jiff",
            "k8s_openapi",
            "kube",
            "pem",
            "secrecy",
            "serde",
            "serde_json",
            "serde_yaml",
            "sha2",
            "strsim",
            "thiserror",
            "tokio",
            "tower",
            "tower_http",
        ],
    },
    Room {
        module: "report",
        modules: &["engine", "model", "naming"],
        crates: &[
            "jiff",
            "schemars",
            "serde",
            "serde_json",
            "sha2",
            "strsim",
            "thiserror",
        ],
    },
    Room {
        module: "decide",
        modules: &["engine", "error", "model", "naming", "report"],
        crates: &["jiff", "serde_json"],
    },
    Room {
        module: "render",
        modules: &["output", "report"],
        crates: &[
            "comfy_table",
            "serde",
            "serde_json",
            "serde_yaml",
            "thiserror",
        ],
    },
    Room {
        module: "output",
        modules: &[],
        crates: &["anstream", "dialoguer", "indicatif", "thiserror"],
    },
    Room {
        module: "error",
        modules: &["output"],
        crates: &["anyhow"],
    },
    Room {
        module: "main",
        modules: &["commands", "error", "output"],
        crates: &["kubectl_devicetaint", "tokio"],
    },
];

/// Lines of code a file may have, comments and its own tests left aside.
const LONGEST_FILE: usize = 500;

struct Source {
    path: PathBuf,
    module: String,
    text: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("src can be listed") {
            let path = entry.expect("src can be listed").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let within = path.strip_prefix(&root).expect("below src");
            let first = within.iter().next().expect("a name").to_string_lossy();
            sources.push(Source {
                module: first.trim_end_matches(".rs").to_owned(),
                text: fs::read_to_string(&path).expect("sources are text"),
                path: within.to_owned(),
            });
        }
    }
    sources.sort_by(|left, right| left.path.cmp(&right.path));
    sources
}

/// The code without comments, and without the tests at its end.
fn code(source: &Source) -> String {
    let is_test =
        source.path.iter().any(|part| part == "tests") || source.path.ends_with("tests.rs");
    if is_test {
        return String::new();
    }
    let code = source
        .text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The names that stand before `::` in the code, paths' own beginnings only.
fn roots(code: &str) -> BTreeSet<String> {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices("::")
        .filter_map(|(place, _)| {
            let before = &code[..place];
            let start = before
                .rfind(|character| !is_name(character))
                .map_or(0, |found| found + 1);
            let preceded = before[..start].ends_with("::");
            (!preceded && start < place).then(|| before[start..].to_owned())
        })
        .collect()
}

/// The modules of the crate that the code names by `crate::`.
fn modules(code: &str) -> BTreeSet<String> {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices("crate::")
        .filter_map(|(place, found)| {
            let rest = &code[place + found.len()..];
            let end = rest
                .find(|character| !is_name(character))
                .unwrap_or(rest.len());
            (end > 0).then(|| rest[..end].to_owned())
        })
        .collect()
}

/// Every crate that Cargo.toml names, the way code spells it.
fn dependencies() -> BTreeSet<String> {
    let manifest = include_str!("../Cargo.toml");
    let mut section = "";
    let mut names = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]"
            && let Some((name, _)) = line.split_once(" =")
        {
            names.insert(name.replace('-', "_"));
        }
    }
    assert!(names.contains("serde_json"), "{names:?}");
    names
}

#[test]
fn data_flows_one_way() {
    let dependencies = dependencies();
    let mut trespasses = Vec::new();
    for source in sources() {
        let Some(room) = ROOMS.iter().find(|room| room.module == source.module) else {
            assert!(
                ["commands", "lib"].contains(&source.module.as_str()),
                "{} has no row in the table of the architecture",
                source.path.display()
            );
            continue;
        };
        let code = code(&source);
        for module in modules(&code) {
            if module != room.module && !room.modules.contains(&module.as_str()) {
                trespasses.push(format!("{} names crate::{module}", source.path.display()));
            }
        }
        for root in roots(&code) {
            if dependencies.contains(&root) && !room.crates.contains(&root.as_str()) {
                trespasses.push(format!("{} names {root}", source.path.display()));
            }
        }
    }
    assert!(trespasses.is_empty(), "{trespasses:#?}");
}

#[test]
fn table_of_the_architecture_document_names_the_same_modules() {
    let document = include_str!("../ARCHITECTURE.md");
    for room in ROOMS {
        let row = document
            .lines()
            .find(|line| line.starts_with(&format!("| `{}` |", room.module)))
            .unwrap_or_else(|| panic!("{} has no row in ARCHITECTURE.md", room.module));
        for name in room.modules {
            assert!(row.contains(name), "{} in the row of {}", name, room.module);
        }
    }
}

#[test]
fn only_commands_know_the_command_line() {
    for source in sources()
        .iter()
        .filter(|source| source.module != "commands")
    {
        assert!(
            !roots(&code(source)).contains("clap"),
            "{}",
            source.path.display()
        );
    }
}

#[test]
fn async_stays_in_cluster_and_commands() {
    for source in sources() {
        if ["cluster", "commands", "main"].contains(&source.module.as_str()) {
            continue;
        }
        assert!(
            !code(&source).contains("async "),
            "{}",
            source.path.display()
        );
    }
}

#[test]
fn main_is_short() {
    let main = sources()
        .into_iter()
        .find(|source| source.module == "main")
        .expect("there is one");
    assert!(main.text.lines().count() <= 30);
}

#[test]
fn module_roots_hold_documentation_and_exports_only() {
    for source in sources()
        .iter()
        .filter(|source| source.path.ends_with("mod.rs"))
    {
        assert!(
            source.path.iter().any(|part| part == "tests") || source.text.starts_with("//!"),
            "{} begins with what it is for",
            source.path.display()
        );
        for keyword in [
            "fn ", "struct ", "enum ", "impl ", "impl<", "trait ", "const ",
        ] {
            let found = code(source).lines().any(|line| {
                line.starts_with(keyword) || line.starts_with(&format!("pub {keyword}"))
            });
            assert!(!found, "{} has a {keyword}", source.path.display());
        }
    }
}

#[test]
fn files_stay_readable() {
    let long: Vec<String> = sources()
        .iter()
        .map(|source| (source, code(source).lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(source, lines)| format!("{}: {lines}", source.path.display()))
        .collect();
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn the_scanner_sees_what_it_is_meant_to_see() {
    let code = "use std::fmt;\nuse crate::model::{Pod, Uid};\nlet x = serde_json::to_string(kube::Client::new());";
    assert_eq!(modules(code), BTreeSet::from(["model".to_owned()]));
    let roots = roots(code);
    assert!(roots.contains("serde_json") && roots.contains("kube") && !roots.contains("Client"));
}
