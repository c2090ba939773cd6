//! Times in reports.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time; RFC 3339 in UTC wherever it is shown, to the second as in the Kubernetes API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Timestamp);

impl Time {
    /// The time without a part of a second.
    pub fn to_the_second(self) -> Timestamp {
        // Every number of seconds that a time has is one that a time can have.
        Timestamp::from_second(self.0.as_second()).unwrap_or(self.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_the_second().fmt(formatter)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(de::Error::custom)
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A point in time: RFC 3339, UTC, to the second.",
            "type": "string",
            "format": "date-time",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_both_ways() {
        let time = Time("2026-11-21T02:00:34+01:00".parse().unwrap());
        let json = serde_json::to_string(&time).unwrap();
        assert_eq!(json, r#""2026-11-21T01:00:34Z""#);
        assert_eq!(serde_json::from_str::<Time>(&json).unwrap(), time);
        assert!(serde_json::from_str::<Time>(r#""yesterday""#).is_err());
        let within = Time("2026-11-21T01:00:34.987Z".parse().unwrap());
        assert_eq!(serde_json::to_string(&within).unwrap(), json);
    }
}
