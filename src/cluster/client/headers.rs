//! What the headers of an answer say.

use std::time::Duration;

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER, WARNING};
use jiff::Timestamp;

/// The server's clock when it answered, with the precision of a second.
///
/// `None` without a date, with one in another form than HTTP prefers, and for a year that no clock
/// that runs can show: whoever asks has to say where else the time is from.
pub(in crate::cluster) fn server_time(headers: &HeaderMap) -> Option<Timestamp> {
    let text = headers.get(DATE)?.to_str().ok()?;
    // The preferred HTTP format differs from RFC 2822 only in the name of the time zone.
    let text = text
        .strip_suffix("GMT")
        .map(|time| format!("{time}+0000"))?;
    let time = jiff::fmt::rfc2822::parse(&text).ok()?;
    (2000..=2200)
        .contains(&time.year())
        .then(|| time.timestamp())
}

/// How long the server asks to wait before the request is sent again; API servers say it in seconds.
pub(in crate::cluster) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    seconds.parse().ok().map(Duration::from_secs)
}

/// The texts of all warnings for the user, in the order in which they were sent.
///
/// Only code 299 is meant for users. What does not follow RFC 7234 is left out, as in client-go.
///
/// Upstream: `ParseWarningHeaders` in `apimachinery/pkg/util/net/http.go`.
pub(in crate::cluster) fn warnings(headers: &HeaderMap) -> Vec<String> {
    headers
        .get_all(WARNING)
        .iter()
        .filter_map(|value| std::str::from_utf8(value.as_bytes()).ok())
        .flat_map(parse_warnings)
        .collect()
}

fn parse_warnings(header: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut rest = header.trim();
    while let Some((code, text, after)) = parse_warning(rest) {
        if code == "299" {
            texts.push(text);
        }
        rest = after;
    }
    texts
}

/// `CODE AGENT "TEXT"[ "DATE"]`, and what follows the comma after it.
fn parse_warning(header: &str) -> Option<(&str, String, &str)> {
    let (code, rest) = header.split_once(' ')?;
    if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (_agent, rest) = rest.split_once(' ')?;
    let (text, rest) = quoted(rest)?;
    let rest = rest.trim_start();
    let rest = match quoted(rest) {
        Some((_date, rest)) => rest.trim_start(),
        None => rest,
    };
    let rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    Some((code, text, rest))
}

/// A quoted string at the start of `text`, without its escapes, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut unescaped = String::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => return Some((unescaped, characters.as_str())),
            '\\' => unescaped.push(characters.next()?),
            other => unescaped.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &http::HeaderName, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(name, value.parse().expect("a header value"));
        }
        headers
    }

    #[test]
    fn date_is_the_servers_time() {
        let headers = headers(&DATE, &["Sat, 21 Nov 2026 04:43:27 GMT"]);
        assert_eq!(
            server_time(&headers),
            Some("2026-11-21T04:43:27Z".parse().expect("a time"))
        );
    }

    #[test]
    fn date_that_cannot_be_one_is_no_time() {
        for date in [
            "yesterday",
            "",
            "Sat, 21 Nov 2026 04:43:27 CET",
            "Sat, 31 Nov 2026 04:43:27 GMT",
            "Sun, 21 Nov 2026 04:43:27 GMT",
            "Fri, 31 Dec 9999 23:59:59 GMT",
            "Thu, 01 Jan 1970 00:00:00 GMT",
            "2026-11-21T04:43:27Z",
        ] {
            assert_eq!(server_time(&headers(&DATE, &[date])), None, "{date}");
        }
        assert_eq!(server_time(&HeaderMap::new()), None);
    }

    #[test]
    fn warnings_are_unquoted_and_split() {
        for (name, values, expected) in [
            ("plain", &[r#"299 - "old API""#][..], &["old API"][..]),
            (
                "with escapes",
                &[r#"299 - "say \"no\" \\""#],
                &[r#"say "no" \"#],
            ),
            (
                "two in one header",
                &[r#"299 - "one", 299 agent "two, too""#],
                &["one", "two, too"],
            ),
            (
                "two headers",
                &[r#"299 - "one""#, r#"299 - "two""#],
                &["one", "two"],
            ),
            (
                "with a date",
                &[r#"299 - "one" "Sat, 21 Nov 2026 04:43:27 GMT", 299 - "two""#],
                &["one", "two"],
            ),
            ("not for users", &[r#"199 - "cache""#], &[]),
            ("never closed", &[r#"299 - "oops"#], &[]),
            ("nonsense", &["hello"], &[]),
        ] {
            assert_eq!(warnings(&headers(&WARNING, values)), expected, "{name}");
        }
    }

    #[test]
    fn waiting_time_is_in_seconds() {
        let wait = |value| retry_after(&headers(&RETRY_AFTER, &[value]));
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("Sat, 21 Nov 2026 04:43:27 GMT"), None);
    }
}
