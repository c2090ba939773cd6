//! What are versions and quantities to the crates?

use cel_interpreter::{IdedExpr, Value};

use super::functions::FUNCTIONS;
use super::tree::{call, text};

/// Returns the call that makes a version, or `None` if it might compare otherwise than upstream.
///
/// Without the part after `+`, which does not count in comparisons; the crate counts it.
pub(super) fn version(written: &str) -> Option<IdedExpr> {
    let numbers_fit = written
        .split(|character: char| !character.is_ascii_digit())
        .all(|digits| digits.len() <= 18);
    let version = call("semver", vec![text(written.split('+').next()?)]);
    let valid = FUNCTIONS
        .resolve(&call("semver", vec![text(written)]))
        .is_ok();
    (numbers_fit && valid && value(&version).is_some()).then_some(version)
}

/// Returns the call that makes a quantity, or `None` if the crate might overflow or round otherwise.
///
/// Upstream holds whole billionths, up to 2⁶³.
pub(super) fn quantity(written: &str) -> Option<IdedExpr> {
    let unsigned = written.strip_prefix(['+', '-']).unwrap_or(written);
    let end = unsigned
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (places, factor): (usize, f64) = match suffix {
        "n" => (0, 1e-9),
        "u" => (3, 1e-6),
        "m" => (6, 1e-3),
        "" => (9, 1.0),
        "k" => (9, 1e3),
        "M" => (9, 1e6),
        "G" => (9, 1e9),
        "T" => (9, 1e12),
        "P" => (9, 1e15),
        "E" => (9, 1e18),
        "Ki" => (9, 1024.0),
        "Mi" => (9, 1024_f64.powi(2)),
        "Gi" => (9, 1024_f64.powi(3)),
        "Ti" => (9, 1024_f64.powi(4)),
        "Pi" => (9, 1024_f64.powi(5)),
        "Ei" => (9, 1024_f64.powi(6)),
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fits = !whole.is_empty() && whole.len() <= 18 && fraction.len() <= places;
    let small = number
        .parse::<f64>()
        .is_ok_and(|number| number * factor < 9.2e18);
    let quantity = call("quantity", vec![text(written)]);
    (fits && small && value(&quantity).is_some()).then_some(quantity)
}

/// Returns what a call without variables gives, unless it fails.
pub(super) fn value(call: &IdedExpr) -> Option<Value> {
    FUNCTIONS.resolve(call).ok()
}
