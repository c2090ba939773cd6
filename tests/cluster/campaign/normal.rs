//! Output, without the parts that differ from run to run.

use serde_json::Value;

/// Text with times, durations and white space made equal.
pub fn text(shown: &str) -> String {
    let lines = shown.lines().map(|line| {
        let words: Vec<String> = line.split_whitespace().map(word).collect();
        in_one_order(words.join(" "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A row with its causes in one order: which of two is the earlier may differ by the second in which
/// the rule was made.
fn in_one_order(row: String) -> String {
    let rule_first = row.split_once(", this taint").and_then(|(row, behind)| {
        let (front, rule) = row.rsplit_once(" rule ")?;
        Some(format!("{front} this taint, rule {rule}{behind}"))
    });
    rule_first.unwrap_or(row)
}

/// `TIME` or `LONG` for a time or a duration, with any text around it.
fn word(word: &str) -> String {
    let is_edge = |c: char| !c.is_ascii_alphanumeric();
    let core = word.trim_matches(is_edge);
    if is_time(core) {
        word.replace(core, "TIME")
    } else if is_duration(core) {
        word.replace(core, "LONG")
    } else {
        word.to_owned()
    }
}

fn is_time(word: &str) -> bool {
    word.len() >= 20
        && word.ends_with('Z')
        && word.as_bytes()[10] == b'T'
        && word.starts_with(|c: char| c.is_ascii_digit())
}

fn is_duration(word: &str) -> bool {
    let mut digits = false;
    let mut units = 0;
    for character in word.chars() {
        match character {
            '0'..='9' | '.' => digits = true,
            's' | 'm' | 'h' | 'd' | 'y' if digits || units > 0 => {
                units += 1;
                digits = false;
            }
            _ => return false,
        }
    }
    units > 0 && !digits
}

/// Fields that a server creates anew with every object, and times.
const PASSING: [&str; 6] = [
    "devicetaint.dev/changed-by-run",
    "devicetaint.dev/created-by-run",
    "managedFields",
    "resourceVersion",
    "resourceVersions",
    "uid",
];

/// A document without values that differ from run to run, and of a list only the objects that name one of `ours`.
fn document(mut value: Value, ours: &[&str]) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.remove("metadata");
        if let Some(Value::Array(items)) = object.get_mut("items") {
            items.retain(|item| {
                let text = item.to_string();
                ours.iter().any(|name| text.contains(name))
            });
        }
    }
    without_passing(&mut value);
    value
}

fn without_passing(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields
                .retain(|name, _| !name.ends_with("Seconds") && !PASSING.contains(&name.as_str()));
            fields.values_mut().for_each(without_passing);
            if let Some(Value::Array(causes)) = fields.get_mut("causes") {
                causes.sort_by_key(Value::to_string);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_passing),
        Value::String(shown) => *shown = text(shown),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// True if a sentence itself says that it is incomplete.
pub fn is_cautious(line: &str) -> bool {
    let words = [
        "at least",
        "unknown",
        "not known",
        "not all known",
        "cannot tell",
    ];
    words.iter().any(|word| line.contains(word))
}

/// An answer in any form, and the warnings in it if it is data; `ours` are the names of its subjects.
fn answer(shown: &str, ours: &[&str]) -> (String, Vec<String>) {
    match serde_json::from_str::<Value>(shown) {
        Ok(value) if value.is_object() => {
            let mut value = document(value, ours);
            let warnings = value.as_object_mut().and_then(|it| it.remove("warnings"));
            let warnings = match warnings {
                Some(Value::Array(warnings)) => warnings.iter().map(Value::to_string).collect(),
                _ => Vec::new(),
            };
            (value.to_string(), warnings)
        }
        _ => (text(shown), Vec::new()),
    }
}

/// The lines that only one of two runs prints, with `-` where only the calm one does.
pub fn lines_of_one(shown: &str, calm: &str) -> Vec<String> {
    let (shown, calm) = (text(shown), text(calm));
    let without = |lines: &str, other: &str, sign: char| -> Vec<String> {
        let other: Vec<&str> = other.lines().collect();
        let alone = lines.lines().filter(|line| !other.contains(line));
        alone.map(|line| format!("{sign} {line}")).collect()
    };
    [without(&calm, &shown, '-'), without(&shown, &calm, '+')].concat()
}

/// True if a run prints the same as the calm one. It may warn of more, as of a server without a clock, and of
/// nothing less.
pub fn says_the_same(shown: &str, calm: &str, ours: &[&str]) -> bool {
    let ((shown, warnings), (calm, known)) = (answer(shown, ours), answer(calm, ours));
    shown == calm && known.iter().all(|warning| warnings.contains(warning))
}
