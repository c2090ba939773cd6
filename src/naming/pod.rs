//! Names of pods as kubectl arguments.

use super::shell::word;

/// The pod as arguments of kubectl: `pod/NAME -n NAMESPACE`.
///
/// kubectl's own `-o name` leaves the namespace out, so that what `get pods --all-namespaces` prints
/// cannot be given back to it. One such line is the end of one command:
/// `… | xargs -L1 kubectl delete`. Names that no server would take, as files may hold them, are
/// quoted for a shell, so that they are never more than one word.
pub fn arguments(namespace: &str, name: &str) -> String {
    format!("{} -n {}", word(&format!("pod/{name}")), word(namespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_named_with_its_namespace_and_as_two_words_at_most() {
        for (namespace, name, expected) in [
            ("serving", "embed-5f6b8", "pod/embed-5f6b8 -n serving"),
            ("a", "x; rm -rf ~", "'pod/x; rm -rf ~' -n a"),
            ("$(id)", "it's", r"'pod/it'\''s' -n '$(id)'"),
            ("", "x", "pod/x -n ''"),
        ] {
            assert_eq!(arguments(namespace, name), expected);
        }
    }
}
