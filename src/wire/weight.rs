//! Memory of a decoded protobuf message of the podresources API, computed before it is decoded.
//!
//! An empty message is two bytes on the wire and a hundred in memory, so that a limit of bytes alone is none.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// A kind of message: what one takes in memory, and the fields that hold messages.
pub struct Shape {
    /// Of one message, without what it refers to.
    pub size: usize,
    /// Its fields that are messages, each with its number.
    pub messages: &'static [(u32, &'static Shape)],
}

/// Size of any field that is text or a list, beside its bytes.
// Pointer, capacity and length of a `String` or `Vec`.
const FIELD: usize = 24;
/// Size of a number.
const NUMBER: usize = 8;

impl Shape {
    /// Maximum size of a message of this shape, or `None` where the bytes are none.
    pub fn weight(&self, message: &[u8]) -> Option<usize> {
        let mut rest = message;
        let mut weight = self.size;
        while !rest.is_empty() {
            let (field, kind) = decode_key(&mut rest).ok()?;
            let taken = if kind == WireType::LengthDelimited {
                let length = usize::try_from(decode_varint(&mut rest).ok()?).ok()?;
                let (payload, behind) = rest.split_at_checked(length)?;
                rest = behind;
                match self.messages.iter().find(|(number, _)| *number == field) {
                    // The shapes bound the recursion, not the bytes.
                    Some((_, shape)) => shape.weight(payload)?,
                    None => FIELD.saturating_add(length),
                }
            } else {
                skip_field(kind, field, &mut rest, DecodeContext::default()).ok()?;
                NUMBER
            };
            weight = weight.saturating_add(taken);
        }
        Some(weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: Shape = Shape {
        size: 100,
        messages: &[],
    };
    const ROOT: Shape = Shape {
        size: 24,
        messages: &[(1, &LEAF)],
    };

    #[test]
    fn an_empty_message_weighs_what_it_takes_and_not_its_two_bytes() {
        let empty = [0x0a, 0];
        assert_eq!(ROOT.weight(&empty.repeat(1000)), Some(100_024));
        assert_eq!(ROOT.weight(&[]), Some(24));
        // Text of one byte, and a number.
        assert_eq!(ROOT.weight(&[0x12, 1, b'x']), Some(24 + 24 + 1));
        assert_eq!(ROOT.weight(&[0x18, 5]), Some(24 + 8));
    }

    #[test]
    fn what_is_no_message_weighs_nothing_that_is_known() {
        for bytes in [
            &[0x0a, 5, 1][..],
            &[0x0a, 0xff],
            &[0xff; 12],
            &[0x0a, 2, 0x0a, 9],
        ] {
            assert_eq!(ROOT.weight(bytes), None, "{bytes:?}");
        }
    }
}
