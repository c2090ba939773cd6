//! From one type to another.

use jiff::SignedDuration;

use super::times::{
    bounded, from_seconds, parse_duration, parse_timestamp, to_seconds, with_offset,
};
use crate::engine::expression::error::Fault;
use crate::engine::expression::value::{Value, text};

/// The functions that upstream calls as soon as their argument is written out: what fails does not
/// compile then.
pub(crate) const FOLDED: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "duration",
    "int",
    "string",
    "timestamp",
    "uint",
];

fn invalid(value: &str, to: &str) -> Fault {
    Fault::runtime(format!("cannot convert \"{value}\" to {to}"))
}

fn out_of_range() -> Fault {
    Fault::runtime("integer overflow")
}

pub(super) fn bool(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [value @ Value::Bool(_)] => Ok(value.clone()),
        [Value::Text(text)] => match text.as_ref() {
            // The words of Go's `strconv.ParseBool`.
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            other => Err(invalid(other, "bool")),
        },
        _ => Err(Fault::overload()),
    }
}

pub(super) fn bytes(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [value @ Value::Bytes(_)] => Ok(value.clone()),
        [Value::Text(text)] => Ok(Value::Bytes(text.as_bytes().into())),
        _ => Err(Fault::overload()),
    }
}

#[allow(clippy::cast_precision_loss, reason = "upstream rounds just so")]
pub(super) fn double(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [value @ Value::Double(_)] => Ok(value.clone()),
        [Value::Int(number)] => Ok(Value::Double(*number as f64)),
        [Value::Uint(number)] => Ok(Value::Double(*number as f64)),
        [Value::Text(text)] => parse_double(text).map(Value::Double),
        _ => Err(Fault::overload()),
    }
}

fn parse_double(text: &str) -> Result<f64, Fault> {
    let plain = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    let number = text.parse::<f64>().ok();
    match number {
        Some(number) if text.bytes().all(plain) && number.is_finite() => Ok(number),
        None if text.bytes().all(plain) || text.contains(' ') => Err(invalid(text, "double")),
        // Infinities, hexadecimal numbers and underscores, of which Go takes some.
        Some(_) | None => Err(Fault::unsupported(format!("double(\"{text}\")"))),
    }
}

pub(super) fn duration(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [value @ Value::Duration(_)] => Ok(value.clone()),
        [Value::Int(_)] => Err(Fault::unsupported("a duration from a number")),
        [Value::Text(text)] => parse_duration(text)
            .map(Value::Duration)
            .ok_or_else(|| invalid(text, "duration")),
        _ => Err(Fault::overload()),
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "within the range of the type"
)]
pub(super) fn int(values: &[Value]) -> Result<Value, Fault> {
    let number = match values {
        [Value::Int(number)] => Some(*number),
        [Value::Uint(number)] => i64::try_from(*number).ok(),
        [Value::Double(number)] => {
            let limit = 9_223_372_036_854_775_808.0;
            // Upstream excludes both limits, also -2⁶³, which an int64 could hold.
            (*number > -limit && *number < limit).then_some(*number as i64)
        }
        [Value::Duration(nanoseconds)] => Some(*nanoseconds),
        [Value::Timestamp(time)] => to_seconds(time.utc),
        [Value::Text(text)] => {
            return text
                .parse()
                .map(Value::Int)
                .map_err(|_| invalid(text, "int"));
        }
        _ => return Err(Fault::overload()),
    };
    number.map(Value::Int).ok_or_else(out_of_range)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "within the range of the type"
)]
pub(super) fn uint(values: &[Value]) -> Result<Value, Fault> {
    let number = match values {
        [Value::Uint(number)] => Some(*number),
        [Value::Int(number)] => u64::try_from(*number).ok(),
        [Value::Double(number)] => {
            (*number >= 0.0 && *number < 18_446_744_073_709_551_616.0).then_some(*number as u64)
        }
        [Value::Text(text)] => {
            // Rust reads a plus sign here, and Go's `ParseUint` does not.
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse().ok().filter(|_| digits);
            return number.map(Value::Uint).ok_or_else(|| invalid(text, "uint"));
        }
        _ => return Err(Fault::overload()),
    };
    number.map(Value::Uint).ok_or_else(out_of_range)
}

pub(super) fn timestamp(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [value @ Value::Timestamp(_)] => Ok(value.clone()),
        [Value::Int(seconds)] => bounded(
            from_seconds(*seconds).ok_or_else(out_of_range)?,
            SignedDuration::ZERO,
        ),
        [Value::Text(text)] => {
            let time = parse_timestamp(text).ok_or_else(|| invalid(text, "timestamp"))?;
            bounded(time.utc, time.offset)
        }
        _ => Err(Fault::overload()),
    }
}

pub(super) fn string(values: &[Value]) -> Result<Value, Fault> {
    let [value] = values else {
        return Err(Fault::overload());
    };
    match value {
        Value::Text(_) => Ok(value.clone()),
        Value::Bool(value) => text(value.to_string()),
        Value::Int(number) => text(number.to_string()),
        Value::Uint(number) => text(number.to_string()),
        Value::Double(number) => text(shortest(*number)),
        Value::Ip(address) => text(address.to_string()),
        Value::Cidr(cidr) => text(format!("{}/{}", cidr.address, cidr.bits)),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(valid) => text(valid),
            Err(_) => Err(Fault::runtime(
                "invalid UTF-8 in bytes, cannot convert to string",
            )),
        },
        Value::Duration(nanoseconds) => text(seconds(*nanoseconds)),
        Value::Timestamp(time) => text(with_offset(*time)?),
        Value::Untold => Err(Fault::unsupported("the error messages of validate()")),
        Value::Null
        | Value::Semver(_)
        | Value::Quantity(_)
        | Value::Url(_)
        | Value::Format(_)
        | Value::Kind(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Optional(_) => Err(Fault::overload()),
    }
}

/// As many seconds as a duration has, with a fraction where needed.
pub(super) fn seconds(nanoseconds: i64) -> String {
    let magnitude = nanoseconds.unsigned_abs();
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let whole = magnitude / 1_000_000_000;
    let fraction = format!("{:09}", magnitude % 1_000_000_000);
    match fraction.trim_end_matches('0') {
        "" => format!("{sign}{whole}s"),
        digits => format!("{sign}{whole}.{digits}s"),
    }
}

/// The shortest text that reads as `number`, as Go writes it (`%g`).
pub(super) fn shortest(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    // Go takes its shorter form from a million on.
    if number != 0.0 && !(-4..6).contains(&exponent) {
        return with_exponent(digits, exponent);
    }
    format!("{number}")
}

fn with_exponent(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

pub(super) fn dynamic(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [value] => Ok(value.clone()),
        _ => Err(Fault::overload()),
    }
}

pub(super) fn kind(values: &[Value]) -> Result<Value, Fault> {
    match values {
        [value] => Ok(Value::Kind(value.kind())),
        _ => Err(Fault::overload()),
    }
}
