//! `format`: values in a text.
//!
//! Upstream: `ext/formatting_v2.go` of cel-go, as far as its numbers need no locale.

use crate::engine::expression::error::Fault;
use crate::engine::expression::types::Type;
use crate::engine::expression::value::{Value, text};

use super::conversions::{seconds, shortest};
use super::times::with_offset;

/// A piece of a format: text as it is, or a place for a value.
enum Piece<'a> {
    Text(&'a str),
    Place {
        precision: Option<usize>,
        verb: char,
    },
}

/// Reads a format; nothing of it is right after an error.
fn pieces(format: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some(start) = rest.find('%') {
        let (before, after) = rest.split_at(start);
        pieces.push(Piece::Text(before));
        let after = &after[1..];
        if let Some(next) = after.strip_prefix('%') {
            pieces.push(Piece::Text("%"));
            rest = next;
            continue;
        }
        let (precision, after) = match after.strip_prefix('.') {
            Some(digits) => {
                let end = digits.find(|next: char| !next.is_ascii_digit());
                let (number, after) = digits.split_at(end.unwrap_or(digits.len()));
                let number = number.parse().map_err(|_| "no precision after the dot")?;
                (Some(number), after)
            }
            None => (None, after),
        };
        let verb = after.chars().next().ok_or("unexpected end of string")?;
        if !"sdfebxXo".contains(verb) {
            return Err(format!("unrecognized formatting clause \"{verb}\""));
        }
        pieces.push(Piece::Place { precision, verb });
        // All verbs are ASCII.
        rest = &after[1..];
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}

/// Whether values of a type can stand where a verb is.
fn takes(verb: char, of: &Type) -> bool {
    match of {
        Type::Dyn | Type::Variable(_) => true,
        Type::Int | Type::Uint => "sdbxXo".contains(verb),
        Type::Double => "sfe".contains(verb),
        Type::Text | Type::Bytes => "sxX".contains(verb),
        Type::Bool => "sb".contains(verb),
        Type::Null
        | Type::Duration
        | Type::Timestamp
        | Type::Kind
        | Type::List(_)
        | Type::Map(..) => verb == 's',
        Type::Semver
        | Type::Quantity
        | Type::Url
        | Type::Ip
        | Type::Cidr
        | Type::Format
        | Type::Device
        | Type::Optional(_) => false,
    }
}

/// What is wrong with a format that is written out, for arguments of these types.
pub(crate) fn check_format(format: &str, arguments: &[Type]) -> Result<(), String> {
    let mut arguments = arguments.iter();
    for piece in pieces(format)? {
        if let Piece::Place { verb, .. } = piece {
            let argument = arguments.next().ok_or("too few arguments for the format")?;
            if !takes(verb, argument) {
                return Err(format!("%{verb} takes no {argument}"));
            }
        }
    }
    match arguments.next() {
        Some(_) => Err("too many arguments supplied to string.format".to_owned()),
        None => Ok(()),
    }
}

pub(super) fn format(values: &[Value]) -> Result<Value, Fault> {
    let [Value::Text(format), Value::List(arguments)] = values else {
        return Err(Fault::overload());
    };
    let mut arguments = arguments.iter();
    let mut printed = String::new();
    for piece in pieces(format).map_err(Fault::Runtime)? {
        match piece {
            Piece::Text(text) => printed.push_str(text),
            Piece::Place { precision, verb } => {
                let argument = arguments
                    .next()
                    .ok_or_else(|| Fault::runtime("index out of range"))?;
                printed.push_str(&print(verb, precision, argument)?);
            }
        }
    }
    text(printed)
}

/// Most decimal places that are printed: a format must not decide how much memory an expression takes.
const MOST_DIGITS: usize = 100;

fn print(verb: char, precision: Option<usize>, value: &Value) -> Result<String, Fault> {
    if value.is_untold() {
        return Err(Fault::unsupported(
            "an expression that prints error messages of validate() with format()",
        ));
    }
    match (verb, value) {
        ('s', value) => plain(value),
        ('d', Value::Int(number)) => Ok(number.to_string()),
        ('d', Value::Uint(number)) => Ok(number.to_string()),
        ('f', Value::Double(_)) if precision > Some(MOST_DIGITS) => Err(Fault::unsupported(
            "more than 100 digits after the decimal point",
        )),
        ('f', Value::Double(number)) if number.is_finite() => {
            Ok(format!("{number:.*}", precision.unwrap_or(6)))
        }
        ('b', Value::Bool(value)) => Ok(u8::from(*value).to_string()),
        ('b' | 'x' | 'X' | 'o', Value::Int(number)) => {
            let sign = if *number < 0 { "-" } else { "" };
            Ok(format!("{sign}{}", based(verb, number.unsigned_abs())))
        }
        ('b' | 'x' | 'X' | 'o', Value::Uint(number)) => Ok(based(verb, *number)),
        ('x' | 'X', Value::Text(text)) => Ok(hexadecimal(verb, text.as_bytes())),
        ('x' | 'X', Value::Bytes(bytes)) => Ok(hexadecimal(verb, bytes)),
        // Upstream has ways of its own to print these, such as `1.234500×10⁰³` and `∞`.
        ('d' | 'f' | 'e', _) => Err(Fault::unsupported(format!("%{verb} of this value"))),
        _ => Err(Fault::runtime("no such conversion in a format")),
    }
}

fn based(verb: char, number: u64) -> String {
    match verb {
        'b' => format!("{number:b}"),
        'o' => format!("{number:o}"),
        'X' => format!("{number:X}"),
        _ => format!("{number:x}"),
    }
}

fn hexadecimal(verb: char, bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| {
            if verb == 'X' {
                format!("{byte:02X}")
            } else {
                format!("{byte:02x}")
            }
        })
        .collect()
}

/// `%s` of a value by itself.
fn plain(value: &Value) -> Result<String, Fault> {
    match value {
        Value::Text(text) => Ok(text.to_string()),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Int(number) => Ok(number.to_string()),
        Value::Uint(number) => Ok(number.to_string()),
        Value::Double(number) if number.is_finite() => Ok(shortest(*number)),
        Value::Null => Ok("null".to_owned()),
        Value::Duration(nanoseconds) => Ok(seconds(*nanoseconds)),
        Value::Timestamp(time) => with_offset(*time),
        Value::Bytes(bytes) => String::from_utf8(bytes.to_vec())
            .map_err(|_| Fault::unsupported("bytes that are not UTF-8 in format()")),
        Value::Kind(name) => Ok((*name).to_owned()),
        Value::Double(_) | Value::List(_) | Value::Map(_) => {
            Err(Fault::unsupported("a value of this type in format()"))
        }
        Value::Semver(_)
        | Value::Quantity(_)
        | Value::Url(_)
        | Value::Ip(_)
        | Value::Cidr(_)
        | Value::Format(_)
        | Value::Optional(_)
        | Value::Untold => Err(Fault::unsupported("a value of this type in format()")),
    }
}
