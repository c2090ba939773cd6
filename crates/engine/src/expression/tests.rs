//! The verdicts of the control plane, and texts that might break the parser.
//!
//! `tests/data/cel/expressions.jsonl` holds expressions with what upstream's compiler says of the
//! devices in `devices.json`.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{DeviceExpression, ExpressionError};
use crate::model::{AttributeValue, Device, DeviceName, DriverName};
use crate::testing;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenDevice {
    driver: String,
    #[serde(default)]
    allow_multiple_allocations: bool,
    #[serde(default)]
    attributes: BTreeMap<String, WrittenAttribute>,
    #[serde(default)]
    capacity: BTreeMap<String, WrittenCapacity>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum WrittenAttribute {
    Int(i64),
    Bool(bool),
    String(String),
    Version(String),
}

#[derive(Deserialize)]
struct WrittenCapacity {
    value: String,
}

/// An expression with upstream's verdicts by device.
#[derive(Deserialize)]
struct Row {
    expression: String,
    verdicts: BTreeMap<String, String>,
    /// Why this crate may refuse it.
    unsupported: Option<String>,
}

fn lines<T: DeserializeOwned>(text: &str) -> Vec<T> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn rows() -> Vec<Row> {
    lines(include_str!("../../tests/data/cel/expressions.jsonl"))
}

fn devices() -> BTreeMap<String, (DriverName, Device)> {
    let written: BTreeMap<String, WrittenDevice> =
        serde_json::from_str(include_str!("../../tests/data/cel/devices.json")).unwrap();
    written
        .into_iter()
        .map(|(name, device)| {
            let driver = DriverName::from(device.driver.as_str());
            (name.clone(), (driver, of_written(&name, device)))
        })
        .collect()
}

fn of_written(name: &str, device: WrittenDevice) -> Device {
    let attribute = |value| match value {
        WrittenAttribute::Int(number) => AttributeValue::Int(number),
        WrittenAttribute::Bool(value) => AttributeValue::Bool(value),
        WrittenAttribute::String(text) => AttributeValue::String(text.into()),
        WrittenAttribute::Version(text) => AttributeValue::Version(text.into()),
    };
    Device {
        name: DeviceName::from(name),
        attributes: device
            .attributes
            .into_iter()
            .map(|(name, value)| (name.into(), attribute(value)))
            .collect(),
        capacity: device
            .capacity
            .into_iter()
            .map(|(name, value)| (name.into(), value.value.into()))
            .collect(),
        allow_multiple_allocations: device.allow_multiple_allocations,
        ..Device::default()
    }
}

fn verdict(text: &str, driver: &DriverName, device: &Device) -> Result<String, ExpressionError> {
    verdict_of(DeviceExpression::compile(text).as_ref(), driver, device)
}

/// The verdict as the table writes it.
fn verdict_of(
    expression: Result<&DeviceExpression, &ExpressionError>,
    driver: &DriverName,
    device: &Device,
) -> Result<String, ExpressionError> {
    let verdict = expression
        .map_err(ExpressionError::clone)
        .and_then(|expression| expression.matches(driver, device));
    match verdict {
        Ok(selected) => Ok(selected.to_string()),
        Err(error) if error.is_of_the_device() => Ok(format!("error: {error}")),
        Err(error) => Err(error),
    }
}

/// Only the kind of an error counts, as upstream says more in some of them.
fn kind(verdict: &str) -> &str {
    verdict.split_once(':').map_or(verdict, |(kind, _)| kind)
}

#[test]
fn every_verdict_is_that_of_the_control_plane() {
    let mut answered = BTreeMap::new();
    let devices = devices();
    for row in rows() {
        let expression = DeviceExpression::compile(&row.expression);
        for (name, (driver, device)) in &devices {
            let upstream = kind(&row.verdicts[name]);
            match verdict_of(expression.as_ref(), driver, device) {
                Ok(verdict) => {
                    assert_eq!(kind(&verdict), upstream, "{} for {name}", row.expression);
                    *answered.entry(upstream.to_owned()).or_insert(0) += 1;
                }
                Err(error) => assert!(
                    row.unsupported.is_some(),
                    "{} for {name}: {error}",
                    row.expression
                ),
            }
        }
    }
    for kind in ["true", "false", "error"] {
        assert!(answered[kind] >= 100, "{answered:?}");
    }
}

#[test]
fn refused_expressions_are_still_refused() {
    let devices = devices();
    let refused = |row: &Row| {
        let mut devices = devices.values();
        devices.any(|(driver, device)| verdict(&row.expression, driver, device).is_err())
    };
    let rows = rows()
        .into_iter()
        .filter(|row| row.unsupported.is_some() && !refused(row));
    let supported: Vec<String> = rows.map(|row| row.expression).collect();
    assert!(supported.is_empty(), "now supported: {supported:?}");
}

#[test]
fn longest_expression_is_that_of_the_api() {
    let longest = format!("true{}", " ".repeat(ExpressionError::MAXIMUM_LENGTH - 4));
    assert!(DeviceExpression::compile(&longest).is_ok());
    let error = DeviceExpression::compile(&format!("{longest} ")).unwrap_err();
    assert_eq!(error, ExpressionError::TooLong { bytes: 10_241 });
}

/// As deep as each kind of nesting may be, and much deeper, on the stack of an ordinary thread.
#[test]
fn nesting_never_overflows_the_stack() {
    let repeated = |open: &str, middle: &str, close: &str, times: usize| {
        format!("{}{middle}{}", open.repeat(times), close.repeat(times))
    };
    let shapes = [
        ("(", "true", ")"),
        ("[", "1", "]"),
        ("!", "true", ""),
        ("-", "1", ""),
        ("! ", "true", ""),
        ("- ", "1", ""),
        ("a.", "a", ""),
        ("", "a", "[0]"),
        ("", "a", "()"),
        ("", "a", ".a()"),
        ("1+", "1", ""),
        ("1-", "1", ""),
        ("1<", "1", ""),
        ("1==", "1", ""),
        ("1 in ", "1", ""),
        ("[]in", "[]", ""),
        ("1in\t", "1", ""),
        ("true?", "true", ":true"),
        ("true?true:", "true", ""),
        ("true&&true?true:", "true", ""),
        ("a(1,", "1", ")"),
        ("true||", "true", ""),
        ("true&&", "true", ""),
        ("!(", "true", ")"),
        ("[1].all(x,", "true", ")"),
        ("cel.bind(x,1+1+1,", "true", ")"),
        ("cel.bind(x,", "1", ",x+x)"),
        ("device.?", "a", ""),
        ("{", "", "}"),
        ("a{", "", "}"),
        ("\"", "", ""),
        ("(\"", "", "\")"),
        ("é.", "a", ""),
    ];
    std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(move || {
            let (driver, device) = devices().remove("gpu").unwrap();
            for conditions in 1..=20 {
                let middle = repeated("true?true:", "true", "", conditions);
                for brackets in 1..=10 {
                    let _ = verdict(&repeated("(", &middle, ")", brackets), &driver, &device);
                }
            }
            for (open, middle, close) in shapes {
                let most = ExpressionError::MAXIMUM_LENGTH / (open.len() + close.len());
                let step = if testing::is_whole() { 1 } else { 9 };
                for times in (1..=64).step_by(step).chain([most / 4, most - 4]) {
                    let _ = verdict(&repeated(open, middle, close, times), &driver, &device);
                }
            }
        })
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn patterns_are_allowed_where_both_dialects_agree() {
    for (pattern, allowed) in [
        ("^gpu-[0-9]+$", true),
        ("a|b", true),
        ("(?:a){2,3}", true),
        ("(?i)a", true),
        (r"\d\.\w\/", true),
        ("é", true),
        ("(?s)a", true),
        ("[^]a]", false),
        ("a{,2}", false),
        ("a{2", false),
        ("}", false),
        ("a+?b{2}?", true),
        ("a++", false),
        ("a{2}*", false),
        ("a+??", false),
        ("[[:alpha:]]", false),
        ("[a&&b]", false),
        ("[a--b]", false),
        (r"\pL", false),
        (r"\Qa\E", false),
        (r"\<", false),
        ("(?P<a>b)", false),
        ("[a", false),
        ("(", false),
        ("a{999}{999}{999}", false),
        (r"\", false),
    ] {
        let accepted = super::value::Pattern::compile(pattern).is_some();
        assert_eq!(accepted, allowed, "{pattern}");
    }
    assert!(super::value::Pattern::compile(&"a".repeat(513)).is_none());
}

/// RE2's classes are of ASCII, and a dot is no line break.
#[test]
fn classes_of_patterns_are_those_of_the_control_plane() {
    for (pattern, text, matches) in [
        (r"^\w$", "é", false),
        (r"^\W$", "é", true),
        (r"^\d$", "٣", false),
        (r"^[\s]$", "\u{b}", false),
        (r"\bé", "é", false),
        ("^.$", "\n", false),
        ("(?i)É", "é", true),
    ] {
        let found = super::value::Pattern::compile(pattern).unwrap();
        assert_eq!(found.is_match(text), matches, "{pattern}");
    }
}

/// Upstream compiles 249 brackets and 250 terms; what is beyond the bound here is unknown, never refused.
#[test]
fn errors_point_to_the_place() {
    for (text, line, column) in [
        ("device.driver = 'x'", 1, 15),
        ("true &&\n  (1 +", 2, 7),
        ("device.nope", 1, 7),
        ("'abc", 1, 1),
        ("'a\\q'", 1, 3),
    ] {
        let at = DeviceExpression::compile(text).unwrap_err().position();
        let at = at.map(|at| (at.line, at.column));
        assert_eq!(at, Some((line, column)), "{text}");
    }
}

#[test]
fn deep_expressions_are_unknown() {
    let nested = |times: usize| format!("{}true{}", "(".repeat(times), ")".repeat(times));
    let sum = |terms: usize| format!("{} == {terms}", vec!["1"; terms].join("+"));
    let all = |terms: usize| vec!["true"; terms].join("&&");
    for (name, text, known) in [
        ("brackets", nested(30), true),
        ("many brackets", nested(249), false),
        ("too many brackets", nested(250), false),
        ("terms", sum(100), true),
        ("many terms", sum(250), false),
        ("conditions in a chain", all(1000), true),
    ] {
        let unknown = matches!(
            DeviceExpression::compile(&text),
            Err(ExpressionError::Unsupported { .. })
        );
        assert_eq!(unknown, !known, "{name}");
    }
}

fn assert_refused(texts: &[&str]) {
    let (driver, device) = devices().remove("gpu").unwrap();
    for text in texts {
        let refused = verdict(text, &driver, &device).unwrap_err();
        assert!(
            matches!(refused, ExpressionError::Unsupported { .. }),
            "{text}: {refused}"
        );
    }
}

/// Expressions that would take long or much memory are refused by name, and nothing absorbs that.
#[test]
fn endless_work_is_refused() {
    let list = format!("[{}]", vec!["1"; 1000].join(", "));
    let loops = format!("cel.bind(l, {list}, l.all(x, l.all(y, true)))");
    let twice = |name: &str, of: &str, body: &str| format!("cel.bind({name}, {of} + {of}, {body})");
    let doubled = twice(
        "a",
        "l",
        &twice(
            "b",
            "a",
            &twice("c", "b", &twice("d", "c", &twice("e", "d", "e.size() > 0"))),
        ),
    );
    assert_refused(&[
        &loops,
        &format!("{loops} || true"),
        &format!("cel.bind(l, {list}, {doubled})"),
        "cel.bind(a, 'xxxxxxxxxx'.replace('x', 'xxxxxxxxxx'), cel.bind(b, a.replace('x', a), b.replace('x', a).size() > 0))",
    ]);
}

/// A bounded part of what `fuzz/` does without end: realistic expressions cut, joined and doubled neither
/// panic nor take long.
#[test]
fn broken_expressions_end_at_once() {
    let texts: Vec<&str> = include_str!("../../tests/data/cel/realistic.txt")
        .lines()
        .collect();
    let subjects = devices();
    let mut seed = 1_usize;
    let mut random = |end: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % end.max(1)
    };
    for round in 0..testing::tries(4_000) {
        let (first, second) = (texts[random(texts.len())], texts[random(texts.len())]);
        let cut = |text: &str, at: usize| text.chars().take(at).collect::<String>();
        let mut text = cut(first, random(first.len()));
        text.extend(second.chars().skip(random(second.len())));
        if round % 4 == 0 {
            text = format!("[1, 2].all(x, {text} || {text})");
        }
        let takes_long = || {
            let began = std::time::Instant::now();
            for (driver, device) in subjects.values() {
                let _ = verdict(&text, driver, device);
            }
            began.elapsed().as_secs() >= 1
        };
        // A machine with something else to do makes anything take long, once.
        assert!(!(0..3).all(|_| takes_long()), "{text}");
    }
}

const SHORT_PARTS: &[&str] = &[
    "device", "ip(", "cidr(", "url(", ".", "driver", "[", "]", "model", ".?", "[?", "(", ")", "!",
    "&&", "||", "==", "<", "+", "-", "*", "/", "%", "?", ":", ",", "in", "has(", ".all(x,",
    ".map(x,", "x", "1", "1.5", "1u", "true", "null", "'a'", "r'\\d'", "b'a'", "semver(", ".add(",
    ".sub(", ".size()", "{", "}", " ", "\n", "\\", "é",
];

const LONG_PARTS: &[&str] = &[
    ".transformMap(k, v,",
    "lists.range(",
    "optional.of(",
    ".optMap(x,",
    ".sortBy(x,",
    "'%s'.format([",
    "timestamp(",
    "duration(",
    "attributes",
    "\"gpu.example.com\"",
    "cel.bind(x,",
    ".exists(x,",
    "-9223372036854775808",
    "9223372036854775807",
    "semver(\"1.2.3\")",
    "quantity(\"1Gi\")",
    "quantity(",
    ".compareTo(",
    ".matches(",
    ".orValue(",
    "device.capacity[\"gpu.example.com\"].memory",
    "device.attributes[\"gpu.example.com\"].cores",
];

proptest! {
    #[test]
    fn no_combination_of_parts_panics(parts in prop::collection::vec(prop::sample::select([SHORT_PARTS, LONG_PARTS].concat()), 0..24)) {
        for (driver, device) in devices().values() {
            let _ = verdict(&parts.concat(), driver, device);
        }
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = DeviceExpression::compile(&text);
    }

    #[test]
    fn no_value_panics(version in "[0-9v.+a-]{0,24}", quantity in "[-+]?[0-9.]{0,24}[A-Za-z]{0,2}") {
        let (driver, mut device) = devices().remove("bare").unwrap();
        device.attributes.insert("v".into(), AttributeValue::Version(version.as_str().into()));
        device.capacity.insert("q".into(), quantity.as_str().into());
        for text in [
            r#"device.attributes["gpu.example.com"].v.isLessThan(semver("1.0.0"))"#,
            r#"device.capacity["gpu.example.com"].q.compareTo(quantity("1E")) > 0"#,
        ] {
            let _ = verdict(text, &driver, &device);
        }
    }
}
