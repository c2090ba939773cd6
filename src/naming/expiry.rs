//! Until when is a rule wanted: `4h`, `2d`, `1w`, `2026-12-01`, `2026-12-01T18:00:00Z`.

use std::str::FromStr;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::error::NamingError;

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
            return match midnight {
                Ok(midnight) => Ok(Self::At(midnight.timestamp())),
                Err(_) => Err(wrong(text, TOO_FAR)),
            };
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
    NamingError::Invalid {
        field: "expiry",
        value: text.to_owned(),
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
