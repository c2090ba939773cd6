//! Errors in guard expressions, with the correct form.

use super::signal::Signal;

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
