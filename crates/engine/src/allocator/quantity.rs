//! Quantities as exact numbers.

/// An amount in billionths, as exact as Kubernetes is.
pub(super) type Amount = i128;

/// One of whatever is counted.
pub(super) const ONE: Amount = 1_000_000_000;

/// A thousandth of it.
pub(super) const MILLI: Amount = 1_000_000;

/// The largest amount that Kubernetes knows; what is more counts as this.
const LARGEST: Amount = 9_223_372_036_854_775_807 * ONE;

/// The amount that `written` means; absent where it is no quantity.
///
/// Upstream: `ParseQuantity` in `k8s.io/apimachinery/pkg/api/resource/quantity.go`.
pub(super) fn amount(written: &str) -> Option<Amount> {
    let (is_negative, unsigned) = match written.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, written.strip_prefix('+').unwrap_or(written)),
    };
    let end = unsigned
        .find(|character: char| !character.is_ascii_digit() && character != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // Upstream parses `5.` and `.5`, but no point alone.
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let digits: Amount = format!("{whole}{fraction}").parse().ok()?;
    let places = u32::try_from(fraction.len()).ok()?;
    let (factor, shift) = unit(suffix)?;
    let magnitude = scaled(
        digits.checked_mul(factor)?,
        shift.checked_sub(places as i32)?,
    )?
    .min(LARGEST);
    if is_negative {
        return magnitude.checked_neg();
    }
    Some(magnitude)
}

/// Factor of a suffix, and the power of ten that comes on top, to billionths.
fn unit(suffix: &str) -> Option<(Amount, i32)> {
    let binary = |power: u32| 1024_i128.checked_pow(power).map(|factor| (factor, 9));
    match suffix {
        "n" => Some((1, 0)),
        "u" => Some((1, 3)),
        "m" => Some((1, 6)),
        "" => Some((1, 9)),
        "k" => Some((1, 12)),
        "M" => Some((1, 15)),
        "G" => Some((1, 18)),
        "T" => Some((1, 21)),
        "P" => Some((1, 24)),
        "E" => Some((1, 27)),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        exponent => {
            let power: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            Some((1, power.checked_add(9)?))
        }
    }
}

/// So many times ten to the power; what does not come out even is rounded up.
fn scaled(digits: Amount, power: i32) -> Option<Amount> {
    if digits == 0 {
        return Some(0);
    }
    let factor = 10_i128.checked_pow(power.unsigned_abs());
    if power >= 0 {
        // Beyond every limit there is one answer.
        let product = factor.and_then(|factor| digits.checked_mul(factor));
        return Some(product.unwrap_or(LARGEST));
    }
    match factor {
        Some(factor) => {
            let rounded = digits.checked_add(factor.checked_sub(1)?)?;
            rounded.checked_div(factor)
        }
        // Upstream rounds away from zero, so that no amount, however small, becomes nothing.
        None => Some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_those_of_kubernetes() {
        for (written, expected) in [
            ("0", Some(0)),
            ("1", Some(ONE)),
            ("-2", Some(-2 * ONE)),
            ("1.5", Some(1_500_000_000)),
            (".5", Some(500_000_000)),
            ("5.", Some(5 * ONE)),
            ("100m", Some(100 * MILLI)),
            ("2k", Some(2_000 * ONE)),
            ("1Ki", Some(1_024 * ONE)),
            ("1.5Gi", Some(1_610_612_736 * ONE)),
            ("1e3", Some(1_000 * ONE)),
            ("12E-1", Some(1_200_000_000)),
            ("1E", Some(1_000_000_000_000_000_000 * ONE)),
            ("99E", Some(LARGEST)),
            ("1e99", Some(LARGEST)),
            ("0.1n", Some(1)),
            ("1n", Some(1)),
            ("0e99", Some(0)),
            ("", None),
            (".", None),
            ("1.2.3", None),
            ("much", None),
            ("1 Gi", None),
            ("1ki", None),
        ] {
            assert_eq!(amount(written), expected, "{written}");
        }
    }
}
