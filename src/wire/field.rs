//! Protobuf fields, as far as they can be told apart without knowing what they mean.

use super::error::DecodeError;

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
    DecodeError::Syntax {
        format: "protobuf",
        problem: problem.to_owned(),
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
}
