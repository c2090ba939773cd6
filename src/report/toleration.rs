//! A toleration, as reports write it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Operator, Toleration};

/// A toleration, with the fields of the API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Toleration")]
pub struct TolerationView {
    /// The key; absent if the toleration matches every key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// Operator of the toleration: Exists or Equal.
    pub operator: String,
    /// The value; absent if empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// The effect; absent if the toleration has none. Such a toleration matches every effect for scheduling,
    /// but prevents no eviction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
    /// Seconds for which the taint is tolerated, counted from the timeAdded of the taint; absent means
    /// forever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

impl From<&Toleration> for TolerationView {
    fn from(toleration: &Toleration) -> Self {
        let is_equal = toleration.operator == Operator::Equal;
        Self {
            key: toleration.key.clone(),
            operator: toleration.operator.as_str().to_owned(),
            // The API server refuses a value beside the operator Exists.
            value: if is_equal {
                toleration.value.clone()
            } else {
                String::new()
            },
            effect: toleration.effect.as_ref().map(ToString::to_string),
            toleration_seconds: toleration.seconds,
        }
    }
}

impl TolerationView {
    /// As it is written in a claim, line by line.
    pub fn lines(&self) -> Vec<String> {
        let mut fields = Vec::new();
        if !self.key.is_empty() {
            fields.push(format!("key: {}", self.key));
        }
        fields.push(format!("operator: {}", self.operator));
        if !self.value.is_empty() {
            // Quoted, since YAML would read a value such as `true` or `1` as something else than a text.
            fields.push(format!("value: {:?}", self.value));
        }
        fields.extend(
            self.effect
                .as_ref()
                .map(|effect| format!("effect: {effect}")),
        );
        let seconds = self.toleration_seconds;
        fields.extend(seconds.map(|seconds| format!("tolerationSeconds: {seconds}")));
        let fields = fields.into_iter().enumerate();
        fields
            .map(|(place, field)| {
                let sign = if place == 0 { "- " } else { "  " };
                format!("{sign}{field}")
            })
            .collect()
    }
}
