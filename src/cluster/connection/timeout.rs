//! How long may a server be silent?

use std::time::Duration;

/// What applies when nothing is said.
pub const DEFAULT_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The value of `--request-timeout`, as kubectl reads it.
///
/// A bare number is seconds; otherwise Go's notation, such as `1m30s` or `500ms`. `Ok(None)` means
/// no limit, which is what zero says.
///
/// # Errors
///
/// The reason, when it is neither.
pub fn parse_request_timeout(text: &str) -> Result<Option<Duration>, String> {
    let duration = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => go_duration(text).ok_or_else(|| {
            format!(
                "{text:?} is not a time: give seconds, or a number with a unit such as 30s, 2m or 1h"
            )
        })?,
    };
    Ok(Some(duration).filter(|duration| !duration.is_zero()))
}

/// A length of time in Go's notation, such as `4h`, `90m` or `1h30m`.
///
/// # Errors
///
/// The reason, when it is none.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    go_duration(text).ok_or_else(|| {
        format!("{text:?} is not a time: give a number with a unit, such as 30s, 90m or 4h")
    })
}

/// Go's `time.ParseDuration`, without negative values.
fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return None;
    }
    let mut total = 0.0_f64;
    while !rest.is_empty() {
        if rest == "0" {
            break;
        }
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let (unit, after) = after.split_at(
            after
                .find(|c: char| c.is_ascii_digit() || c == '.')
                .unwrap_or(after.len()),
        );
        let seconds = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" | "μs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * seconds;
        rest = after;
    }
    Duration::try_from_secs_f64(total).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeout_is_read_as_kubectl_reads_it() {
        let millis = |text: &str| {
            parse_request_timeout(text).map(|timeout| timeout.map(|timeout| timeout.as_millis()))
        };
        for (text, expected) in [
            ("0", None),
            ("0s", None),
            ("7", Some(7_000)),
            ("30s", Some(30_000)),
            ("1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("500ms", Some(500)),
        ] {
            assert_eq!(millis(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "soon", "-3s", "5 s", "1d", "s", "1m30"] {
            assert!(parse_request_timeout(text).is_err(), "{text:?}");
        }
    }
}
