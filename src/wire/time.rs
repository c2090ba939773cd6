//! Times: text in JSON, seconds in protobuf.

use std::fmt;

use jiff::Timestamp;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::error::FieldError;

/// `metav1.Time`: a second, or Go's zero time, which stands for "none".
///
/// Fractions of a second are cut off, as the server does when it stores an object.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct Time {
    /// Seconds since 1970; absent in the empty message that Go writes for the zero time.
    #[prost(int64, optional, tag = "1")]
    pub seconds: Option<i64>,
}

impl Time {
    /// The instant of the field called `field`, if it has one.
    pub(super) fn to_timestamp(
        time: Option<Self>,
        field: &str,
    ) -> Result<Option<Timestamp>, FieldError> {
        let Some(seconds) = time.and_then(|time| time.seconds) else {
            return Ok(None);
        };
        let timestamp = Timestamp::from_second(seconds)
            .map_err(|_| FieldError::new(field, format!("{seconds} is not a time")))?;
        Ok(Some(timestamp))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TimeVisitor)
    }
}

struct TimeVisitor;

impl Visitor<'_> for TimeVisitor {
    type Value = Time;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a time such as 2026-01-31T12:00:00Z")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Time, E> {
        let timestamp: Timestamp = text.parse().map_err(|_| {
            E::custom(format_args!(
                "`{}` is not a time such as 2026-01-31T12:00:00Z",
                text.escape_debug()
            ))
        })?;
        // Floor, not truncation towards zero: Go counts whole seconds since the epoch downwards too.
        let seconds = timestamp.as_second() - i64::from(timestamp.subsec_nanosecond() < 0);
        Ok(Time {
            seconds: Some(seconds),
        })
    }
}

#[cfg(test)]
impl serde::Serialize for Time {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.seconds.map(Timestamp::from_second) {
            Some(Ok(timestamp)) => serializer.collect_str(&timestamp),
            Some(Err(error)) => Err(serde::ser::Error::custom(error)),
            None => serializer.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;

    #[test]
    fn fractions_of_a_second_are_cut_off() {
        let time: Time =
            serde_json::from_str(r#""2026-01-31T12:00:00.987+01:00""#).expect("a time");
        assert_eq!(
            time,
            serde_json::from_str(r#""2026-01-31T11:00:00Z""#).expect("a time")
        );
    }

    #[test]
    fn zero_time_of_go_is_no_time() {
        let time = Time::decode(&[][..]).expect("an empty message");
        assert_eq!(Time::to_timestamp(Some(time), "time"), Ok(None));
    }

    #[test]
    fn time_outside_the_calendar_is_an_error() {
        let time = Time {
            seconds: Some(i64::MAX),
        };
        assert!(Time::to_timestamp(Some(time), "time").is_err());
    }

    #[test]
    fn text_that_is_no_time_is_named() {
        let error = serde_json::from_str::<Time>(r#""yesterday""#).expect_err("no time");
        assert!(error.to_string().contains("`yesterday` is not a time"));
    }
}
