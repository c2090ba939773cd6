//! Escaping of text in HTML and Markdown.

use crate::output::escape;

/// Text as text, in elements and in attributes.
pub(super) fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in escape::line(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tries_to_be_markup_is_text() {
        for (raw, shown) in [
            (
                "</script><script>x</script>",
                "&lt;/script&gt;&lt;script&gt;x&lt;/script&gt;",
            ),
            ("\" onload='x'", "&quot; onload=&#39;x&#39;"),
            ("&lt;", "&amp;lt;"),
            ("<!--", "&lt;!--"),
            ("a\u{202e}b\u{0}\n", r"a\u202eb\x00\n"),
        ] {
            assert_eq!(text(raw), shown);
        }
    }
}
