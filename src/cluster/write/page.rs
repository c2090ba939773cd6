//! One page of a list, object by object as it is served.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::cluster::client::consume::{Collector, Consume};
use crate::cluster::client::retry::Failure;
use crate::cluster::read::lists::List;
use crate::wire::{ListMeta, Version};

pub(super) struct Page {
    pub(super) version: &'static Version,
    pub(super) body: Collector,
}

#[derive(Deserialize)]
struct Body<'a> {
    kind: String,
    metadata: ListMeta,
    #[serde(borrow, deserialize_with = "present")]
    items: Option<Vec<&'a RawValue>>,
}

/// An empty list may have null for its items; one without any says nothing about them.
fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<&'de RawValue>>, D::Error> {
    Option::deserialize(deserializer)
}

impl Consume for Page {
    type Output = List<Value>;

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.body.push(bytes)
    }

    fn finish(self) -> Result<Self::Output, Failure> {
        let broken = |error: serde_json::Error| Failure::Broken(error.to_string());
        let body: Body<'_> = serde_json::from_slice(self.body.bytes()).map_err(broken)?;
        if body.kind != format!("{}List", self.version.kind) {
            return Err(Failure::Broken(format!(
                "it is a {} and not a list",
                body.kind
            )));
        }
        let mut items = Vec::new();
        for item in body.items.unwrap_or_default() {
            let mut object: Map<String, Value> =
                serde_json::from_str(item.get()).map_err(broken)?;
            object.insert("apiVersion".to_owned(), self.version.api_version.into());
            object.insert("kind".to_owned(), self.version.kind.as_str().into());
            items.push(Value::Object(object));
        }
        Ok(List {
            items,
            metadata: body.metadata,
            warnings: Vec::new(),
        })
    }
}
