//! When is it too much?
//!
//! A guard is `<signal><operator><quantity>`, such as `pods.evicted>20` or `devices.selected>=50%`.
//! It trips when the comparison holds.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::impact::Summary;

/// A limit that must not be exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    expression: String,
    signal: Signal,
    operator: Operator,
    quantity: Quantity,
}

/// What percentages are taken of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wholes {
    /// The pods that use devices of the same drivers as the selected ones.
    pub pods: usize,
    /// The devices of the same drivers as the selected ones.
    pub devices: usize,
}

/// What became of a guard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GuardResult {
    /// The guard as it was given.
    pub expression: String,
    /// What the signal counts here.
    pub value: usize,
    /// What a percentage is taken of; null when the guard names a number.
    pub whole: Option<usize>,
    /// Whether the comparison holds, so that nothing may be changed.
    pub tripped: bool,
}

impl Guard {
    /// Whether it compares with a share of all pods of the selected devices' drivers.
    #[must_use]
    pub fn needs_whole(&self) -> bool {
        match self.quantity {
            Quantity::Number(_) => false,
            Quantity::Percent { .. } => true,
        }
    }

    /// Compares the guard with what a report counts.
    #[must_use]
    pub fn evaluate(&self, summary: &Summary, wholes: &Wholes) -> GuardResult {
        let value = self.signal.value(summary);
        let (whole, tripped) = match self.quantity {
            Quantity::Number(limit) => (None, self.operator.holds(value as u128, limit.into())),
            // Both sides times one hundred, so that nothing is rounded.
            Quantity::Percent { percent, of } => {
                let whole = of.value(wholes);
                let limit = u128::from(percent) * whole as u128;
                (Some(whole), self.operator.holds(value as u128 * 100, limit))
            }
        };
        GuardResult {
            expression: self.expression.clone(),
            value,
            whole,
            tripped,
        }
    }
}

impl FromStr for Guard {
    type Err = GuardError;

    fn from_str(text: &str) -> Result<Self, GuardError> {
        let guard = || text.to_owned();
        let at = text
            .find(['<', '>', '=', '!'])
            .ok_or_else(|| GuardError::NoOperator { guard: guard() })?;
        let (signal, rest) = text.split_at(at);
        let (operator, quantity) =
            Operator::strip(rest).ok_or_else(|| GuardError::NoOperator { guard: guard() })?;
        let signal = Signal::from_name(signal.trim())?;
        let quantity = Quantity::parse(quantity.trim(), signal, text)?;
        Ok(Self {
            expression: guard(),
            signal,
            operator,
            quantity,
        })
    }
}

/// Why a guard cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// There is none of the operators in it.
    #[error("guard \"{guard}\" has no operator")]
    NoOperator {
        /// The guard as given.
        guard: String,
    },
    /// Nothing of that name is counted.
    #[error("unknown signal \"{signal}\"")]
    UnknownSignal {
        /// The signal as given.
        signal: String,
    },
    /// The limit is neither a number nor a percentage.
    #[error("guard \"{guard}\" has no number or percentage after the operator")]
    NoQuantity {
        /// The guard as given.
        guard: String,
    },
    /// There is nothing that the percentage could be taken of.
    #[error("guard \"{guard}\" cannot have a percentage")]
    NoWhole {
        /// The guard as given.
        guard: String,
        /// Its signal.
        signal: Signal,
    },
}

impl GuardError {
    /// What to write instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoOperator { .. } => {
                "write it as <signal><operator><quantity>, such as 'pods.evicted>20'; operators: > >= \
                 < <= == !="
                    .to_owned()
            }
            Self::UnknownSignal { signal } => {
                let known = Signal::ALL.map(Signal::name).join(", ");
                match Signal::nearest(signal) {
                    Some(nearest) => {
                        format!("did you mean {}? known signals: {known}", nearest.name())
                    }
                    None => format!("known signals: {known}"),
                }
            }
            Self::NoQuantity { .. } => {
                "a quantity is a whole number such as 20, or a percentage from 0% to 100%"
                    .to_owned()
            }
            Self::NoWhole { signal, .. } => {
                format!("{signal} is compared with a whole number, such as '{signal}>1'")
            }
        }
    }
}

/// What a guard looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// Pods that would be evicted, now or later.
    PodsEvicted,
    /// Pods that would be evicted at once.
    PodsEvictedNow,
    /// Namespaces of the pods that would be evicted.
    NamespacesAffected,
    /// Devices that the taints select.
    DevicesSelected,
}

impl Signal {
    /// Every signal.
    pub const ALL: [Self; 4] = [
        Self::PodsEvicted,
        Self::PodsEvictedNow,
        Self::NamespacesAffected,
        Self::DevicesSelected,
    ];

    /// The signal as it is written in a guard.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PodsEvicted => "pods.evicted",
            Self::PodsEvictedNow => "pods.evicted.now",
            Self::NamespacesAffected => "namespaces.affected",
            Self::DevicesSelected => "devices.selected",
        }
    }

    /// What the signal counts, in one line for `help guards`.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::PodsEvicted => {
                "pods evicted now or later; % of the pods that use devices of the same drivers"
            }
            Self::PodsEvictedNow => "pods evicted at once; % of the same pods",
            Self::NamespacesAffected => "namespaces of the evicted pods",
            Self::DevicesSelected => "devices selected; % of the devices of the same drivers",
        }
    }

    fn from_name(name: &str) -> Result<Self, GuardError> {
        let known = Self::ALL.into_iter().find(|signal| signal.name() == name);
        known.ok_or_else(|| GuardError::UnknownSignal {
            signal: name.to_owned(),
        })
    }

    /// The known signal that `name` resembles most, if it resembles one at all.
    fn nearest(name: &str) -> Option<Self> {
        let similarity = |signal: &Self| strsim::jaro_winkler(signal.name(), name);
        Self::ALL
            .into_iter()
            .filter(|signal| similarity(signal) > 0.7)
            .max_by(|left, right| similarity(left).total_cmp(&similarity(right)))
    }

    fn value(self, summary: &Summary) -> usize {
        match self {
            Self::PodsEvicted => summary.pods,
            Self::PodsEvictedNow => summary.pods_now,
            Self::NamespacesAffected => summary.namespaces,
            Self::DevicesSelected => summary.devices,
        }
    }

    fn whole(self) -> Option<Whole> {
        match self {
            Self::PodsEvicted | Self::PodsEvictedNow => Some(Whole::Pods),
            Self::DevicesSelected => Some(Whole::Devices),
            Self::NamespacesAffected => None,
        }
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
    Unequal,
}

impl Operator {
    // Longer spellings first: `>` is the beginning of `>=`.
    const SPELLINGS: [(&'static str, Self); 6] = [
        (">=", Self::AtLeast),
        ("<=", Self::AtMost),
        ("==", Self::Equal),
        ("!=", Self::Unequal),
        (">", Self::Above),
        ("<", Self::Below),
    ];

    fn strip(text: &str) -> Option<(Self, &str)> {
        Self::SPELLINGS
            .into_iter()
            .find_map(|(spelling, operator)| Some((operator, text.strip_prefix(spelling)?)))
    }

    fn holds(self, value: u128, limit: u128) -> bool {
        match self {
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
            Self::Equal => value == limit,
            Self::Unequal => value != limit,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Quantity {
    Number(u64),
    Percent { percent: u64, of: Whole },
}

impl Quantity {
    fn parse(text: &str, signal: Signal, guard: &str) -> Result<Self, GuardError> {
        let no_quantity = || GuardError::NoQuantity {
            guard: guard.to_owned(),
        };
        let Some(percent) = text.strip_suffix('%') else {
            return Ok(Self::Number(whole_number(text).ok_or_else(no_quantity)?));
        };
        let percent = whole_number(percent)
            .filter(|percent| *percent <= 100)
            .ok_or_else(no_quantity)?;
        let of = signal.whole().ok_or_else(|| GuardError::NoWhole {
            guard: guard.to_owned(),
            signal,
        })?;
        Ok(Self::Percent { percent, of })
    }
}

/// A number of decimal digits only; the standard parser would take a sign too.
fn whole_number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Pods,
    Devices,
}

impl Whole {
    fn value(self, wholes: &Wholes) -> usize {
        match self {
            Self::Pods => wholes.pods,
            Self::Devices => wholes.devices,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tripped(guard: &str) -> bool {
        let summary = Summary {
            devices: 5,
            pods: 2,
            pods_now: 1,
            namespaces: 1,
            ..Summary::default()
        };
        let wholes = Wholes {
            pods: 20,
            devices: 8,
        };
        guard
            .parse::<Guard>()
            .unwrap()
            .evaluate(&summary, &wholes)
            .tripped
    }

    #[test]
    fn a_guard_trips_when_its_comparison_holds() {
        for (guard, expected) in [
            ("pods.evicted>1", true),
            ("pods.evicted>2", false),
            ("pods.evicted>=2", true),
            ("pods.evicted<2", false),
            ("pods.evicted<=2", true),
            ("pods.evicted==2", true),
            ("pods.evicted!=2", false),
            ("pods.evicted.now>0", true),
            ("pods.evicted.now>1", false),
            ("namespaces.affected>=1", true),
            ("devices.selected>4", true),
            ("pods.evicted>10%", false),
            ("pods.evicted>=10%", true),
            ("pods.evicted>9%", true),
            ("pods.evicted.now>=5%", true),
            ("devices.selected>62%", true),
            ("devices.selected>63%", false),
            (" pods.evicted > 1 ", true),
        ] {
            assert_eq!(tripped(guard), expected, "{guard}");
        }
    }

    #[test]
    fn a_result_tells_the_guard_the_value_and_the_whole() {
        let summary = Summary {
            pods: 3,
            ..Summary::default()
        };
        let wholes = Wholes {
            pods: 12,
            devices: 0,
        };
        let guard: Guard = "pods.evicted>25%".parse().unwrap();
        let expected = GuardResult {
            expression: "pods.evicted>25%".to_owned(),
            value: 3,
            whole: Some(12),
            tripped: false,
        };
        assert_eq!(guard.evaluate(&summary, &wholes), expected);
    }

    #[test]
    fn what_is_no_guard_is_told_with_what_to_write_instead() {
        for (guard, message, hint) in [
            (
                "pods.evicted",
                r#"guard "pods.evicted" has no operator"#,
                "<signal><operator><quantity>",
            ),
            (
                "pods.evicted=2",
                r#"guard "pods.evicted=2" has no operator"#,
                "> >= < <= == !=",
            ),
            ("", r#"guard "" has no operator"#, "'pods.evicted>20'"),
            (
                "pod.evicted>2",
                r#"unknown signal "pod.evicted""#,
                "did you mean pods.evicted? known signals: pods.evicted, pods.evicted.now, namespaces.affected, devices.selected",
            ),
            (
                "device.selected>2",
                r#"unknown signal "device.selected""#,
                "did you mean devices.selected?",
            ),
            (
                "x>2",
                r#"unknown signal "x""#,
                "known signals: pods.evicted,",
            ),
            (">2", r#"unknown signal """#, "known signals:"),
            (
                "pods.evicted>",
                r#"guard "pods.evicted>" has no number or percentage after the operator"#,
                "whole number",
            ),
            (
                "pods.evicted>-1",
                r#"guard "pods.evicted>-1" has no number or percentage after the operator"#,
                "whole number",
            ),
            (
                "pods.evicted>+1",
                r#"guard "pods.evicted>+1" has no number or percentage after the operator"#,
                "whole number",
            ),
            (
                "pods.evicted>1.5",
                r#"guard "pods.evicted>1.5" has no number or percentage after the operator"#,
                "whole number",
            ),
            (
                "pods.evicted>>1",
                r#"guard "pods.evicted>>1" has no number or percentage after the operator"#,
                "whole number",
            ),
            (
                "pods.evicted>101%",
                r#"guard "pods.evicted>101%" has no number or percentage after the operator"#,
                "0% to 100%",
            ),
            (
                "pods.evicted>99999999999999999999",
                r#"guard "pods.evicted>99999999999999999999" has no number or percentage after the operator"#,
                "whole number",
            ),
            (
                "namespaces.affected>50%",
                r#"guard "namespaces.affected>50%" cannot have a percentage"#,
                "'namespaces.affected>1'",
            ),
        ] {
            let error = guard.parse::<Guard>().unwrap_err();
            assert_eq!(error.to_string(), message);
            assert!(error.hint().contains(hint), "{guard}: {}", error.hint());
        }
    }
}
