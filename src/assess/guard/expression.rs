//! Parsing of guards.

use super::evaluation::Operator;
use super::signal::{Signal, Whole};
use std::str::FromStr;

/// A limit that must not be exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    pub(super) expression: String,
    pub(super) signal: Signal,
    pub(super) operator: Operator,
    pub(super) quantity: Quantity,
}

impl Guard {
    /// The guard, as given.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// True if it compares with a share of all pods of the selected devices' drivers.
    pub fn needs_whole(&self) -> bool {
        match self.quantity {
            Quantity::Number(_) => false,
            Quantity::Percent { .. } => true,
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
        let signal = known_signal(signal.trim())?;
        let quantity = Quantity::parse(quantity.trim(), signal, text)?;
        Ok(Self {
            expression: guard(),
            signal,
            operator,
            quantity,
        })
    }
}

fn known_signal(name: &str) -> Result<Signal, GuardError> {
    Signal::from_name(name).ok_or_else(|| GuardError::UnknownSignal {
        signal: name.to_owned(),
    })
}

/// Right side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    Number(usize),
    Percent { percent: usize, of: Whole },
}

impl Quantity {
    fn parse(text: &str, signal: Signal, guard: &str) -> Result<Self, GuardError> {
        let no_quantity = || {
            let guard = guard.to_owned();
            if text.is_empty() {
                return GuardError::NoQuantity { guard };
            }
            GuardError::InvalidQuantity {
                guard,
                quantity: text.to_owned(),
            }
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
fn whole_number(text: &str) -> Option<usize> {
    // `parse` alone would accept a sign, as in `+5`.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
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
    /// The operator has no right side.
    #[error("guard \"{guard}\" has no number or percentage after the operator")]
    NoQuantity {
        /// The guard as given.
        guard: String,
    },
    /// The limit is neither a number nor a percentage.
    #[error(
        "guard \"{guard}\": \"{quantity}\" is not a whole number or a percentage from 0% to 100%"
    )]
    InvalidQuantity {
        /// The guard as given.
        guard: String,
        /// Text behind the operator.
        quantity: String,
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
    /// Text to write instead.
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
            Self::NoQuantity { .. } | Self::InvalidQuantity { .. } => {
                "use a whole number such as 20, or a percentage from 0% to 100%"
                    .to_owned()
            }
            Self::NoWhole { signal, .. } => {
                format!("use a whole number, such as '{signal}>1'")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_share_needs_the_whole() {
        let needs = |text: &str| text.parse::<Guard>().map(|guard| guard.needs_whole());
        assert_eq!(needs("pods.evicted>20"), Ok(false));
        assert_eq!(needs("pods.evicted>20%"), Ok(true));
        assert_eq!(needs("devices.selected>=100%"), Ok(true));
    }

    #[test]
    fn what_is_no_guard_is_told_with_what_to_write_instead() {
        for (guard, message, hint) in [
            ("pods.evicted", "no operator", "<signal><operator>"),
            ("pods.evicted=2", "no operator", "> >= < <= == !="),
            ("", "no operator", "'pods.evicted>20'"),
            ("pod.evicted>2", "signal", "did you mean pods.evicted?"),
            ("x>2", "unknown signal", "known signals: pods.evicted,"),
            (">2", "unknown signal", "known signals:"),
            ("pods.evicted>", "no number", "whole number"),
            ("pods.evicted>-1", r#""-1" is not"#, "whole number"),
            ("pods.evicted>+1", r#""+1" is not"#, "whole number"),
            ("pods.evicted>1.5", r#""1.5" is not"#, "whole number"),
            ("pods.evicted>>1", r#"">1" is not"#, "whole number"),
            ("pods.evicted>101%", r#""101%" is not"#, "0% to 100%"),
            ("pods.evicted>99999999999999999999", "not", "number"),
            ("namespaces.affected>50%", "percentage", "affected>1'"),
        ] {
            let error = guard.parse::<Guard>().unwrap_err();
            assert!(error.to_string().contains(message), "{guard}: {error}");
            assert!(error.hint().contains(hint), "{guard}: {}", error.hint());
        }
    }
}
