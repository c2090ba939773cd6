//! Comparison of a stored object with the requested one.

use serde_json::Value;

/// True if `found` has everything that `wanted` has, at the same place; fields that a server adds are
/// ignored. A null in `wanted` stands for a field that is not there, as in a merge patch.
///
/// Lists have to be equal. The fields that identify a version are ignored: `metadata.uid` and
/// `metadata.resourceVersion`.
pub(super) fn contains(found: &Value, wanted: &Value) -> bool {
    within(found, wanted, &[])
}

/// Fields that name the version that a change applies to.
const STATE: [[&str; 2]; 2] = [["metadata", "uid"], ["metadata", "resourceVersion"]];

fn within(found: &Value, wanted: &Value, path: &[&str]) -> bool {
    let Some(fields) = wanted.as_object() else {
        return found == wanted;
    };
    fields.iter().all(|(name, wanted)| {
        let mut path = path.to_vec();
        path.push(name);
        // Indexing a missing field gives null, which is what a null in `wanted` asks for.
        STATE.iter().any(|state| state[..] == path[..]) || within(&found[name], wanted, &path)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_server_adds_does_not_matter_and_what_it_lacks_does() {
        let found = json!({
            "metadata": {"name": "a", "uid": "1", "resourceVersion": "9", "labels": {"x": "1", "y": "2"}},
            "spec": {"taint": {"effect": "None", "timeAdded": "2026-11-21T01:00:00Z"}, "list": [1, 2]},
        });
        for (wanted, expected) in [
            (json!({}), true),
            (json!({"metadata": {"labels": {"x": "1"}}}), true),
            (json!({"metadata": {"labels": {"x": "2"}}}), false),
            (json!({"metadata": {"labels": {"z": "2"}}}), false),
            (json!({"metadata": {"labels": {"z": null}}}), true),
            (json!({"metadata": {"labels": {"x": null}}}), false),
            (
                json!({"metadata": {"uid": "0", "resourceVersion": "7"}}),
                true,
            ),
            (json!({"spec": {"uid": "0"}}), false),
            (json!({"spec": {"taint": {"effect": "None"}}}), true),
            (json!({"spec": {"taint": {"effect": "NoExecute"}}}), false),
            (json!({"spec": {"list": [1, 2]}}), true),
            (json!({"spec": {"list": [1]}}), false),
            (json!({"status": {"a": 1}}), false),
        ] {
            assert_eq!(contains(&found, &wanted), expected, "{wanted}");
        }
    }
}
