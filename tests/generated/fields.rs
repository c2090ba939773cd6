//! The page of the book about reports: every field, from the schemas.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::manual::text;

/// The most reports whose type is described in the section of the first of them. A type of more
/// reports is in a section of its own, where nobody has to know which report uses it first.
const MOST_REPORTS: usize = 3;

/// Every field: a section for each schema, with a table for it and for each of its types, and a
/// section for the types of many reports. Each type is described once.
pub fn tables(schemas: &[(&str, Value)]) -> String {
    let owners = owners(schemas);
    let shared = types(schemas, &owners, None);
    let mut sections: Vec<String> = schemas
        .iter()
        .map(|(file, schema)| section(file, schema, &types(schemas, &owners, Some(title(schema)))))
        .collect();
    if !shared.is_empty() {
        sections.push(format!(
            "## Types of several reports\n\nTypes that are used in more than {MOST_REPORTS} reports, in alphabetical order.\n{shared}"
        ));
    }
    sections.join("\n")
}

fn title(schema: &Value) -> &str {
    schema["title"].as_str().unwrap_or_default()
}

/// The section in which each type is described: that of a report, or none for the section of types
/// of many reports. A type that is a report itself has the section of this report.
fn owners<'a>(schemas: &'a [(&str, Value)]) -> BTreeMap<&'a str, Option<&'a str>> {
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (_, schema) in schemas {
        for name in schema["$defs"].as_object().into_iter().flat_map(Map::keys) {
            users.entry(name).or_default().push(title(schema));
        }
    }
    let is_report = |name: &str| schemas.iter().any(|(_, schema)| title(schema) == name);
    users.retain(|name, _| !is_report(name));
    let owners = users.into_iter().map(|(name, users)| {
        let is_shared = users.len() > MOST_REPORTS;
        (name, (!is_shared).then_some(users[0]))
    });
    owners.collect()
}

/// The types that are described in the section of `owner`.
fn types(
    schemas: &[(&str, Value)],
    owners: &BTreeMap<&str, Option<&str>>,
    owner: Option<&str>,
) -> String {
    let names = owners.iter().filter(|(_, it)| **it == owner);
    let described = names.map(|(name, _)| {
        let definitions = schemas
            .iter()
            .find_map(|(_, schema)| schema["$defs"].get(name));
        let part = definitions.expect("the definition of a type");
        let table = match part["oneOf"].as_array() {
            Some(values) => words(values),
            None => table(part),
        };
        let table = if table.is_empty() {
            table
        } else {
            format!("\n{table}")
        };
        format!("\n### {name}\n\n{}\n{table}", description(part))
    });
    described.collect()
}

fn section(file: &str, schema: &Value, types: &str) -> String {
    let title = title(schema);
    let mut section = format!(
        "## {title}\n\n{}\n\nSchema: `schemas/{file}`.\n\n{}",
        description(schema),
        table(schema)
    );
    for variant in schema["oneOf"].as_array().into_iter().flatten() {
        let name = variant["properties"]["type"]["const"].as_str();
        section.push_str(&format!(
            "\n### {title}: `{}`\n\n{}\n\n{}",
            name.unwrap_or_default(),
            description(variant),
            table(variant)
        ));
    }
    section + types
}

/// The fields of an object; nothing where it has none.
fn table(object: &Value) -> String {
    let Some(fields) = object["properties"].as_object() else {
        return String::new();
    };
    let required: Vec<&str> = object["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let rows = fields.iter().map(|(name, field)| {
        let sometimes = if required.contains(&name.as_str()) {
            ""
        } else {
            ", optional"
        };
        let kind = kind(field);
        format!("| `{name}` | {kind}{sometimes}: {} |\n", description(field))
    });
    format!(
        "| field | type and meaning |\n|---|---|\n{}",
        rows.collect::<String>()
    )
}

/// The words that a field can have.
fn words(values: &[Value]) -> String {
    let rows = values.iter().map(|value| {
        let word = value["const"].as_str().unwrap_or_default();
        format!("| `{word}` | {} |\n", description(value))
    });
    format!(
        "| value | meaning |\n|---|---|\n{}",
        rows.collect::<String>()
    )
}

fn kind(field: &Value) -> String {
    if let Some(constant) = field["const"].as_str() {
        return format!("`{constant}`");
    }
    if let Some(reference) = field["$ref"].as_str() {
        return link(reference);
    }
    if let Some(choices) = field["anyOf"].as_array() {
        let kinds: Vec<String> = choices.iter().map(kind).collect();
        return kinds.join(" or ");
    }
    match &field["type"] {
        Value::String(name) => named(name, field),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str);
            let kinds: Vec<String> = names.map(|name| named(name, field)).collect();
            kinds.join(" or ")
        }
        _ => "anything".to_owned(),
    }
}

fn named(name: &str, field: &Value) -> String {
    match name {
        "array" => format!("list of {}", kind(&field["items"])),
        "object" => {
            let values = field
                .get("additionalProperties")
                .filter(|it| it.is_object());
            let values = values.map_or_else(|| "anything".to_owned(), kind);
            format!("object of {values}")
        }
        other => other.to_owned(),
    }
}

fn link(reference: &str) -> String {
    let name = reference.rsplit('/').next().unwrap_or_default();
    format!("[{name}](#{})", name.to_lowercase())
}

/// What a schema says of itself, in one line.
pub fn description(schema: &Value) -> String {
    let empty = Map::new();
    let fields = schema.as_object().unwrap_or(&empty);
    let description = fields.get("description").and_then(Value::as_str);
    text(&description.unwrap_or_default().replace("\n\n", " "))
}
