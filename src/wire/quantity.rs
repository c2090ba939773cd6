//! Quantities: kept as they are written.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

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
