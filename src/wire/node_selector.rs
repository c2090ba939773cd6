//! Selectors of nodes, in slices and devices.

use super::context::Context;
use super::message::message;
use crate::model;

message! {
    /// `core/v1` `NodeSelector`.
    pub struct NodeSelector {
        /// One has to hold.
        node_selector_terms: repeated NodeSelectorTerm = 1,
    }

    /// Requirements that all have to hold.
    pub struct NodeSelectorTerm {
        /// About labels.
        match_expressions: repeated NodeSelectorRequirement = 1,
        /// About fields.
        match_fields: repeated NodeSelectorRequirement = 2,
    }

    /// A condition on one label or field.
    pub struct NodeSelectorRequirement {
        /// Label or field.
        key: optional string = 1,
        /// Operator, such as `In`.
        operator: optional string = 2,
        /// Values that it is compared with.
        values: repeated string = 3,
    }
}

impl NodeSelector {
    /// The node that it names, if it names one and nothing else.
    ///
    /// Upstream: `createNodeSelector` of the allocator, for devices that are local to a node.
    pub(super) fn only_node(&self) -> Option<model::NodeName> {
        // Terms are alternatives: with a second one, other nodes may match as well.
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

    /// The node that it names, by name or by host name, if it asks for nothing else. The label is the node's name
    /// unless it was changed.
    pub(super) fn named_node(&self) -> Option<model::NodeName> {
        const HOST_NAME: &str = "kubernetes.io/hostname";
        let [term] = &self.node_selector_terms[..] else {
            return None;
        };
        let ([label], []) = (&term.match_expressions[..], &term.match_fields[..]) else {
            return self.only_node();
        };
        let is_name = label.key.as_deref() == Some(HOST_NAME);
        let is_in = label.operator.as_deref() == Some("In");
        match &label.values[..] {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_that_asks_for_one_name_alone_names_that_node() {
        let named = |text: &str| {
            let selector: NodeSelector = serde_json::from_str(text).unwrap();
            selector.named_node().map(|node| node.to_string())
        };
        let of = |terms: &str| format!(r#"{{"nodeSelectorTerms": [{terms}]}}"#);
        let host = r#"{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-0"]}"#;
        let name = r#"{"key": "metadata.name", "operator": "In", "values": ["node-0"]}"#;
        let label = |requirement: &str| of(&format!(r#"{{"matchExpressions": [{requirement}]}}"#));
        assert_eq!(named(&label(host)).as_deref(), Some("node-0"));
        let field = of(&format!(r#"{{"matchFields": [{name}]}}"#));
        assert_eq!(named(&field).as_deref(), Some("node-0"));
        for other in [
            label(&host.replace("In", "NotIn")),
            label(&host.replace("hostname", "arch")),
            label(&host.replace(r#"["node-0"]"#, r#"["node-0", "node-1"]"#)),
            label(&format!("{host}, {}", host.replace("hostname", "arch"))),
            of(&format!(
                r#"{{"matchExpressions": [{host}]}}, {{"matchExpressions": [{host}]}}"#
            )),
            of(&format!(
                r#"{{"matchExpressions": [{host}], "matchFields": [{name}]}}"#
            )),
            of(""),
        ] {
            assert_eq!(named(&other), None, "{other}");
        }
    }
}
