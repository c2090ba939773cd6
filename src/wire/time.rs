//! Times: text in JSON, seconds in protobuf.

use std::fmt;

use jiff::Timestamp;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::Value;

use super::object::Context;

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
    /// The instant, if there is one that can be calculated with.
    pub(super) fn instant(time: Option<Self>) -> Option<Timestamp> {
        Timestamp::from_second(time?.seconds?).ok()
    }

    /// The instant of the field called `field`, if it has one.
    ///
    /// The API takes years up to 9999, and by protobuf any number of seconds, and no controller minds.
    /// One beyond what can be calculated with counts as the first or the last that can, which is as far
    /// from being due; `context` hears of it.
    pub(super) fn to_timestamp(
        time: Option<Self>,
        field: &str,
        context: &mut Context,
    ) -> Option<Timestamp> {
        let seconds = time?.seconds?;
        let instant = Timestamp::from_second(seconds).ok();
        Some(instant.unwrap_or_else(|| {
            let limit = nearest(seconds);
            tell(field, limit, context);
            limit
        }))
    }

    /// Replaces the times in `value` that are beyond the supported range. Adds warnings to `context`.
    pub(super) fn clamp(value: &mut Value, field: &str, context: &mut Context) {
        match value {
            Value::String(text) => {
                if let Some(limit) = beyond(text).map(nearest) {
                    tell(field, limit, context);
                    *text = limit.to_string();
                }
            }
            Value::Array(items) => {
                let items = items.iter_mut();
                items.for_each(|item| Self::clamp(item, field, context));
            }
            Value::Object(fields) => {
                let fields = fields.iter_mut();
                fields.for_each(|(name, value)| Self::clamp(value, name, context));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The first or the last second that can be calculated with.
fn nearest(seconds: i64) -> Timestamp {
    let limit = if seconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    Timestamp::from_second(limit.as_second()).unwrap_or(limit)
}

fn tell(field: &str, limit: Timestamp, context: &mut Context) {
    let what = format!("a time in {field} that is out of range; {limit} is used");
    context.odd("time-out-of-range", what);
}

/// Stands for the time that `text` is, as Go prints it, where that is no [`Timestamp`]: in the last hours
/// of the year 9999, or in a year of more digits. `None` for any other text.
fn beyond(text: &str) -> Option<i64> {
    let (limit, digits) = match text.strip_prefix('-') {
        Some(digits) => (i64::MIN, digits),
        None => (i64::MAX, text),
    };
    let (year, rest) = digits.split_once('-')?;
    let numeric = year.bytes().all(|byte| byte.is_ascii_digit());
    let twin = match year.len() {
        // jiff's last timestamp is 9999-12-30T22:00:00.999999999Z, 26 hours before the year ends.
        4 if year == "9999" => "2001",
        5.. => "2000",
        _ => return None,
    };
    // The rest must be right in a year that is known, leap or not.
    let right = format!("{twin}-{rest}").parse::<Timestamp>().is_ok();
    (numeric && right && text.parse::<Timestamp>().is_err()).then_some(limit)
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
        let timestamp: Timestamp = match text.parse() {
            Ok(timestamp) => timestamp,
            Err(_) if beyond(text).is_some() => {
                return Ok(Time {
                    seconds: beyond(text),
                });
            }
            Err(_) => {
                return Err(E::custom(format_args!(
                    "`{}` is not a time such as 2026-01-31T12:00:00Z",
                    text.escape_debug()
                )));
            }
        };
        // Floor, not truncation towards zero: Go counts whole seconds since the epoch downwards too.
        let begun = i64::from(timestamp.subsec_nanosecond() < 0);
        let seconds = timestamp.as_second().saturating_sub(begun);
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

/// `resource.Quantity`: a text or a number in JSON, a message in protobuf.
#[derive(Clone, PartialEq, Eq, prost::Message)]
#[cfg_attr(test, derive(serde::Serialize), serde(transparent))]
pub struct Quantity {
    /// Text, such as `80Gi`; not normalised.
    #[prost(string, optional, tag = "1")]
    pub text: Option<String>,
}

impl Quantity {
    /// The text; Go writes the zero quantity as "0" and reads an absent one as zero.
    pub(super) fn as_written(&self) -> &str {
        self.text.as_deref().unwrap_or("0")
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl Visitor<'_> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a quantity such as 80Gi")
    }

    /// Go reads `null` as zero, in lists and maps too.
    fn visit_unit<E: Error>(self) -> Result<Quantity, E> {
        Ok(Quantity { text: None })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Quantity, E> {
        self.visit_string(text.to_owned())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Quantity, E> {
        Ok(Quantity { text: Some(text) })
    }

    // Upstream: `Quantity.UnmarshalJSON`, which takes numbers without quotes too.
    fn visit_i64<E: Error>(self, number: i64) -> Result<Quantity, E> {
        self.visit_string(number.to_string())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Quantity, E> {
        self.visit_string(number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Quantity, E> {
        self.visit_string(number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prost::Message;

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
        let found = Time::to_timestamp(Some(time), "time", &mut Context::default());
        assert_eq!(found, None);
    }

    #[test]
    fn time_beyond_the_calendar_counts_as_its_end_and_is_told() {
        for (text, end) in [
            ("9999-12-31T23:59:59Z", "9999-12-30T22:00:00Z"),
            ("9999-12-31T23:59:59+14:00", "9999-12-30T22:00:00Z"),
            ("36812-02-20T00:36:16Z", "9999-12-30T22:00:00Z"),
            ("-29719-04-05T22:13:20Z", "-009999-01-02T01:59:59Z"),
        ] {
            let time: Time = serde_json::from_str(&format!("{text:?}")).expect(text);
            let mut context = Context::default();
            let found = Time::to_timestamp(Some(time), "spec.taint.timeAdded", &mut context);
            assert_eq!(found, end.parse().ok(), "{text}");
            context.attribute(|| "DeviceTaintRule drain".to_owned());
            let warnings = context.warnings();
            assert_eq!(
                warnings[0].message,
                format!(
                    "DeviceTaintRule drain has a time in spec.taint.timeAdded that is out \
                     of range; {end} is used"
                )
            );
        }
        for seconds in [i64::MIN, i64::MAX] {
            let time = Time {
                seconds: Some(seconds),
            };
            let found = Time::to_timestamp(Some(time), "time", &mut Context::default());
            assert!(found.is_some() && Time::instant(Some(time)).is_none());
        }
    }

    #[test]
    fn text_that_only_looks_like_a_far_time_is_no_time() {
        for text in [
            "9999-13-31T23:59:59Z",
            "9999-02-29T00:00:00Z",
            "2001-02-29T00:00:00Z",
            "99999",
            "x9999-01-01T00:00:00Z",
            "10000-01-01",
        ] {
            assert!(
                serde_json::from_str::<Time>(&format!("{text:?}")).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn quantity_may_be_a_text_or_a_number() {
        for (json, text) in [
            (r#""80Gi""#, "80Gi"),
            ("16", "16"),
            ("0.5", "0.5"),
            ("-1", "-1"),
        ] {
            let quantity: Quantity = serde_json::from_str(json).expect(json);
            assert_eq!(quantity.text.as_deref(), Some(text));
        }
    }
}
