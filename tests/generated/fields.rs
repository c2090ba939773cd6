//! The page of the book about reports: every field, from the schemas.

use serde_json::{Map, Value};

use super::manual::text;

/// The fields of all reports: a section a schema, and a table each for it and what it is made of.
pub fn tables(schemas: &[(&str, Value)]) -> String {
    let sections = schemas.iter().map(|(file, schema)| section(file, schema));
    sections.collect::<Vec<_>>().join("\n")
}

fn section(file: &str, schema: &Value) -> String {
    let title = schema["title"].as_str().unwrap_or_default();
    let mut section = format!(
        "## {title}\n\n{}\n\nSchema: `schemas/{file}`.\n\n{}",
        description(schema),
        table(title, schema)
    );
    for variant in schema["oneOf"].as_array().into_iter().flatten() {
        let name = variant["properties"]["type"]["const"].as_str();
        section.push_str(&format!(
            "\n### {title}: `{}`\n\n{}\n\n{}",
            name.unwrap_or_default(),
            description(variant),
            table(title, variant)
        ));
    }
    let parts = schema["$defs"].as_object().into_iter().flatten();
    for (name, part) in parts {
        section.push_str(&format!("\n### {title}: {name}\n\n{}\n", description(part)));
        let table = match part["oneOf"].as_array() {
            Some(values) => words(values),
            None => table(title, part),
        };
        if !table.is_empty() {
            section.push_str(&format!("\n{table}"));
        }
    }
    section
}

/// The fields of an object; nothing where it has none.
fn table(title: &str, object: &Value) -> String {
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
        let kind = kind(title, field);
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

fn kind(title: &str, field: &Value) -> String {
    if let Some(constant) = field["const"].as_str() {
        return format!("`{constant}`");
    }
    if let Some(reference) = field["$ref"].as_str() {
        return link(title, reference);
    }
    if let Some(choices) = field["anyOf"].as_array() {
        let kinds: Vec<String> = choices.iter().map(|choice| kind(title, choice)).collect();
        return kinds.join(" or ");
    }
    match &field["type"] {
        Value::String(name) => named(title, name, field),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str);
            let kinds: Vec<String> = names.map(|name| named(title, name, field)).collect();
            kinds.join(" or ")
        }
        _ => "anything".to_owned(),
    }
}

fn named(title: &str, name: &str, field: &Value) -> String {
    match name {
        "array" => format!("list of {}", kind(title, &field["items"])),
        "object" => {
            let values = field
                .get("additionalProperties")
                .filter(|it| it.is_object());
            let values = values.map_or_else(|| "anything".to_owned(), |it| kind(title, it));
            format!("object of {values}")
        }
        other => other.to_owned(),
    }
}

fn link(title: &str, reference: &str) -> String {
    let name = reference.rsplit('/').next().unwrap_or_default();
    let anchor = format!("{title}-{name}").to_lowercase();
    format!("[{name}](#{anchor})")
}

/// What a schema says of itself, in one line.
pub fn description(schema: &Value) -> String {
    let empty = Map::new();
    let fields = schema.as_object().unwrap_or(&empty);
    let description = fields.get("description").and_then(Value::as_str);
    text(&description.unwrap_or_default().replace("\n\n", " "))
}
