//! Durations and times.

use jiff::SignedDuration;
use jiff::civil::DateTime;

use crate::engine::expression::error::Fault;
use crate::engine::expression::value::{Timestamp, Value};

fn overflow() -> Fault {
    Fault::runtime("integer overflow")
}

pub(super) fn add(left: &Value, right: &Value) -> Result<Value, Fault> {
    match (left, right) {
        (Value::Duration(left), Value::Duration(right)) => left
            .checked_add(*right)
            .map(Value::Duration)
            .ok_or_else(overflow),
        (Value::Timestamp(time), Value::Duration(nanoseconds))
        | (Value::Duration(nanoseconds), Value::Timestamp(time)) => {
            let sum = time
                .utc
                .checked_add(SignedDuration::from_nanos(*nanoseconds));
            bounded(sum.map_err(|_| overflow())?, time.offset)
        }
        _ => Err(Fault::overload()),
    }
}

pub(super) fn subtract(left: &Value, right: &Value) -> Result<Value, Fault> {
    match (left, right) {
        (Value::Duration(left), Value::Duration(right)) => left
            .checked_sub(*right)
            .map(Value::Duration)
            .ok_or_else(overflow),
        (Value::Timestamp(time), Value::Duration(nanoseconds)) => {
            let difference = time
                .utc
                .checked_sub(SignedDuration::from_nanos(*nanoseconds));
            bounded(difference.map_err(|_| overflow())?, time.offset)
        }
        (Value::Timestamp(left), Value::Timestamp(right)) => {
            let nanoseconds = left.utc.duration_since(right.utc).as_nanos();
            let nanoseconds = i64::try_from(nanoseconds).map_err(|_| overflow())?;
            Ok(Value::Duration(nanoseconds))
        }
        _ => Err(Fault::overload()),
    }
}

/// Years from 1 to 9999 in UTC, as upstream.
pub(super) fn bounded(utc: DateTime, offset: SignedDuration) -> Result<Value, Fault> {
    // The other end needs no test: `jiff` has no year after 9999. A `Timestamp` of it ends a day before that.
    if utc.year() < 1 {
        return Err(overflow());
    }
    Ok(Value::Timestamp(Timestamp { utc, offset }))
}

/// 1970.
const EPOCH: DateTime = jiff::civil::datetime(1970, 1, 1, 0, 0, 0, 0);

/// The time so many seconds after 1970, if there is one.
pub(super) fn from_seconds(seconds: i64) -> Option<DateTime> {
    EPOCH.checked_add(SignedDuration::from_secs(seconds)).ok()
}

/// The whole seconds since 1970, which are fewer before it: `Unix` of Go's `time.Time`.
pub(super) fn to_seconds(time: DateTime) -> Option<i64> {
    let nanoseconds = time.duration_since(EPOCH).as_nanos();
    i64::try_from(nanoseconds.checked_div_euclid(1_000_000_000)?).ok()
}

/// Reads a duration as Go writes it; nothing if it is none.
///
/// Upstream: `time.ParseDuration`.
pub(super) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut sum = 0_i128;
    while !rest.is_empty() {
        let end = rest.find(|next: char| !next.is_ascii_digit() && next != '.')?;
        let (number, after) = rest.split_at(end);
        let unit_end = after.find(|next: char| next.is_ascii_digit() || next == '.');
        let (unit, after) = after.split_at(unit_end.unwrap_or(after.len()));
        let nanoseconds: i128 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        sum = sum.checked_add(part(number, nanoseconds)?)?;
        rest = after;
    }
    i64::try_from(if negative { sum.checked_neg()? } else { sum }).ok()
}

fn part(number: &str, unit: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || number.len() > 30 {
        return None;
    }
    let parsed = |digits: &str| {
        if digits.is_empty() {
            Some(0)
        } else {
            digits.parse().ok()
        }
    };
    let whole: i128 = parsed(whole)?;
    // Digits after these are less than a hundredth of a nanosecond, even of an hour.
    let fraction_digits = fraction.get(..fraction.len().min(15))?;
    let fraction: i128 = parsed(fraction_digits)?;
    let scale = 10_i128.checked_pow(u32::try_from(fraction_digits.len()).ok()?)?;
    let fraction = fraction.checked_mul(unit)?.checked_div(scale)?;
    whole.checked_mul(unit)?.checked_add(fraction)
}

/// Reads a time; nothing if it is none.
pub(super) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    // `jiff` reads more than Go's RFC 3339, such as a blank for the T.
    let shape = text
        .get(..19)?
        .bytes()
        .enumerate()
        .all(|(place, byte)| match place {
            4 | 7 => byte == b'-',
            10 => byte == b'T',
            13 | 16 => byte == b':',
            _ => byte.is_ascii_digit(),
        });
    let rest = text.get(19..)?;
    let zone = rest.trim_start_matches(|next: char| next == '.' || next.is_ascii_digit());
    let plain_zone = zone == "Z"
        || (zone.len() == 6
            && zone.starts_with(['+', '-'])
            && zone.as_bytes().get(3) == Some(&b':'));
    // Go refuses a leap second, and `jiff` reads it.
    let leap = text.get(17..19) == Some("60");
    if !shape || !plain_zone || leap {
        return None;
    }
    let local: DateTime = text.strip_suffix(zone)?.parse().ok()?;
    let offset = offset(zone)?;
    let utc = local.checked_sub(offset).ok()?;
    Some(Timestamp { utc, offset })
}

/// The time as it was written, in its own offset.
///
/// Upstream: `Timestamp.ConvertToType` of cel-go, which does not convert it to UTC.
pub(super) fn with_offset(time: Timestamp) -> Result<String, Fault> {
    let Timestamp { utc, offset } = time;
    let local = utc
        .checked_add(offset)
        .map_err(|_| Fault::unsupported("a time beyond the year 9999"))?;
    if local.year() < 1 {
        return Err(Fault::unsupported("a time before the year 1"));
    }
    if offset.is_zero() {
        return Ok(format!("{local}Z"));
    }
    let sign = if offset.is_negative() { '-' } else { '+' };
    let minutes = offset.abs().as_mins();
    let (hours, rest) = (minutes.div_euclid(60), minutes.rem_euclid(60));
    Ok(format!("{local}{sign}{hours:02}:{rest:02}"))
}

/// The offset of a zone, as `Z` or `+01:00`. Some people write one of 24 hours or 60 minutes, which Go reads.
fn offset(zone: &str) -> Option<SignedDuration> {
    if zone == "Z" {
        return Some(SignedDuration::ZERO);
    }
    let number = |part: Option<&str>, most: i64| {
        let part = part.filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))?;
        part.parse().ok().filter(|number: &i64| *number <= most)
    };
    let (hours, minutes) = (number(zone.get(1..3), 24)?, number(zone.get(4..6), 60)?);
    let all = hours
        .checked_mul(60)?
        .checked_add(minutes)?
        .checked_mul(60)?;
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    Some(SignedDuration::from_secs(all.checked_mul(sign)?))
}

/// A part of a time in UTC; other time zones are refused.
fn part_of(values: &[Value], part: impl Fn(&DateTime) -> i64) -> Result<Value, Fault> {
    match values {
        [Value::Timestamp(time)] => Ok(Value::Int(part(&time.utc))),
        [Value::Timestamp(_), Value::Text(_)] => Err(Fault::unsupported("time zones")),
        _ => Err(Fault::overload()),
    }
}

/// A part of a time, or all of a duration in units of so many nanoseconds.
fn part_or_whole(
    values: &[Value],
    unit: i64,
    part: impl Fn(&DateTime) -> i64,
) -> Result<Value, Fault> {
    match values {
        [Value::Duration(nanoseconds)] => {
            let units = nanoseconds.checked_div(unit);
            units.map(Value::Int).ok_or_else(overflow)
        }
        values => part_of(values, part),
    }
}

pub(super) fn year(values: &[Value]) -> Result<Value, Fault> {
    part_of(values, |time| i64::from(time.year()))
}

pub(super) fn month(values: &[Value]) -> Result<Value, Fault> {
    part_of(values, |time| i64::from(time.month()).saturating_sub(1))
}

pub(super) fn day_of_year(values: &[Value]) -> Result<Value, Fault> {
    part_of(values, |time| {
        i64::from(time.day_of_year()).saturating_sub(1)
    })
}

pub(super) fn day_of_month(values: &[Value]) -> Result<Value, Fault> {
    // From zero, where `getDate` counts from one: CEL has both.
    part_of(values, |time| i64::from(time.day()).saturating_sub(1))
}

pub(super) fn date(values: &[Value]) -> Result<Value, Fault> {
    part_of(values, |time| i64::from(time.day()))
}

pub(super) fn day_of_week(values: &[Value]) -> Result<Value, Fault> {
    part_of(values, |time| {
        i64::from(time.weekday().to_sunday_zero_offset())
    })
}

pub(super) fn hours(values: &[Value]) -> Result<Value, Fault> {
    part_or_whole(values, 3_600_000_000_000, |time| i64::from(time.hour()))
}

pub(super) fn minutes(values: &[Value]) -> Result<Value, Fault> {
    part_or_whole(values, 60_000_000_000, |time| i64::from(time.minute()))
}

pub(super) fn seconds(values: &[Value]) -> Result<Value, Fault> {
    part_or_whole(values, 1_000_000_000, |time| i64::from(time.second()))
}

pub(super) fn milliseconds(values: &[Value]) -> Result<Value, Fault> {
    part_or_whole(values, 1_000_000, |time| i64::from(time.millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::expression::functions::conversions::{int, string, timestamp};

    #[test]
    fn times_are_those_of_the_years_1_to_9999_to_the_last_second() {
        let of = |text: &str| {
            let time = timestamp(&[Value::Text(text.into())]).ok()?;
            let Value::Text(text) = string(&[time]).ok()? else {
                return None;
            };
            Some(text.to_string())
        };
        for (text, expected) in [
            ("2024-02-29T12:00:00Z", Some("2024-02-29T12:00:00Z")),
            (
                "2024-02-29T12:00:00.5+01:30",
                Some("2024-02-29T12:00:00.5+01:30"),
            ),
            (
                "2024-02-29T12:00:00-24:00",
                Some("2024-02-29T12:00:00-24:00"),
            ),
            ("2024-02-29T12:00:00-00:00", Some("2024-02-29T12:00:00Z")),
            ("9999-12-31T23:59:59Z", Some("9999-12-31T23:59:59Z")),
            ("0001-01-01T00:00:00Z", Some("0001-01-01T00:00:00Z")),
            ("0001-01-01T00:00:00+00:01", None),
            ("9999-12-31T23:59:59-00:01", None),
            ("2024-02-29T12:00:00+25:00", None),
            ("2024-02-29T12:00:00+01:61", None),
            ("2024-02-29T12:00:00+1x:00", None),
            ("2023-02-29T12:00:00Z", None),
            ("2024-02-29T12:00:60Z", None),
            ("2024-02-29 12:00:00Z", None),
        ] {
            assert_eq!(of(text).as_deref(), expected, "{text}");
        }
        let end = parse_timestamp("9999-12-31T23:59:59Z").unwrap();
        let last = 253_402_300_799;
        assert_eq!(to_seconds(end.utc), Some(last));
        let before = parse_timestamp("1969-12-31T23:59:59.5Z").unwrap();
        assert_eq!(to_seconds(before.utc), Some(-1));
        assert!(int(&[Value::Timestamp(end)]).is_ok());
        assert!(timestamp(&[Value::Int(last)]).is_ok());
        assert!(timestamp(&[Value::Int(last + 1)]).is_err());
        let second = Value::Duration(1_000_000_000);
        assert!(add(&Value::Timestamp(end), &second).is_err());
    }
}
