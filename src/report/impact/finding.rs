//! Hazards of a pod, as reports write them.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::assess::{self, Hazard, Severity};
use crate::report::taint::{pascal_case, words};

/// A hazard of a pod, with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The hazard, such as PdbViolated. `help hazards` explains each hazard; there it is written in kebab-case.
    pub hazard: HazardCode,
    /// Severity of the hazard.
    pub severity: Severity,
    /// The reason as text, with names and numbers.
    pub message: String,
}

impl From<&assess::Finding> for Finding {
    fn from(found: &assess::Finding) -> Self {
        Self {
            hazard: found.hazard.into(),
            severity: found.hazard.severity(),
            message: found.message.clone(),
        }
    }
}

/// The code of a hazard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HazardCode {
    /// One of those that are known.
    Known(Hazard),
    /// One that a later version has written.
    Later(String),
}

impl HazardCode {
    /// The hazard, if it is known.
    pub fn hazard(&self) -> Option<Hazard> {
        match self {
            Self::Known(hazard) => Some(*hazard),
            Self::Later(_) => None,
        }
    }

    /// The code as text has it; of one that is not known, as reports write it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(hazard) => hazard.code(),
            Self::Later(code) => code,
        }
    }
}

impl From<Hazard> for HazardCode {
    fn from(hazard: Hazard) -> Self {
        Self::Known(hazard)
    }
}

/// Reads the code as reports write it.
impl FromStr for HazardCode {
    type Err = Infallible;

    fn from_str(code: &str) -> Result<Self, Infallible> {
        // Kept as it was read, so that a report of a later version can be written again without a loss.
        let later = || Self::Later(code.to_owned());
        // Other spellings are no codes: a known one has to be written again as it was read.
        let known =
            Hazard::of_code(&words(code)).filter(|hazard| pascal_case(hazard.code()) == code);
        Ok(known.map_or_else(later, Self::Known))
    }
}

impl fmt::Display for HazardCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl Serialize for HazardCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(hazard) => serializer.serialize_str(&pascal_case(hazard.code())),
            Self::Later(code) => serializer.serialize_str(code),
        }
    }
}

impl<'de> Deserialize<'de> for HazardCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = Cow::<'de, str>::deserialize(deserializer)?;
        Ok(code
            .parse()
            .unwrap_or_else(|never: Infallible| match never {}))
    }
}

/// A plain text: codes may be added within a schema version.
impl JsonSchema for HazardCode {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HazardCode".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl PartialEq<&str> for HazardCode {
        fn eq(&self, code: &&str) -> bool {
            self.as_str() == *code
        }
    }

    #[test]
    fn codes_are_read_back_also_those_of_later_versions() {
        for hazard in Hazard::ALL {
            let read: HazardCode = pascal_case(hazard.code()).parse().unwrap();
            assert_eq!(read.hazard(), Some(hazard));
        }
        let later: HazardCode = "FromTheFuture".parse().unwrap();
        assert_eq!((later.hazard(), later.as_str()), (None, "FromTheFuture"));
        let json = serde_json::to_string(&later).unwrap();
        assert_eq!(serde_json::from_str::<HazardCode>(&json).unwrap(), later);
    }
}
