//! Durations as people type them.

use std::time::Duration;

/// The longest time there is, as in Go: 292 years, which every clock can be set forward by.
const LONGEST: Duration = Duration::from_nanos(i64::MAX.unsigned_abs());

/// The value of `--request-timeout`, as kubectl reads it.
///
/// A bare number is seconds; otherwise Go's notation, such as `1m30s` or `500ms`. `Ok(None)` means
/// no limit, which is what zero says.
///
/// # Errors
///
/// The reason, when it is neither, or longer than 292 years.
pub fn parse_request_timeout(text: &str) -> Result<Option<Duration>, String> {
    let seconds = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
    let duration = if seconds {
        // A number that does not fit is too long, too.
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        go_duration(text).ok_or_else(|| {
            format!(
                "{text:?} is not a duration: use seconds, or a number with a unit such as 30s, 2m \
                 or 1h"
            )
        })?
    };
    Ok(Some(within_reason(text, duration)?).filter(|duration| !duration.is_zero()))
}

/// A length of time in Go's notation, such as `4h`, `90m` or `1h30m`; at most 292 years.
///
/// # Errors
///
/// The reason, when it is none, or longer.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let duration = go_duration(text).ok_or_else(|| {
        format!("{text:?} is not a duration: use a number with a unit, such as 30s, 90m or 4h")
    })?;
    within_reason(text, duration)
}

fn within_reason(text: &str, duration: Duration) -> Result<Duration, String> {
    if duration > LONGEST {
        let hours = LONGEST.as_secs() / 3600;
        return Err(format!("{text:?} is too long: at most {hours}h"));
    }
    Ok(duration)
}

/// Go's `time.ParseDuration`, without negative values; what is longer than can be counted is
/// [`Duration::MAX`].
fn go_duration(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return None;
    }
    // Only a whole duration of nothing has no unit.
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut total = 0.0_f64;
    while !rest.is_empty() {
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
    Some(Duration::try_from_secs_f64(total).unwrap_or(Duration::MAX))
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
        assert!(parse_duration("1h0").is_err(), "Go misses the unit");
    }

    #[test]
    fn time_that_no_clock_reaches_is_refused_with_the_longest_there_is() {
        for text in [
            "5000000000000000h",
            "2562048h",
            "1e9h",
            &format!("{}s", "9".repeat(400)),
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        let reason = parse_duration("2562048h").expect_err("too long");
        assert_eq!(reason, "\"2562048h\" is too long: at most 2562047h");
        assert!(parse_duration("2562047h").is_ok());
        for text in ["18446744073709551615", "99999999999999999999", "2562048h"] {
            assert!(parse_request_timeout(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "soon", "-3s", "5 s", "1d", "s", "1m30"] {
            assert!(parse_request_timeout(text).is_err(), "{text:?}");
        }
    }
}
