//! Devices that have to stay allocatable.

use std::str::FromStr;

use super::comparison::Operator;
use super::error::GuardError;
use super::expression::{Guard, Quantity};
use super::signal::Whole;

/// How many devices have to stay allocatable, such as `devices.available>=4`: written as a guard, and the reverse of
/// one, since it says what has to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AvailabilityFloor(Guard);

impl AvailabilityFloor {
    /// The expression as it was given.
    #[must_use]
    pub fn expression(&self) -> &str {
        self.0.expression()
    }

    /// How many devices these are, of so many in their classes.
    #[must_use]
    pub fn least(&self, of_class: usize) -> usize {
        let above = usize::from(self.0.operator == Operator::Above);
        match self.0.quantity {
            Quantity::Number(number) => number.saturating_add(above),
            Quantity::Percent { percent, .. } => {
                let parts = of_class.saturating_mul(percent);
                match self.0.operator {
                    // The next whole number above a share, and above a share that is a whole number.
                    Operator::Above => parts.checked_div(100).unwrap_or(0).saturating_add(1),
                    Operator::AtLeast
                    | Operator::Below
                    | Operator::AtMost
                    | Operator::Equal
                    | Operator::Unequal => parts.div_ceil(100),
                }
            }
        }
    }
}

impl FromStr for AvailabilityFloor {
    type Err = GuardError;

    fn from_str(text: &str) -> Result<Self, GuardError> {
        let guard: Guard = text.parse()?;
        let is_lower_bound = match guard.operator {
            Operator::AtLeast | Operator::Above => true,
            Operator::Below | Operator::AtMost | Operator::Equal | Operator::Unequal => false,
        };
        // What is a share of the devices of classes counts those that stay allocatable.
        if is_lower_bound && guard.signal.whole() == Some(Whole::Class) {
            Ok(Self(guard))
        } else {
            Err(GuardError::NoFloor {
                guard: text.to_owned(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_is_the_least_number_for_which_the_expression_holds() {
        for (text, least) in [
            ("devices.available>=4", 4),
            ("devices.available>4", 5),
            ("devices.available>=0", 0),
            ("devices.available>=50%", 5),
            ("devices.available>=45%", 5),
            ("devices.available>=41%", 5),
            ("devices.available>=40%", 4),
            ("devices.available>50%", 6),
            ("devices.available>45%", 5),
        ] {
            let floor: AvailabilityFloor = text.parse().unwrap();
            assert_eq!(floor.least(10), least, "{text}");
            assert_eq!(floor.expression(), text);
        }
    }

    #[test]
    fn only_a_lower_bound_of_what_stays_allocatable_is_one() {
        for text in [
            "devices.available<4",
            "devices.available<=4",
            "devices.available==4",
            "devices.available!=4",
            "devices.selected>=4",
            "pods.evicted>=4",
        ] {
            let error = text.parse::<AvailabilityFloor>().unwrap_err();
            assert!(matches!(error, GuardError::NoFloor { .. }), "{text}");
            assert!(error.to_string().contains(text));
            assert!(error.hint().contains("'devices.available>=4'"));
        }
        assert!("devices.available".parse::<AvailabilityFloor>().is_err());
    }
}
