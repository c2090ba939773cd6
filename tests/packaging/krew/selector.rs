//! Which platforms an entry is for.

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selector {
    match_labels: Option<BTreeMap<String, String>>,
    match_expressions: Option<Vec<Expression>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expression {
    key: String,
    operator: Operator,
    #[serde(default)]
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

/// What krew runs on.
pub fn platforms() -> impl Iterator<Item = (&'static str, &'static str)> {
    [
        ("windows", &["386", "amd64", "arm64"][..]),
        ("linux", &["386", "amd64", "arm", "arm64", "ppc64le"]),
        ("darwin", &["386", "amd64", "arm64"]),
    ]
    .into_iter()
    .flat_map(|(os, processors)| processors.iter().map(move |&processor| (os, processor)))
}

impl Selector {
    /// What krew says of it.
    pub fn check(&self) -> Result<(), String> {
        let labels = self.match_labels.iter().flatten().map(|(key, _)| key);
        let expressions = self.match_expressions.iter().flatten();
        let keys = labels.chain(expressions.map(|expression| &expression.key));
        if let Some(key) = keys
            .into_iter()
            .find(|key| !["os", "arch"].contains(&key.as_str()))
        {
            return Err(format!("key {key:?} is not supported"));
        }
        let labels = self.match_labels.as_ref();
        let expressions = self.match_expressions.as_ref();
        if labels.is_none() && expressions.is_none_or(Vec::is_empty) {
            return Err("the selector is empty".into());
        }
        if labels.is_some_and(BTreeMap::is_empty) {
            return Err("`matchLabels` is empty".into());
        }
        if expressions.is_some_and(Vec::is_empty) {
            return Err("`matchExpressions` is empty".into());
        }
        Ok(())
    }

    /// Whether the platform is among those that it is for.
    pub fn matches(&self, os: &str, arch: &str) -> bool {
        let value = |key: &str| match key {
            "os" => Some(os),
            "arch" => Some(arch),
            _ => None,
        };
        let labels = self.match_labels.iter().flatten();
        let expressions = self.match_expressions.iter().flatten();
        labels
            .into_iter()
            .all(|(key, wanted)| value(key) == Some(wanted))
            && expressions.into_iter().all(|expression| {
                let value = value(&expression.key);
                let is_named =
                    value.is_some_and(|value| expression.values.iter().any(|named| named == value));
                match expression.operator {
                    Operator::In => is_named,
                    Operator::NotIn => !is_named,
                    Operator::Exists => value.is_some(),
                    Operator::DoesNotExist => value.is_none(),
                }
            })
    }
}
