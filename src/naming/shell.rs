//! Arguments of printed commands, quoted for a shell.

/// The text as one word of a shell, and of xargs: in quotes, unless it needs none.
pub fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/=:,@+".contains(&byte);
    // Where it begins a word, `=` means a program to zsh.
    if !text.is_empty() && !text.starts_with('=') && text.bytes().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The pod as arguments of kubectl: `pod/NAME -n NAMESPACE`.
///
/// kubectl's own `-o name` leaves the namespace out, so that what `get pods --all-namespaces` prints
/// cannot be given back to it. One such line is the end of one command:
/// `… | xargs -L1 kubectl delete`. Names that no server would take, as files may hold them, are
/// quoted for a shell, so that they are never more than one word.
pub fn pod_arguments(namespace: &str, name: &str) -> String {
    format!("{} -n {}", word(&format!("pod/{name}")), word(namespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_would_take_for_something_else_is_quoted() {
        for (text, pasted) in [
            (
                "gpu.example.com/node-7/gpu-0",
                "gpu.example.com/node-7/gpu-0",
            ),
            ("example.com/m=a,b:NoExecute", "example.com/m=a,b:NoExecute"),
            ("https://host:6443", "https://host:6443"),
            ("gpu.example.com/*/*", "'gpu.example.com/*/*'"),
            ("it's", r"'it'\''s'"),
            ("=ls", "'=ls'"),
            ("", "''"),
        ] {
            assert_eq!(word(text), pasted);
        }
    }

    #[test]
    fn a_pod_is_named_with_its_namespace_and_as_two_words_at_most() {
        for (namespace, name, expected) in [
            ("serving", "embed-5f6b8", "pod/embed-5f6b8 -n serving"),
            ("a", "x; rm -rf ~", "'pod/x; rm -rf ~' -n a"),
            ("$(id)", "it's", r"'pod/it'\''s' -n '$(id)'"),
            ("", "x", "pod/x -n ''"),
        ] {
            assert_eq!(pod_arguments(namespace, name), expected);
        }
    }
}
