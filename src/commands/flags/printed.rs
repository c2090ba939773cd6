//! What `add` prints: a report of what it did, or the rules.

use clap::ValueEnum;

use crate::render::Format;

/// What is printed at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Printed {
    /// A ChangeReport
    Json,
    /// A ChangeReport
    Yaml,
    /// The names of the rules
    Name,
    /// The rules, for `kubectl apply -f -`
    Manifest,
}

impl Printed {
    /// The format of the report on what was done, if that is what is printed.
    pub(crate) fn report(self) -> Option<Format> {
        match self {
            Self::Json => Some(Format::Json),
            Self::Yaml => Some(Format::Yaml),
            Self::Name | Self::Manifest => None,
        }
    }

    /// The format of the rules, if they are what is printed.
    pub(crate) fn rules(self) -> Option<Format> {
        match self {
            Self::Name => Some(Format::Name),
            Self::Manifest => Some(Format::Yaml),
            Self::Json | Self::Yaml => None,
        }
    }
}
