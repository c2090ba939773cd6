//! Evaluation of node selectors.

use std::collections::BTreeMap;

use crate::model::{NodeRequirement, NodeSelector, NodeTerm, three_valued};

/// A node on which claims could be placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeFacts<'a> {
    /// Its name; absent for one that stands for all nodes of which nothing is known.
    pub(super) name: Option<&'a str>,
    /// Its labels, where they are known.
    pub(super) labels: Option<&'a BTreeMap<String, String>>,
}

/// True if `selector` selects the node; `None` where the node's labels are not known, or the selector asks for
/// something that this program does not know.
///
/// Upstream: `nodeaffinity.NodeSelector.Match`.
pub(super) fn selects(selector: &NodeSelector, node: NodeFacts<'_>) -> Option<bool> {
    three_valued::any(selector.terms.iter().map(|term| holds(term, node)))
}

fn holds(term: &NodeTerm, node: NodeFacts<'_>) -> Option<bool> {
    // An empty term matches no node, unlike an empty label selector.
    if term.labels.is_empty() && term.fields.is_empty() {
        return Some(false);
    }
    let labels = term.labels.iter().map(|requirement| {
        let value = node.labels?.get(&*requirement.key);
        meets(requirement, value.map(String::as_str))
    });
    let fields = term.fields.iter().map(|requirement| {
        // The API has no other field. One of a newer version is unknown here, and so is its answer.
        let is_name = &*requirement.key == "metadata.name";
        let name = node.name.filter(|_| is_name)?;
        meets(requirement, Some(name))
    });
    three_valued::all(labels.chain(fields))
}

fn meets(requirement: &NodeRequirement, value: Option<&str>) -> Option<bool> {
    let is_among =
        || value.is_some_and(|value| requirement.values.iter().any(|one| **one == *value));
    let compared = |wanted: fn(i64, i64) -> bool| match (value, requirement.values.as_slice()) {
        (Some(value), [limit]) => {
            let limit: i64 = limit.parse().ok()?;
            // A label that is no integer is neither greater nor less, as in upstream's
            // `labels.Requirement.Matches`.
            Some(value.parse().is_ok_and(|value| wanted(value, limit)))
        }
        (None, [limit]) => limit.parse::<i64>().ok().map(|_| false),
        _ => None,
    };
    match &*requirement.operator {
        "In" => Some(is_among()),
        // A node without the label meets this, as upstream.
        "NotIn" => Some(!is_among()),
        "Exists" => Some(value.is_some()),
        "DoesNotExist" => Some(value.is_none()),
        "Gt" => compared(|value, limit| value > limit),
        "Lt" => compared(|value, limit| value < limit),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(key: &str, operator: &str, values: &[&str]) -> NodeRequirement {
        NodeRequirement {
            key: key.into(),
            operator: operator.into(),
            values: values.iter().map(|value| (*value).into()).collect(),
        }
    }

    fn by_labels(requirements: &[NodeRequirement]) -> NodeSelector {
        NodeSelector {
            terms: vec![NodeTerm {
                labels: requirements.to_vec(),
                fields: Vec::new(),
            }],
        }
    }

    #[test]
    fn nodes_are_selected_as_the_scheduler_does() {
        let labels = BTreeMap::from([
            ("zone".to_owned(), "a".to_owned()),
            ("slots".to_owned(), "8".to_owned()),
        ]);
        let node = NodeFacts {
            name: Some("node-1"),
            labels: Some(&labels),
        };
        for (operator, key, values, expected) in [
            ("In", "zone", &["b", "a"][..], Some(true)),
            ("In", "zone", &["b"], Some(false)),
            ("In", "rack", &["b"], Some(false)),
            ("NotIn", "zone", &["a"], Some(false)),
            ("NotIn", "rack", &["a"], Some(true)),
            ("Exists", "zone", &[], Some(true)),
            ("Exists", "rack", &[], Some(false)),
            ("DoesNotExist", "rack", &[], Some(true)),
            ("Gt", "slots", &["7"], Some(true)),
            ("Gt", "slots", &["8"], Some(false)),
            ("Lt", "slots", &["9"], Some(true)),
            ("Lt", "rack", &["9"], Some(false)),
            ("Gt", "zone", &["9"], Some(false)),
            ("Gt", "slots", &["many"], None),
            ("Gt", "slots", &["1", "2"], None),
            ("Near", "zone", &["a"], None),
        ] {
            let selector = by_labels(&[requirement(key, operator, values)]);
            assert_eq!(
                selects(&selector, node),
                expected,
                "{key} {operator} {values:?}"
            );
        }
    }

    #[test]
    fn labels_that_nobody_has_read_are_no_answer() {
        let node = NodeFacts {
            name: Some("node-1"),
            labels: None,
        };
        let selector = by_labels(&[requirement("zone", "DoesNotExist", &[])]);
        assert_eq!(selects(&selector, node), None);
    }
}
