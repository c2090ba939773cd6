//! Quantities as Kubernetes parses and compares them.

use super::error::Fault;

/// A quantity, exactly.
///
/// Upstream: `k8s.io/apimachinery/pkg/api/resource`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quantity {
    /// In billionths.
    pub(super) nanos: i128,
    form: Form,
}

/// How upstream holds it, which decides what it takes for a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A number times a power of ten.
    Scaled(i64, i32),
    /// As a decimal of any length, which is never whole.
    Decimal,
    /// The outcome of a sum.
    Sum,
}

const NANOS: i128 = 1_000_000_000;
/// The largest magnitude before upstream's own limits set in.
const MAXIMUM: i128 = 9_000_000_000_000_000_000 * NANOS;

/// A suffix that multiplies by a power of ten or two.
#[derive(Clone, Copy)]
enum Suffix {
    Ten(i32),
    Two(u32),
}

impl Quantity {
    /// Reads a quantity; nothing if it is none.
    ///
    /// Refuses what upstream rounds or cuts.
    ///
    /// Upstream: `ParseQuantity`.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, Fault> {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = unsigned
            .find(|character: char| !character.is_ascii_digit() && character != '.')
            .unwrap_or(unsigned.len());
        let (number, written) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let Some(suffix) = suffix(written) else {
            let exponent = written.strip_prefix(['e', 'E']).unwrap_or_default();
            return match exponent.trim_start_matches(['+', '-']) {
                digits if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                    Err(Fault::unsupported(format!("the quantity {text}")))
                }
                _ => Ok(None),
            };
        };
        if fraction.contains('.') || text.is_empty() {
            return Ok(None);
        }
        let refused = || Fault::unsupported(format!("the quantity {text}"));
        let digits = format!("{}{fraction}", whole.trim_start_matches('0'));
        if digits.len() > 27 || fraction.len() > 24 {
            return Err(refused());
        }
        let mut value: i128 = digits.parse().unwrap_or_default();
        let mut exponent = i32::try_from(fraction.len())
            .unwrap_or_default()
            .saturating_neg();
        if let Suffix::Ten(tens) = suffix {
            exponent = exponent.saturating_add(tens);
        }
        let scale = exponent;
        if let Suffix::Two(twos) = suffix {
            value = 1_i128
                .checked_shl(twos)
                .and_then(|factor| value.checked_mul(factor))
                .ok_or_else(refused)?;
        }
        let nanos = scaled(value, exponent.saturating_add(9))
            .filter(|nanos| *nanos <= MAXIMUM)
            .ok_or_else(refused)?;
        let signed = |number: i128| {
            if negative {
                number.saturating_neg()
            } else {
                number
            }
        };
        let form = match form(whole, fraction, suffix, scale) {
            Some(scale) => match i64::try_from(signed(value)) {
                Ok(value) => Form::Scaled(value, scale),
                Err(_) => return Err(refused()),
            },
            None => Form::Decimal,
        };
        Ok(Some(Self {
            nanos: signed(nanos),
            form,
        }))
    }

    /// As a whole number, where upstream takes it for one.
    ///
    /// Upstream: `AsInt64`.
    pub(super) fn whole(&self) -> Result<Option<i64>, Fault> {
        match self.form {
            Form::Scaled(value, 0) => Ok(Some(value)),
            Form::Scaled(value, scale) if scale > 0 => {
                let number = scaled(i128::from(value), scale);
                Ok(number.and_then(|number| i64::try_from(number).ok()))
            }
            Form::Scaled(..) | Form::Decimal => Ok(None),
            Form::Sum => Err(Fault::unsupported("a sum of quantities as a number")),
        }
    }

    /// The nearest double, where it is told exactly.
    #[allow(clippy::cast_precision_loss, reason = "upstream rounds just so")]
    pub(super) fn approximate(&self) -> Result<f64, Fault> {
        match self.form {
            Form::Scaled(value, 0) => Ok(value as f64),
            Form::Scaled(..) | Form::Decimal | Form::Sum => {
                Err(Fault::unsupported("asApproximateFloat() of that quantity"))
            }
        }
    }

    /// Itself and `other`, the latter taken away with `subtract`.
    pub(super) fn combine(&self, other: &Self, subtract: Subtract) -> Result<Self, Fault> {
        let nanos = match subtract {
            Subtract::No => self.nanos.checked_add(other.nanos),
            Subtract::Yes => self.nanos.checked_sub(other.nanos),
        };
        let nanos = nanos.filter(|nanos| nanos.abs() <= MAXIMUM);
        Ok(Self {
            nanos: nanos.ok_or_else(|| Fault::unsupported("a sum of quantities this large"))?,
            form: Form::Sum,
        })
    }

    /// Whether it is the outcome of a sum.
    pub(super) fn is_sum(&self) -> bool {
        self.form == Form::Sum
    }

    /// A whole number.
    pub(super) fn of_whole(number: i64) -> Self {
        Self {
            nanos: i128::from(number).saturating_mul(NANOS),
            form: Form::Scaled(number, 0),
        }
    }
}

/// Whether the second of two quantities is taken away from the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subtract {
    No,
    Yes,
}

/// The scale with which upstream holds the number, unless it takes its slower way.
fn form(whole: &str, fraction: &str, suffix: Suffix, scale: i32) -> Option<i32> {
    let digits = i64::try_from(whole.len().saturating_add(fraction.len())).ok()?;
    let whole_digits = i64::try_from(whole.len()).ok()?;
    // The numbers are those of the fast path of `ParseQuantity`: 18 digits fit an int64, and a binary suffix of ten
    // bits takes three of 14.
    let spare = match suffix {
        Suffix::Ten(_) => 18_i64.saturating_sub(digits),
        Suffix::Two(twos) if fraction.is_empty() => {
            let taken = i64::from(twos).saturating_mul(3) / 10;
            14_i64.saturating_sub(whole_digits).saturating_sub(taken)
        }
        Suffix::Two(_) => return None,
    };
    (spare >= 0 && scale >= -9).then_some(scale)
}

fn suffix(written: &str) -> Option<Suffix> {
    Some(match written {
        "n" => Suffix::Ten(-9),
        "u" => Suffix::Ten(-6),
        "m" => Suffix::Ten(-3),
        "" => Suffix::Ten(0),
        "k" => Suffix::Ten(3),
        "M" => Suffix::Ten(6),
        "G" => Suffix::Ten(9),
        "T" => Suffix::Ten(12),
        "P" => Suffix::Ten(15),
        "E" => Suffix::Ten(18),
        "Ki" => Suffix::Two(10),
        "Mi" => Suffix::Two(20),
        "Gi" => Suffix::Two(30),
        "Ti" => Suffix::Two(40),
        "Pi" => Suffix::Two(50),
        "Ei" => Suffix::Two(60),
        _ => {
            let exponent = written.strip_prefix(['e', 'E'])?;
            Suffix::Ten(
                exponent
                    .parse()
                    .ok()
                    .filter(|tens: &i32| tens.abs() < 100)?,
            )
        }
    })
}

/// `number` times ten to the `exponent`, if that is a whole number of no more than 38 digits.
fn scaled(number: i128, exponent: i32) -> Option<i128> {
    let factor = 10_i128.checked_pow(exponent.unsigned_abs())?;
    if exponent >= 0 {
        number.checked_mul(factor)
    } else {
        (number.checked_rem(factor)? == 0).then(|| number.checked_div(factor))?
    }
}
