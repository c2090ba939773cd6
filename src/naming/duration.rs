//! Lengths of time, as kubectl writes ages and as people type them; and the expiry of a rule: `4h`, `2d`, `1w`,
//! `2026-12-01`, `2026-12-01T18:00:00Z`.

use std::str::FromStr;
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};

use super::device::NamingError;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY;

/// A length of time as kubectl writes ages: `90s`, `5m`, `2h30m`, `3d`; never more than two units.
///
/// Rounded down to what is shown; its sign does not matter.
///
/// Upstream: `k8s.io/apimachinery/pkg/util/duration.HumanDuration`.
pub fn human_duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().unsigned_abs();
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two_units(seconds, MINUTE, 1),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two_units(seconds, HOUR, MINUTE),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two_units(seconds, DAY, HOUR),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two_units(seconds, YEAR, DAY),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// A length of time in all its units: `10m30s`, `1d2h`, `0s`; its sign does not matter.
pub fn exact_duration(duration: SignedDuration) -> String {
    let mut left = duration.as_secs().unsigned_abs();
    let mut text = String::new();
    for unit in [DAY, HOUR, MINUTE, 1] {
        let number = left.checked_div(unit).unwrap_or_default();
        left = left.checked_rem(unit).unwrap_or_default();
        if number > 0 || (text.is_empty() && unit == 1) {
            text.push_str(&format!("{number}{}", letter(unit)));
        }
    }
    text
}

fn two_units(seconds: u64, large: u64, small: u64) -> String {
    let part = |seconds: u64, unit: u64| seconds.checked_div(unit).unwrap_or_default();
    let whole = format!("{}{}", part(seconds, large), letter(large));
    match part(seconds.checked_rem(large).unwrap_or_default(), small) {
        0 => whole,
        rest => format!("{whole}{rest}{}", letter(small)),
    }
}

fn letter(unit: u64) -> char {
    match unit {
        1 => 's',
        MINUTE => 'm',
        HOUR => 'h',
        DAY => 'd',
        _ => 'y',
    }
}

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

/// Expiry of a rule, as it was typed.
#[derive(Clone, Debug)]
pub enum Expiry {
    /// So long from now on. Days are those of UTC, and have 24 hours.
    After(Span),
    /// At this time.
    At(Timestamp),
}

/// Accepted forms, for messages.
const FORMS: &str = "use a duration such as 90m, 4h, 2d or 1w, a date such as 2026-12-01, or a \
     time such as 2026-12-01T18:00:00Z";

impl FromStr for Expiry {
    type Err = NamingError;

    /// Reads a length of time with units from seconds to years (`1h30m`, `2d`, `1w`, ISO 8601 too), a
    /// date, which means its beginning in UTC, or a time as RFC 3339.
    ///
    /// # Errors
    ///
    /// None of these, a time without a zone, or a length of time that is not above zero.
    fn from_str(text: &str) -> Result<Self, NamingError> {
        if let Ok(at) = text.parse::<Timestamp>() {
            return Ok(Self::At(at));
        }
        // `parse` would take a time as well, and leave out all but its date.
        if let Ok(date) = Date::strptime("%Y-%m-%d", text) {
            let midnight = date.to_zoned(TimeZone::UTC);
            let midnight = midnight.map_err(|_| wrong(text, TOO_FAR))?;
            return Ok(Self::At(midnight.timestamp()));
        }
        if text.parse::<jiff::civil::DateTime>().is_ok() {
            return Err(wrong(text, "it has no time zone; for UTC, append Z"));
        }
        match text.parse::<Span>() {
            Ok(span) if span.is_positive() => Ok(Self::After(span)),
            Ok(_) => Err(wrong(text, "it must be in the future")),
            Err(_) => Err(wrong(text, FORMS)),
        }
    }
}

const TOO_FAR: &str = "it is too far in the future";

impl Expiry {
    /// Time of expiry, with `now` as the present.
    ///
    /// # Errors
    ///
    /// A time that has passed, or one that is too far away to be written down: a rule never gets less
    /// of an expiry than was asked for.
    pub fn resolve(&self, now: Timestamp) -> Result<Timestamp, NamingError> {
        match self {
            Self::After(span) => {
                // By the calendar: a month is no fixed number of seconds.
                let at = now
                    .to_zoned(TimeZone::UTC)
                    .checked_add(*span)
                    .map_err(|_| wrong(&span.to_string(), TOO_FAR))?;
                Ok(at.timestamp())
            }
            Self::At(at) if *at > now => Ok(*at),
            Self::At(at) => {
                let problem = format!("it has passed: the server's time is {now}");
                Err(wrong(&at.to_string(), &problem))
            }
        }
    }
}

fn wrong(text: &str, problem: &str) -> NamingError {
    NamingError::invalid("expiry", text, problem)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_exact_duration_has_all_units_that_are_not_zero() {
        for (seconds, text) in [(0, "0s"), (630, "10m30s"), (300, "5m"), (93_601, "1d2h1s")] {
            assert_eq!(exact_duration(SignedDuration::from_secs(seconds)), text);
        }
    }

    #[test]
    fn durations_are_written_as_kubectl_writes_ages() {
        for (seconds, shown) in [
            (0, "0s"),
            (-30, "30s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (599, "9m59s"),
            (600, "10m"),
            (9_000, "150m"),
            (10_800, "3h"),
            (12_600, "3h30m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (315_360_000, "10y"),
            (i64::MAX, "292471208677y"),
        ] {
            let duration = SignedDuration::from_secs(seconds);
            assert_eq!(human_duration(duration), shown, "{seconds}");
        }
    }

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

    const NOW: &str = "2026-11-20T10:00:00Z";

    fn resolved(text: &str) -> Result<String, String> {
        let now = NOW.parse().expect("a time");
        let at = text
            .parse::<Expiry>()
            .and_then(|expiry| expiry.resolve(now));
        at.map(|at| at.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn expiry_is_a_length_of_time_a_date_or_a_time() {
        for (text, expected) in [
            ("4h", "2026-11-20T14:00:00Z"),
            ("90m", "2026-11-20T11:30:00Z"),
            ("1h30m", "2026-11-20T11:30:00Z"),
            ("1.5h", "2026-11-20T11:30:00Z"),
            ("45s", "2026-11-20T10:00:45Z"),
            ("2d", "2026-11-22T10:00:00Z"),
            ("1w", "2026-11-27T10:00:00Z"),
            ("1w2d", "2026-11-29T10:00:00Z"),
            ("2 days", "2026-11-22T10:00:00Z"),
            ("1mo", "2026-12-20T10:00:00Z"),
            ("P2D", "2026-11-22T10:00:00Z"),
            ("2026-12-01", "2026-12-01T00:00:00Z"),
            ("2026-12-01T18:00:00Z", "2026-12-01T18:00:00Z"),
            ("2026-12-01T18:00:00+01:00", "2026-12-01T17:00:00Z"),
        ] {
            assert_eq!(resolved(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_an_expiry_is_refused_and_never_left_out() {
        for (text, expected) in [
            ("", "use a duration"),
            ("soon", "use a duration"),
            ("90", "use a duration"),
            ("2026-13-01", "use a duration"),
            ("0s", "in the future"),
            ("-4h", "in the future"),
            ("4h ago", "in the future"),
            ("2026-12-01T18:00:00", "no time zone"),
            ("2026-11-20", "has passed"),
            ("2026-11-20T10:00:00Z", "has passed"),
            ("100000000h", "too far in the future"),
            ("9000y", "too far in the future"),
            ("5000000000000000h", "use a duration"),
            ("99999999999999999999s", "use a duration"),
        ] {
            let error = resolved(text).expect_err(text);
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_an_expiry_ahead_or_an_error(text in ".*", number in 0_u64.., unit in "[hmsdwy]|mo") {
            let now = NOW.parse().expect("a time");
            for text in [text, format!("{number}{unit}")] {
                if let Ok(at) = text.parse::<Expiry>().and_then(|expiry| expiry.resolve(now)) {
                    prop_assert!(at > now);
                }
            }
        }
    }
}
