//! Selectors of nodes, in slices and devices.

use serde::Deserialize;

use super::context::Context;
use super::nullable::or_default;
use crate::model;

/// `core/v1` `NodeSelector`.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct NodeSelector {
    /// One has to hold.
    #[prost(message, repeated, tag = "1")]
    #[serde(default, deserialize_with = "or_default")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Requirements that all have to hold.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct NodeSelectorTerm {
    /// About labels.
    #[prost(message, repeated, tag = "1")]
    #[serde(default, deserialize_with = "or_default")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
    /// About fields.
    #[prost(message, repeated, tag = "2")]
    #[serde(default, deserialize_with = "or_default")]
    pub match_fields: Vec<NodeSelectorRequirement>,
}

/// A condition on one label or field.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct NodeSelectorRequirement {
    /// Label or field.
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    /// Such as `In`.
    #[prost(string, optional, tag = "2")]
    pub operator: Option<String>,
    /// What it is compared with.
    #[prost(string, repeated, tag = "3")]
    #[serde(default, deserialize_with = "or_default")]
    pub values: Vec<String>,
}

impl NodeSelector {
    /// The node that it names, if it names one and nothing else.
    ///
    /// Upstream: `createNodeSelector` of the allocator, for devices that are local to a node.
    pub(super) fn only_node(&self) -> Option<model::NodeName> {
        let [term] = &self.node_selector_terms[..] else {
            return None;
        };
        // All requirements of a term have to hold: a second one may exclude the named node.
        let ([], [field]) = (&term.match_expressions[..], &term.match_fields[..]) else {
            return None;
        };
        let is_name = field.key.as_deref() == Some("metadata.name");
        let is_in = field.operator.as_deref() == Some("In");
        match &field.values[..] {
            [node] if is_name && is_in => Some(node.as_str().into()),
            _ => None,
        }
    }

    pub(super) fn to_model(&self, context: &mut Context) -> model::NodeSelector {
        let terms = self.node_selector_terms.iter();
        model::NodeSelector {
            terms: terms
                .map(|term| model::NodeTerm {
                    labels: requirements(&term.match_expressions, context),
                    fields: requirements(&term.match_fields, context),
                })
                .collect(),
        }
    }
}

fn requirements(
    all: &[NodeSelectorRequirement],
    context: &mut Context,
) -> Vec<model::NodeRequirement> {
    all.iter()
        .map(|one| model::NodeRequirement {
            key: context.intern(one.key.as_deref().unwrap_or_default()),
            operator: context.intern(one.operator.as_deref().unwrap_or_default()),
            values: one
                .values
                .iter()
                .map(|value| context.intern(value))
                .collect(),
        })
        .collect()
}
