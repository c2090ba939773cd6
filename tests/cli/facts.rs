//! Facts of the command line, one command a line in `facts.txt`.

use std::path::Path;
use std::thread;

use serde_json::{Value, json};

use super::harness::{EXAMPLE, Folder, devicetaint, example};
use crate::screen::assert_screen;

/// The command, with files instead of their short forms.
fn expanded(line: &str, folder: &Path) -> String {
    let words = line.split(' ').map(|word| {
        if let Some(name) = word.strip_prefix('@') {
            let file = format!("tests/data/reports/{name}.yaml");
            let ending = if Path::new(&file).is_file() {
                ""
            } else {
                ".gz"
            };
            return format!("--from {file}{ending}");
        }
        match word.strip_prefix("FROM") {
            Some("") => format!("--from {EXAMPLE}"),
            Some(kind) => format!("--from {}{kind}.json", folder.join("without").display()),
            None => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// A folder with the example without the objects of each kind that a row leaves out.
fn parts() -> Folder {
    let all: Value = serde_yaml::from_str(&example()).expect("YAML");
    let items = all["items"].as_array().expect("objects");
    let kinds = [
        "DeviceTaintRule",
        "PodDisruptionBudget",
        "ResourceClaim",
        "ResourceSlice",
    ];
    kinds.into_iter().fold(Folder::new(), |folder, kind| {
        let rest: Vec<&Value> = items.iter().filter(|item| item["kind"] != kind).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": rest});
        folder.with(&format!("without-{kind}.json"), list.to_string())
    })
}

/// Faults of a row.
fn wrong(row: &str, folder: &Path) -> Vec<String> {
    let mut cells = row.split(" | ");
    let line = expanded(cells.next().expect("a command"), folder);
    let as_json = |line: &str| {
        let format = if line.contains(" -o ") {
            ""
        } else {
            " -o json"
        };
        devicetaint(&format!("{line}{format}"))
    };
    let run = devicetaint(&line);
    let code = cells.next().and_then(|code| code.parse().ok());
    let mut wrong = Vec::new();
    if code.is_some_and(|code: i32| code != run.code) {
        wrong.push(format!("code {}", run.code));
    }
    let is_refusal = code.is_some_and(|code| [1, 2].contains(&code));
    if is_refusal && !(run.stdout.is_empty() && run.stderr.contains("error: ")) {
        wrong.push("no error alone".to_owned());
    }
    let shown = run.shown().split_whitespace().collect::<Vec<_>>().join(" ");
    for check in cells {
        let holds = if let Some(name) = check.strip_prefix("screen ") {
            assert_screen(name, &run.shown());
            true
        } else if let Some(text) = check.strip_prefix('+') {
            shown.contains(text)
        } else if let Some(text) = check.strip_prefix('-') {
            !shown.contains(text)
        } else if let Some(other) = check.strip_prefix("same as ") {
            let (one, other) = (as_json(&line), as_json(&expanded(other, folder)));
            (one.code, one.stdout) == (other.code, other.stdout)
        } else {
            let (pointer, value) = check.split_once(" = ").expect("a check");
            let expected: Value = serde_json::from_str(value).expect("JSON");
            *as_json(&line)
                .json()
                .pointer(pointer)
                .unwrap_or(&Value::Null)
                == expected
        };
        if !holds {
            wrong.push(check.to_owned());
        }
    }
    if wrong.is_empty() {
        return wrong;
    }
    vec![format!("{row}\n  {wrong:?}\n{}", run.shown())]
}

#[test]
fn every_command_has_its_exit_code_and_facts() {
    let parts = parts();
    let folder = parts.path("");
    let is_row = |row: &&str| !row.is_empty() && !row.starts_with('#');
    let text = std::fs::read_to_string("tests/cli/facts.txt").expect("the facts");
    let rows: Vec<&str> = text.lines().filter(is_row).collect();
    let wrong: Vec<String> = thread::scope(|scope| {
        let lanes = rows.chunks(rows.len().div_ceil(4)).map(|rows| {
            let folder = &folder;
            scope.spawn(move || {
                rows.iter()
                    .flat_map(|row| wrong(row, folder))
                    .collect::<Vec<_>>()
            })
        });
        let lanes: Vec<_> = lanes.collect();
        let lanes = lanes.into_iter().map(|lane| lane.join().expect("no panic"));
        lanes.flatten().collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
