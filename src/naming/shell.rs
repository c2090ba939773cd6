//! Quoting for a shell.

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
}
