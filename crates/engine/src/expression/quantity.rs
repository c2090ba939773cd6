//! Quantities as Kubernetes parses and compares them.

use super::error::Fault;

/// A quantity, exactly.
///
/// Upstream: `k8s.io/apimachinery/pkg/api/resource`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quantity {
    /// In billionths.
    pub(super) nanos: i128,
    /// The whole number, where upstream takes it for one: not with a fraction or too many digits.
    ///
    /// Upstream: `AsInt64`.
    pub(super) whole: Option<i64>,
}

const NANOS: i128 = 1_000_000_000;
/// The largest magnitude before upstream's own limits set in.
const MAXIMUM: i128 = 9_000_000_000_000_000_000 * NANOS;

/// Suffixes with their factor in billionths, and the digits before them that upstream holds in an int64:
/// `ParseQuantity` has a fast path for 18 digits, and for 14 of which a binary suffix takes three for each ten bits.
const SUFFIXES: &[(&str, i128, usize)] = &[
    ("n", 1, 18),
    ("u", 1_000, 18),
    ("m", 1_000_000, 18),
    ("", NANOS, 18),
    ("k", NANOS * 1_000, 18),
    ("M", NANOS * 1_000_000, 18),
    ("G", NANOS * NANOS, 18),
    ("T", NANOS * NANOS * 1_000, 18),
    ("P", NANOS * NANOS * 1_000_000, 18),
    ("E", NANOS * NANOS * NANOS, 18),
    ("Ki", NANOS << 10, 11),
    ("Mi", NANOS << 20, 8),
    ("Gi", NANOS << 30, 5),
    ("Ti", NANOS << 40, 2),
    ("Pi", NANOS << 50, 0),
    ("Ei", NANOS << 60, 0),
];

impl Quantity {
    /// Reads a quantity; nothing if it is none.
    ///
    /// Refuses exponents, and numbers that upstream rounds or cuts.
    ///
    /// Upstream: `ParseQuantity`.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, Fault> {
        let (sign, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = unsigned
            .find(|character: char| !character.is_ascii_digit() && character != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let refused = || Fault::unsupported(format!("the quantity {text}"));
        let known = SUFFIXES.iter().find(|(known, ..)| *known == suffix);
        let Some((_, factor, most_digits)) = known else {
            return match suffix.starts_with(['e', 'E']) {
                true => Err(refused()),
                false => Ok(None),
            };
        };
        if fraction.contains('.') || text.is_empty() {
            return Ok(None);
        }
        let exact = || {
            let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
            let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
            let scaled = digits.checked_mul(*factor)?;
            let is_exact = scaled.checked_rem(scale)? == 0;
            let nanos = scaled.checked_div(scale)?.checked_mul(sign)?;
            (is_exact && nanos.abs() <= MAXIMUM).then_some((scale, nanos))
        };
        let (scale, nanos) = exact().ok_or_else(refused)?;
        let digits = whole.len().saturating_add(fraction.len());
        let is_short = digits <= *most_digits && (*most_digits == 18 || fraction.is_empty());
        // Upstream takes `1.0` and `1000m` for no whole numbers.
        let is_whole = is_short && *factor >= NANOS.saturating_mul(scale);
        let whole = i64::try_from(nanos / NANOS).ok().filter(|_| is_whole);
        Ok(Some(Self { nanos, whole }))
    }
}
