//! Wire structs, written as Kubernetes' `.proto` files write them.

use std::fmt::Debug;

use super::error::DecodeError;

/// Parameter of a generic message.
pub trait Part: prost::Message + Default + Debug {}

impl<T: prost::Message + Default + Debug> Part for T {}

/// Makes structs that are decoded from protobuf, and from JSON and YAML under the names of the API.
///
/// A field is `name: optional TYPE = TAG` or `name: repeated TYPE = TAG`, where TYPE is a scalar of protobuf or
/// another such struct. A struct that is the same in all versions but for what it holds has that as a parameter,
/// `struct NAME<OF = USUAL>`. In JSON, a list that is `null` is an empty one, as in Go. A field that is something else
/// is written with its own attributes, from `pub` on.
macro_rules! message {
    (@fields [$($head:tt)*] [$($done:tt)*]) => {
        #[derive(Clone, PartialEq, prost::Message, serde::Deserialize)]
        #[cfg_attr(test, derive(serde::Serialize))]
        #[serde(rename_all = "camelCase")]
        $($head)* { $($done)* }
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: optional string = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [$(#[$about])* #[prost(string, optional, tag = $tag)] pub $field: Option<String>,] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: optional bool = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [$(#[$about])* #[prost(bool, optional, tag = $tag)] pub $field: Option<bool>,] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: optional int32 = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [$(#[$about])* #[prost(int32, optional, tag = $tag)] pub $field: Option<i32>,] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: optional int64 = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [$(#[$about])* #[prost(int64, optional, tag = $tag)] pub $field: Option<i64>,] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: optional $kind:ident = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [$(#[$about])* #[prost(message, optional, tag = $tag)] pub $field: Option<$kind>,] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: repeated string = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [
            $(#[$about])*
            #[prost(string, repeated, tag = $tag)]
            #[serde(default, deserialize_with = "crate::wire::unambiguous::or_default")]
            pub $field: Vec<String>,
        ] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $field:ident: repeated $kind:ident = $tag:tt, $($rest:tt)*) => {
        message!(@add $head $done [
            $(#[$about])*
            #[prost(message, repeated, tag = $tag)]
            #[serde(default, deserialize_with = "crate::wire::unambiguous::or_default")]
            pub $field: Vec<$kind>,
        ] $($rest)*);
    };
    (@fields $head:tt $done:tt $(#[$about:meta])* $vis:vis $field:ident: $kind:ty, $($rest:tt)*) => {
        message!(@add $head $done [$(#[$about])* $vis $field: $kind,] $($rest)*);
    };
    (@add $head:tt [$($done:tt)*] [$($field:tt)*] $($rest:tt)*) => {
        message!(@fields $head [$($done)* $($field)*] $($rest)*);
    };
    ($($(#[$about:meta])* $vis:vis struct $name:ident $(<$of:ident = $usual:ident>)? { $($fields:tt)* })*) => {
        $(message!(@fields [
            $(#[$about])*
            $vis struct $name $(<$of: $crate::wire::message::Part = $usual>)?
        ] [] $($fields)*);)*
    };
}
pub(super) use message;

/// Number and extent of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) number: u64,
    /// Bytes of the field without the content of [`Value::Length`].
    pub(super) header: usize,
    pub(super) value: Value,
}

/// Value behind a field's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A number, already counted in the header.
    Inline,
    /// Length of the content in bytes.
    Length(u64),
}

/// The field that `input` begins with, or `None` if more bytes are needed to tell.
pub(super) fn read_field(input: &[u8]) -> Result<Option<Field>, DecodeError> {
    let Some((key, key_length)) = read_number(input)? else {
        return Ok(None);
    };
    let rest = &input[key_length..];
    let (value, length) = match key & 7 {
        0 => match read_number(rest)? {
            None => return Ok(None),
            Some((_, length)) => (Value::Inline, length),
        },
        1 => (Value::Inline, 8),
        2 => match read_number(rest)? {
            None => return Ok(None),
            Some((content, length)) => (Value::Length(content), length),
        },
        5 => (Value::Inline, 4),
        // No message of Kubernetes uses groups (3 and 4), and their length is not written anywhere.
        other => return Err(malformed(&format!("wire type {other} is unknown"))),
    };
    Ok((rest.len() >= length).then_some(Field {
        number: key >> 3,
        header: key_length.saturating_add(length),
        value,
    }))
}

/// A number of variable length and the length, or `None` if more bytes are needed.
pub(super) fn read_number(input: &[u8]) -> Result<Option<(u64, usize)>, DecodeError> {
    let mut number = 0;
    let shifts = (0..u64::BITS).step_by(7);
    for ((length, byte), shift) in (1..).zip(input).zip(shifts) {
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(Some((number, length)));
        }
    }
    // 64 bits take up to ten bytes of seven bits each: with fewer, the rest may not have arrived yet.
    if input.len() < 10 {
        return Ok(None);
    }
    Err(malformed("a number is too long"))
}

/// The `length` bytes after `header`, once they are all there.
pub(super) fn complete(input: &[u8], header: usize, length: u64) -> Option<&[u8]> {
    let end = header.checked_add(usize::try_from(length).ok()?)?;
    input.get(header..end)
}

/// The error for bytes that are no protobuf.
pub(super) fn malformed(problem: &str) -> DecodeError {
    DecodeError::syntax("protobuf", problem)
}

/// A list has so many copies of an object only when it goes in a circle.
const ROUNDS: u32 = 10;

/// Objects of a list that are remembered.
#[derive(Debug, Default)]
pub(super) struct RepeatDetector {
    known: Vec<u8>,
    taken: usize,
    rounds: u32,
}

impl RepeatDetector {
    /// Takes the next object; whether they have come again too often.
    pub(super) fn goes_on(&mut self, object: &[u8]) -> bool {
        self.taken = self.taken.saturating_add(1);
        if self.known == object {
            self.rounds = self.rounds.saturating_add(1);
        } else if self.taken.is_power_of_two() {
            self.known.clear();
            self.known.extend_from_slice(object);
            self.rounds = 0;
        }
        self.rounds >= ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_told_apart_by_their_wire_type() {
        for (name, bytes, number, header, value) in [
            ("number", &[0x08, 0x96, 0x01][..], 1, 3, Value::Inline),
            (
                "eight bytes",
                &[0x11, 0, 0, 0, 0, 0, 0, 0, 0],
                2,
                9,
                Value::Inline,
            ),
            ("content", &[0x12, 0x80, 0x01], 2, 3, Value::Length(128)),
            ("four bytes", &[0x1d, 0, 0, 0, 0], 3, 5, Value::Inline),
        ] {
            let field = read_field(bytes).expect(name);
            let expected = Field {
                number,
                header,
                value,
            };
            assert_eq!(field, Some(expected), "{name}");
            for cut in 0..bytes.len() {
                assert_eq!(read_field(&bytes[..cut]), Ok(None), "{name} cut at {cut}");
            }
        }
    }

    #[test]
    fn number_without_an_end_is_an_error() {
        assert!(read_field(&[0xff; 16]).is_err());
    }

    /// After how many objects a circle is found in what is made of their numbers.
    fn found(object: impl Fn(usize) -> usize) -> Option<usize> {
        let mut circle = RepeatDetector::default();
        (1..=100_000).find(|number| circle.goes_on(object(*number).to_string().as_bytes()))
    }

    #[test]
    fn circle_is_found_however_long_it_is_and_whatever_comes_before() {
        assert_eq!(found(|_| 1), Some(11));
        for length in [2, 3, 7, 1000] {
            let at = found(|number| number % length).expect("a circle");
            assert!(at <= 30 * length, "{length}: {at}");
            let late = |number: usize| number.min(500 + number % length);
            assert!(found(late).is_some(), "{length}");
        }
    }

    #[test]
    fn objects_that_come_twice_are_no_circle() {
        assert_eq!(found(|number| number), None);
        assert_eq!(found(|number| number / 2), None);
    }
}
