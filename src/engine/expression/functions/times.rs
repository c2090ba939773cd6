//! Durations and times.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

use crate::engine::expression::error::Fault;
use crate::engine::expression::value::Value;

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
            let sum = time.checked_add(SignedDuration::from_nanos(*nanoseconds));
            bounded(sum.map_err(|_| overflow())?)
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
            let difference = time.checked_sub(SignedDuration::from_nanos(*nanoseconds));
            bounded(difference.map_err(|_| overflow())?)
        }
        (Value::Timestamp(left), Value::Timestamp(right)) => {
            let nanoseconds = left.as_nanosecond().saturating_sub(right.as_nanosecond());
            let nanoseconds = i64::try_from(nanoseconds).map_err(|_| overflow())?;
            Ok(Value::Duration(nanoseconds))
        }
        _ => Err(Fault::overload()),
    }
}

/// Years from 1 to 9999, as upstream.
pub(super) fn bounded(time: Timestamp) -> Result<Value, Fault> {
    // The other end needs no test: a timestamp of `jiff` has no year after 9999.
    let year = time.to_zoned(TimeZone::UTC).year();
    if year < 1 {
        return Err(overflow());
    }
    Ok(Value::Timestamp(time))
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
    (shape && plain_zone && !leap)
        .then(|| text.parse().ok())
        .flatten()
}

/// A part of a time in UTC; other time zones are refused.
fn part_of(values: &[Value], part: impl Fn(&Zoned) -> i64) -> Result<Value, Fault> {
    match values {
        [Value::Timestamp(time)] => Ok(Value::Int(part(&time.to_zoned(TimeZone::UTC)))),
        [Value::Timestamp(_), Value::Text(_)] => Err(Fault::unsupported("time zones")),
        _ => Err(Fault::overload()),
    }
}

/// A part of a time, or all of a duration in units of so many nanoseconds.
fn part_or_whole(
    values: &[Value],
    unit: i64,
    part: impl Fn(&Zoned) -> i64,
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
