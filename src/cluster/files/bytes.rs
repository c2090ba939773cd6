//! From files to text: compression and character sets.

use std::fs::File;
use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use super::read::Limits;
use super::{FileSource, InputError};

/// What every gzip file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// How much is unpacked before the next look at it.
const PORTION: u64 = 1 << 20;

/// The text of one file.
///
/// # Errors
///
/// If it cannot be read, is larger than `limits` say, or is not text.
pub(in crate::cluster) fn text(
    source: &FileSource,
    stdin: &mut dyn Read,
    limits: &Limits,
) -> Result<String, InputError> {
    let file = source.name();
    let bytes = match source {
        FileSource::Path(path) => File::open(path).and_then(|opened| all(opened, limits)),
        FileSource::Stdin => all(stdin, limits),
    };
    let bytes = bytes.map_err(|source| InputError::Read {
        file: file.clone(),
        source,
    })?;
    let bytes = if bytes.starts_with(&GZIP) {
        unpack(&bytes, &file, limits)?
    } else {
        bytes
    };
    if bytes.len() as u64 > limits.bytes {
        return Err(too_large(&file, limits.bytes));
    }
    decode(bytes).map_err(|problem| InputError::NotText { file, problem })
}

/// All bytes, or one more than are allowed.
fn all(reader: impl Read, limits: &Limits) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader
        .take(limits.bytes.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Unpacks gzip, of several members too.
///
/// A few kilobytes can unpack to gigabytes of nothing. So what comes out is looked at as it comes:
/// it must be text, and not out of all proportion to what went in.
fn unpack(packed: &[u8], file: &str, limits: &Limits) -> Result<Vec<u8>, InputError> {
    let proportion = (packed.len() as u64).saturating_mul(limits.gzip_ratio);
    let most = proportion.max(limits.gzip_always).min(limits.bytes);
    let mut decoder = MultiGzDecoder::new(packed);
    let mut unpacked = Vec::new();
    loop {
        let before = unpacked.len();
        let read = decoder.by_ref().take(PORTION).read_to_end(&mut unpacked);
        let read = read.map_err(|source| InputError::Read {
            file: file.to_owned(),
            source,
        })?;
        if read == 0 {
            return Ok(unpacked);
        }
        if unpacked.len() as u64 > most {
            return Err(too_large(file, most));
        }
        if !is_utf16(&unpacked) && unpacked[before..].contains(&0) {
            return Err(InputError::NotText {
                file: file.to_owned(),
                problem: "it is compressed, but not text".to_owned(),
            });
        }
    }
}

fn too_large(file: &str, most: u64) -> InputError {
    InputError::TooLarge {
        file: file.to_owned(),
        problem: format!("it holds more than {} MiB", most >> 20),
    }
}

fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff])
}

/// Text in UTF-8, or in UTF-16 as PowerShell's `>` writes it, with or without a byte order mark.
fn decode(bytes: Vec<u8>) -> Result<String, String> {
    if is_utf16(&bytes) {
        return decode_utf16(&bytes);
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let byte = error.as_bytes().get(place).copied().unwrap_or_default();
        format!("it is not text: byte {byte:#04x} at offset {place} is not UTF-8")
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    match text.find('\0') {
        None => Ok(text),
        Some(place) => Err(format!("it is not text: byte 0x00 at offset {place}")),
    }
}

fn decode_utf16(bytes: &[u8]) -> Result<String, String> {
    let big_endian = bytes.starts_with(&[0xfe, 0xff]);
    let units = bytes.get(2..).unwrap_or_default();
    let units = units.chunks(2).map(|pair| match (pair, big_endian) {
        ([first, second], true) => u16::from_be_bytes([*first, *second]),
        ([first, second], false) => u16::from_le_bytes([*first, *second]),
        // Half a character: replaced by one that cannot stand alone, and so found out below.
        _ => 0xd800,
    });
    char::decode_utf16(units)
        .collect::<Result<_, _>>()
        .map_err(|_| "it is not text: it begins like UTF-16, but is not".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units
            .flat_map(|unit| {
                if big_endian {
                    unit.to_be_bytes()
                } else {
                    unit.to_le_bytes()
                }
            })
            .collect()
    }

    #[test]
    fn text_of_every_encoding_is_the_same() {
        for (name, bytes) in [
            ("UTF-8", "kind: Pöd".as_bytes().to_vec()),
            ("UTF-8 with a mark", "\u{feff}kind: Pöd".as_bytes().to_vec()),
            ("UTF-16 little-endian", utf16("kind: Pöd", false)),
            ("UTF-16 big-endian", utf16("kind: Pöd", true)),
        ] {
            assert_eq!(decode(bytes).as_deref(), Ok("kind: Pöd"), "{name}");
        }
    }

    #[test]
    fn noise_is_told_by_its_first_bad_byte() {
        assert_eq!(
            decode(b"kind\xff".to_vec()),
            Err("it is not text: byte 0xff at offset 4 is not UTF-8".to_owned())
        );
        assert!(decode(b"k8s\0\x0a".to_vec()).is_err());
        assert!(decode([0xff, 0xfe, 0x41].to_vec()).is_err());
    }
}
