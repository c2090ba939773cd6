//! Capacities that requests take of devices, and the quantities in which they are written.

use super::pool::Unknown;
use crate::model::{CapacityPolicy, CapacityRange, Device};
use crate::semantics::Semantics;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Requested capacities, by name.
pub(super) type RequestedCapacity = BTreeMap<Arc<str>, Arc<str>>;

/// Consumed capacities of a device, by their names as [`CapacityNames::short`] has them.
pub(super) type ConsumedCapacity<'a> = BTreeMap<&'a str, Portion>;

/// Amount that is taken of a capacity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Portion {
    /// The amount.
    pub(super) portion: Amount,
    /// Capacity of the device.
    whole: Amount,
}

/// Reason for which the amounts that a request takes cannot be calculated.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CapacityError {
    /// An amount cannot be calculated.
    Unreadable,
    /// The request has this capacity twice, with the driver's name and without: the scheduler gives up.
    Twice(String),
}

impl From<CapacityError> for Unknown {
    fn from(error: CapacityError) -> Self {
        match error {
            CapacityError::Unreadable => {
                Self::from("an amount of capacity is invalid or out of range".to_owned())
            }
            CapacityError::Twice(name) => Self::failure(format!(
                "a request has capacity {name} twice, with the driver's name and without"
            )),
        }
    }
}

/// Names of the capacities of a driver's devices.
#[derive(Clone, Copy, Debug)]
pub(super) struct CapacityNames<'d> {
    /// The driver whose name may be left out; absent where each spelling is another capacity.
    driver: Option<&'d str>,
}

impl<'d> CapacityNames<'d> {
    /// Names for devices of `driver`: since 1.38, `DRIVER/NAME` and `NAME` are the same capacity.
    pub(super) fn of(driver: &'d str, semantics: &Semantics) -> Self {
        Self {
            driver: semantics.allocates_as_1_38.then_some(driver),
        }
    }

    /// The name without the driver's.
    pub(super) fn short(self, name: &str) -> &str {
        let own = self.driver.and_then(|driver| name.strip_prefix(driver));
        own.and_then(|rest| rest.strip_prefix('/')).unwrap_or(name)
    }

    /// Amounts that count, each with its short name and its name. Of a capacity in both spellings, the one with the
    /// driver's name counts, as upstream.
    pub(super) fn counting<'m, I>(
        self,
        amounts: impl Fn() -> I,
    ) -> impl Iterator<Item = (&'m str, &'m Arc<str>, &'m Arc<str>)>
    where
        I: Iterator<Item = (&'m Arc<str>, &'m Arc<str>)>,
    {
        amounts().filter_map(move |(name, amount)| {
            let short = self.short(name);
            let is_short = self.driver.is_some() && short.len() == name.len();
            let is_other =
                |other: &Arc<str>| other.len() > name.len() && self.short(other) == short;
            let is_outdone = is_short && amounts().any(|(other, _)| is_other(other));
            (!is_outdone).then_some((short, name, amount))
        })
    }
}

/// Portions of `device` that `asked` takes; `None` where the device has no such capacity, or does not hand out such a
/// portion.
///
/// Upstream: `cmpRequestOverCapacity` in `consumable_capacity.go`, up to where it adds.
pub(super) fn taken<'a>(
    asked: &RequestedCapacity,
    device: &'a Device,
    names: CapacityNames<'_>,
) -> Result<Option<ConsumedCapacity<'a>>, CapacityError> {
    let mut wanted = BTreeMap::new();
    for (name, written) in asked {
        if wanted.insert(names.short(name), written).is_some() {
            return Err(CapacityError::Twice(names.short(name).to_owned()));
        }
    }
    // A capacity request applies to every device, shared or not: upstream refuses one that does not have the
    // capacity.
    let has = |wanted: &str| {
        let mut published = device.capacity.iter();
        published.any(|(name, _)| names.short(name) == wanted)
    };
    if !wanted.keys().all(|name| has(name)) {
        return Ok(None);
    }
    let mut taken = ConsumedCapacity::new();
    for (short, name, value) in names.counting(|| device.capacity.iter()) {
        let policy = device
            .terms
            .as_ref()
            .and_then(|terms| terms.policies.get(name));
        let wanted = wanted.get(short).map(|written| read(written)).transpose()?;
        // Since 1.38, a negative amount is refused before a policy could round it up to a valid portion.
        if names.driver.is_some() && wanted.is_some_and(|wanted| wanted < 0) {
            return Err(CapacityError::Unreadable);
        }
        let whole = read(value)?;
        let portion = portion(wanted, whole, policy)?;
        if portion < 0 {
            return Err(CapacityError::Unreadable);
        }
        if let Some(policy) = policy
            && violates(portion, policy)?
        {
            return Ok(None);
        }
        let found = Portion { portion, whole };
        taken.insert(short, found);
    }
    Ok(Some(taken))
}

/// True if the request takes all capacities of `device`: their amounts need not be decoded.
pub(super) fn takes_all(asked: &RequestedCapacity, device: &Device) -> bool {
    let mut terms = device.terms.iter();
    asked.is_empty()
        && !device.allow_multiple_allocations
        && terms.all(|terms| terms.policies.is_empty())
}

/// True if `taken` is left of every capacity; `used` gives the amount of each that is in use.
///
/// Upstream: `cmpRequestOverCapacity`, from where it adds.
pub(super) fn is_left(
    taken: &ConsumedCapacity<'_>,
    used: impl Fn(&str) -> Option<Amount>,
) -> Result<bool, CapacityError> {
    for (name, taken) in taken {
        let used = used(name).ok_or(CapacityError::Unreadable)?;
        if used
            .checked_add(taken.portion)
            .ok_or(CapacityError::Unreadable)?
            > taken.whole
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn read(written: &str) -> Result<Amount, CapacityError> {
    amount(written).ok_or(CapacityError::Unreadable)
}

fn read_of(written: Option<&Arc<str>>) -> Result<Option<Amount>, CapacityError> {
    written.map(|written| read(written)).transpose()
}

/// Portion for a request of the amount `wanted`, or of none.
///
/// Upstream: `calculateConsumedCapacity`.
fn portion(
    wanted: Option<Amount>,
    whole: Amount,
    policy: Option<&CapacityPolicy>,
) -> Result<Amount, CapacityError> {
    let Some(policy) = policy else {
        // Without a requestPolicy a request that does not name the capacity takes all of it.
        return Ok(wanted.unwrap_or(whole));
    };
    let Some(wanted) = wanted else {
        return Ok(read_of(policy.default.as_ref())?.unwrap_or(whole));
    };
    if let Some(range) = &policy.range
        && let Some(min) = read_of(range.min.as_ref())?
    {
        return rounded_up(wanted, min, range);
    }
    for value in &policy.values {
        let value = read(value)?;
        if wanted <= value {
            return Ok(value);
        }
    }
    // More than every valid value stays as it is, so that `violates` refuses it.
    Ok(wanted)
}

/// The amount `wanted`, rounded up to a step of `range`. Upstream: `roundUpRange`.
fn rounded_up(wanted: Amount, min: Amount, range: &CapacityRange) -> Result<Amount, CapacityError> {
    if wanted < min {
        return Ok(min);
    }
    let Some(step) = read_of(range.step.as_ref())? else {
        return Ok(wanted);
    };
    let unit = unit(range)?;
    if unit == MILLI && wanted % MILLI != 0 {
        return Err(CapacityError::Unreadable);
    }
    let [wanted, min, step] = [wanted, min, step].map(|amount| in_units(amount, unit));
    let added = wanted.checked_sub(min).ok_or(CapacityError::Unreadable)?;
    let mut steps = added.checked_div(step).ok_or(CapacityError::Unreadable)?;
    if added.checked_rem(step) != Some(0) {
        steps = steps.saturating_add(1);
    }
    let portion = steps
        .checked_mul(step)
        .and_then(|more| min.checked_add(more));
    portion
        .and_then(|portion| portion.checked_mul(unit))
        .ok_or(CapacityError::Unreadable)
}

/// True if `policy` does not allow the portion. Upstream: `violatesPolicy`.
fn violates(portion: Amount, policy: &CapacityPolicy) -> Result<bool, CapacityError> {
    // The default is always valid, as upstream, even where range or values leave it out.
    if read_of(policy.default.as_ref())? == Some(portion) {
        return Ok(false);
    }
    if let Some(range) = &policy.range {
        return is_outside(portion, range);
    }
    let values: Vec<Amount> = policy
        .values
        .iter()
        .map(|value| read(value))
        .collect::<Result<_, _>>()?;
    Ok(!values.is_empty() && !values.contains(&portion))
}

/// True if the portion is outside of `range` or between its steps. Upstream: `violateValidRange`.
fn is_outside(portion: Amount, range: &CapacityRange) -> Result<bool, CapacityError> {
    if read_of(range.max.as_ref())?.is_some_and(|max| portion > max) {
        return Ok(true);
    }
    let Some(step) = read_of(range.step.as_ref())? else {
        return Ok(false);
    };
    let min = read_of(range.min.as_ref())?.ok_or(CapacityError::Unreadable)?;
    let unit = unit(range)?;
    if unit == MILLI && portion % MILLI != 0 {
        return Ok(true);
    }
    let [portion, min, step] = [portion, min, step].map(|amount| in_units(amount, unit));
    let above = portion.checked_sub(min).ok_or(CapacityError::Unreadable)?;
    above
        .checked_rem(step)
        .map(|rest| rest != 0)
        .ok_or(CapacityError::Unreadable)
}

/// Unit in which a range counts: thousandths if all its amounts are whole numbers of them, otherwise ones.
///
/// Upstream: `useMilli`, with the gate `DRAFractionalCapacityRange`.
fn unit(range: &CapacityRange) -> Result<Amount, CapacityError> {
    for written in [&range.min, &range.max, &range.step] {
        if read_of(written.as_ref())?.is_some_and(|amount| amount % MILLI != 0) {
            return Ok(ONE);
        }
    }
    Ok(MILLI)
}

/// The amount in units, rounded up.
fn in_units(amount: Amount, unit: Amount) -> Amount {
    let whole = amount.div_euclid(unit);
    if amount.rem_euclid(unit) == 0 {
        whole
    } else {
        whole.saturating_add(1)
    }
}

/// An amount in billionths, as exact as Kubernetes is.
pub(super) type Amount = i128;

/// One, in billionths.
pub(super) const ONE: Amount = 1_000_000_000;

/// A thousandth, in billionths.
pub(super) const MILLI: Amount = 1_000_000;

/// The largest amount that Kubernetes knows; what is more counts as this.
const LARGEST: Amount = 9_223_372_036_854_775_807 * ONE;

/// Amount that `written` means; absent where it is no quantity, or has too many digits to calculate with.
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
    let (factor, shift) = suffix_scale(suffix)?;
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

/// Factor of a suffix, and the power of ten that then leads to billionths.
fn suffix_scale(suffix: &str) -> Option<(Amount, i32)> {
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

/// The number `digits` times ten to the power of `power`, rounded up.
fn scaled(digits: Amount, power: i32) -> Option<Amount> {
    if digits == 0 {
        return Some(0);
    }
    let factor = 10_i128.checked_pow(power.unsigned_abs());
    if power >= 0 {
        // A product that overflows is above `LARGEST`, which stands for all such amounts.
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
    use crate::model::DeviceTerms;
    use crate::testing::published;

    #[test]
    fn all_is_taken_of_a_device_that_is_not_shared_if_nothing_is_asked_for() {
        let nothing = RequestedCapacity::new();
        let plain = published("gpu-0", &[]);
        assert!(takes_all(&nothing, &plain));
        let some = [("memory".into(), "40Gi".into())].into();
        assert!(!takes_all(&some, &plain));
        let mut shared = plain.clone();
        shared.allow_multiple_allocations = true;
        assert!(!takes_all(&nothing, &shared));
        let mut portioned = plain;
        let policies = [("memory".into(), CapacityPolicy::default())];
        portioned.terms = Some(Box::new(DeviceTerms {
            policies: policies.into_iter().collect(),
            ..DeviceTerms::default()
        }));
        assert!(!takes_all(&nothing, &portioned));
    }

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
