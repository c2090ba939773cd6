//! Taints, as they stand on a device of a slice or in a rule.

use std::fmt;

use jiff::Timestamp;

use super::group::in_group;

/// Effect of a taint on pods. New effects may appear before this plugin knows them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Informational: never blocks, never evicts.
    None,
    /// Blocks new allocations of the device.
    NoSchedule,
    /// Blocks new allocations and evicts the pods that use the device.
    NoExecute,
    /// Shown as is and otherwise ignored, as the API asks of clients.
    Unknown(String),
}

impl Effect {
    /// The effect as it is spelled in the API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "None",
            Self::NoSchedule => "NoSchedule",
            Self::NoExecute => "NoExecute",
            Self::Unknown(text) => text,
        }
    }

    /// True if it evicts pods.
    pub fn evicts(&self) -> bool {
        match self {
            Self::NoExecute => true,
            Self::None | Self::NoSchedule | Self::Unknown(_) => false,
        }
    }
}

impl From<&str> for Effect {
    fn from(text: &str) -> Self {
        match text {
            "None" => Self::None,
            "NoSchedule" => Self::NoSchedule,
            "NoExecute" => Self::NoExecute,
            other => Self::Unknown(other.to_owned()),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

/// A mark on a device, printed `KEY[=VALUE]:EFFECT`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Taint {
    /// A label key, such as `example.com/maintenance`.
    pub key: String,
    /// A label value; empty when the taint has none.
    pub value: String,
    /// Effect.
    pub effect: Effect,
    /// Since when; seconds count. The API server always fills it in, so that it is absent only in
    /// objects that no server has seen.
    pub time_added: Option<Timestamp>,
}

impl Taint {
    /// The key of the taint of every dedication.
    pub const DEDICATED: &str = in_group!("dedicated");

    /// The dedication whose taint it is.
    pub fn dedication(&self) -> Option<&str> {
        let is_one = self.key == Self::DEDICATED && !self.value.is_empty();
        is_one.then_some(self.value.as_str())
    }
}

impl fmt::Display for Taint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value.is_empty() {
            write!(formatter, "{}:{}", self.key, self.effect)
        } else {
            write!(formatter, "{}={}:{}", self.key, self.value, self.effect)
        }
    }
}
