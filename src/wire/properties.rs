//! Attributes and capacities of devices, kept as the bytes in which they came.
//!
//! They are most of the bytes of slices, and an answer needs those of a few devices: they are decoded
//! on first use, see [`Lazy`]. For live reads, which are protobuf. Unusual encodings, and content
//! that needs a warning, are left to the decoder of whole slices.

use std::sync::Arc;

use litemap::LiteMap;

use super::message::read_number;
use super::versions::{Detail, Version};
use crate::model::{AttributeValue, Kind, Lazy};

/// The number of `spec` in a `ResourceSlice` and a `ResourceClaim`.
const SPEC: u64 = 2;
/// The number of `devices` in its `spec`.
const DEVICES: u64 = 6;
/// The numbers of `attributes` and `capacity` in a device.
const ATTRIBUTES: u64 = 2;
const CAPACITY: u64 = 3;

/// Attributes and capacities of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Properties<'b> {
    attributes: &'b [u8],
    capacity: &'b [u8],
}

impl Properties<'_> {
    /// Its attributes, by name.
    pub(super) fn attributes(self) -> Lazy<LiteMap<Arc<str>, AttributeValue>> {
        kept(self.attributes, |bytes| {
            // `of_device` has validated every entry, so `flatten` drops none.
            let found = all(bytes, attribute).into_iter().flatten();
            found
                .map(|(name, value)| (name.into(), value.to_model()))
                .collect()
        })
    }

    /// Its capacities, by name.
    pub(super) fn capacity(self) -> Lazy<LiteMap<Arc<str>, Arc<str>>> {
        kept(self.capacity, |bytes| {
            let found = all(bytes, capacity).into_iter().flatten();
            found
                .map(|(name, text)| (name.into(), text.into()))
                .collect()
        })
    }
}

fn kept<T: Default>(bytes: &[u8], decode: fn(&[u8]) -> T) -> Lazy<T> {
    if bytes.is_empty() {
        Lazy::default()
    } else {
        Lazy::of(bytes, decode)
    }
}

/// Attributes and capacities by device, in the order of the slice, if `bytes` are a slice that is decoded with
/// it and needs no warning.
pub(super) fn properties_of<'b>(
    version: &Version,
    detail: Detail,
    bytes: &'b [u8],
) -> Option<Vec<Properties<'b>>> {
    if detail == Detail::Names || version.kind != Kind::ResourceSlice {
        return None;
    }
    let spec = only_spec(bytes)?;
    let devices =
        // A malformed field is kept, so that collecting fails instead of skipping it.
        fields(spec).filter(|field| field.as_ref().is_none_or(|field| field.number == DEVICES));
    devices.map(|device| of_device(device?.bytes()?)).collect()
}

fn of_device(bytes: &[u8]) -> Option<Properties<'_>> {
    let mut attributes = Run::default();
    let mut capacities = Run::default();
    let mut left = bytes;
    while let Some(field) = fields(left).next() {
        let field = field?;
        let before = bytes.len().checked_sub(left.len())?;
        left = field.rest;
        let after = bytes.len().checked_sub(left.len())?;
        match field.number {
            ATTRIBUTES => {
                // Validated now, because the lazy decoding later on has no way to report an error.
                attribute(field.bytes()?)?;
                attributes.add(before, after)?;
            }
            CAPACITY => {
                capacity(field.bytes()?)?;
                capacities.add(before, after)?;
            }
            _ => {}
        }
    }
    Some(Properties {
        attributes: bytes.get(attributes.from..attributes.to)?,
        capacity: bytes.get(capacities.from..capacities.to)?,
    })
}

/// Fields of one number that stand one behind the other.
#[derive(Default)]
struct Run {
    from: usize,
    to: usize,
}

impl Run {
    /// Adds what stands there; `None` if something stands between.
    fn add(&mut self, from: usize, to: usize) -> Option<()> {
        // Zero means empty: no field can end there.
        if self.to == 0 {
            self.from = from;
        } else if self.to != from {
            return None;
        }
        self.to = to;
        Some(())
    }
}

/// Everything that `read` finds in fields, or `None` where it does not know one.
fn all<'b, T>(bytes: &'b [u8], read: impl Fn(&'b [u8]) -> Option<T>) -> Option<Vec<T>> {
    fields(bytes).map(|field| read(field?.bytes()?)).collect()
}

/// Value of an attribute, as most are.
#[derive(Clone, Copy, Debug)]
enum Plain<'b> {
    Int(i64),
    Bool(bool),
    String(&'b str),
    Version(&'b str),
}

impl Plain<'_> {
    fn to_model(self) -> AttributeValue {
        match self {
            Self::Int(number) => AttributeValue::Int(number),
            Self::Bool(truth) => AttributeValue::Bool(truth),
            Self::String(text) => AttributeValue::String(text.into()),
            Self::Version(text) => AttributeValue::Version(text.into()),
        }
    }
}

/// Name and value of an attribute: exactly one, of a type that is known.
fn attribute(entry: &[u8]) -> Option<(&str, Plain<'_>)> {
    let (name, value) = entry_of(entry)?;
    let value = only(value)?;
    let value = match (value.number, value.content) {
        (2, Content::Number(number)) => Plain::Int(number.cast_signed()),
        (3, Content::Number(truth)) => Plain::Bool(truth != 0),
        (4, Content::Bytes(text)) => Plain::String(str::from_utf8(text).ok()?),
        (5, Content::Bytes(text)) => Plain::Version(str::from_utf8(text).ok()?),
        _ => return None,
    };
    Some((name, value))
}

/// Name and quantity of a capacity that is handed out without a policy.
fn capacity(entry: &[u8]) -> Option<(&str, &str)> {
    let (name, value) = entry_of(entry)?;
    // A second field is a request policy, which only the decoder of whole slices keeps.
    let quantity = only(value)?;
    let text = only(quantity.bytes().filter(|_| quantity.number == 1)?)?;
    let text = text.bytes().filter(|_| text.number == 1)?;
    Some((name, str::from_utf8(text).ok()?))
}

/// Key and value of an entry of a map, where it has both.
fn entry_of(entry: &[u8]) -> Option<(&str, &[u8])> {
    let key = fields(entry).next()??;
    let value = only(key.rest)?;
    if key.number != 1 || value.number != 2 {
        return None;
    }
    Some((str::from_utf8(key.bytes()?).ok()?, value.bytes()?))
}

/// The one field that there is.
fn only(bytes: &[u8]) -> Option<Field<'_>> {
    let field = fields(bytes).next()??;
    field.rest.is_empty().then_some(field)
}

/// A field of a message.
#[derive(Clone, Copy, Debug)]
struct Field<'b> {
    number: u64,
    content: Content<'b>,
    rest: &'b [u8],
}

#[derive(Clone, Copy, Debug)]
enum Content<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

impl<'b> Field<'b> {
    fn bytes(&self) -> Option<&'b [u8]> {
        match self.content {
            Content::Bytes(bytes) => Some(bytes),
            Content::Number(_) => None,
        }
    }
}

/// The fields of a message, and `None` for what is none, or of a sort that is not in use there.
fn fields(bytes: &[u8]) -> impl Iterator<Item = Option<Field<'_>>> {
    let mut left = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = left.filter(|bytes| !bytes.is_empty())?;
        let field = first(bytes);
        left = field.map(|field| field.rest);
        Some(field)
    })
}

fn first(bytes: &[u8]) -> Option<Field<'_>> {
    let (key, length) = read_number(bytes).ok()??;
    let rest = bytes.get(length..)?;
    // Meaningless for a field of fixed width, which is refused below.
    let (number, length) = read_number(rest).ok()??;
    let rest = rest.get(length..)?;
    let (content, rest) = match key & 7 {
        0 => (Content::Number(number), rest),
        2 => {
            let (content, rest) = rest.split_at_checked(usize::try_from(number).ok()?)?;
            (Content::Bytes(content), rest)
        }
        _ => return None,
    };
    Some(Field {
        number: key >> 3,
        content,
        rest,
    })
}

/// The bytes of what a claim asks for, if `bytes` is one that is decoded with it. What is cut off or written twice is
/// left to the decoder.
///
/// Most claims are made from a few templates, and the spec is most of their bytes: specs of the same bytes are decoded
/// once. A spec causes no warnings of its own, so that it does not matter which claim came first.
pub(super) fn spec_of<'b>(version: &Version, detail: Detail, bytes: &'b [u8]) -> Option<&'b [u8]> {
    if detail != Detail::Terms || version.kind != Kind::ResourceClaim {
        return None;
    }
    only_spec(bytes)
}

/// The bytes of `spec`, which is the field of the same number in claims and slices. Protobuf merges a message field that
/// occurs twice: then no part of the bytes equals the spec.
fn only_spec(bytes: &[u8]) -> Option<&[u8]> {
    let mut spec = None;
    for field in fields(bytes) {
        let field = field?;
        if field.number == SPEC && spec.replace(field.bytes()?).is_some() {
            return None;
        }
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::field;
    use crate::wire::versions_of;

    fn slice(devices: &[Vec<u8>]) -> Vec<u8> {
        let devices: Vec<Vec<u8>> = devices.iter().map(|device| field(6, device)).collect();
        [field(1, b""), field(2, &devices.concat())].concat()
    }

    fn found(bytes: &[u8]) -> Option<Vec<Properties<'_>>> {
        let version = versions_of(Kind::ResourceSlice).next().expect("a version");
        properties_of(version, Detail::Terms, bytes)
    }

    fn entry(number: u8, name: &str, value: &[u8]) -> Vec<u8> {
        field(
            number,
            &[field(1, name.as_bytes()), field(2, value)].concat(),
        )
    }

    #[test]
    fn devices_keep_what_they_have_until_somebody_asks() {
        let device = [
            field(1, b"gpu-0"),
            entry(2, "model", &field(4, b"a")),
            entry(2, "index", &[0x10, 0x96, 0x01]),
            entry(2, "fast", &[0x18, 0x01]),
            entry(2, "driver", &field(5, b"1.2.3")),
            entry(3, "memory", &field(1, &field(1, b"8Gi"))),
            field(8, b""),
        ];
        let bytes = slice(&[device.concat(), field(1, b"gpu-1")]);
        let found = found(&bytes).expect("a plain slice");
        let attributes = found[0].attributes();
        assert_eq!(attributes.len(), 4);
        for (name, value) in [
            ("model", AttributeValue::String("a".into())),
            ("index", AttributeValue::Int(150)),
            ("fast", AttributeValue::Bool(true)),
            ("driver", AttributeValue::Version("1.2.3".into())),
        ] {
            assert_eq!(attributes.get(name), Some(&value), "{name}");
        }
        let capacity = found[0].capacity();
        assert_eq!(capacity.get("memory").map(|text| &**text), Some("8Gi"));
        assert_eq!(found[1], Properties::default());
    }

    #[test]
    fn what_has_to_be_told_or_refused_is_left_to_the_decoder() {
        let plain = entry(2, "model", &field(4, b"a"));
        let quantity = field(1, &field(1, b"8Gi"));
        for (name, device) in [
            ("unknown type", entry(2, "model", &field(14, b"a"))),
            ("several values", entry(2, "model", &field(6, b"\x01"))),
            (
                "two values",
                entry(2, "m", &[field(4, b"a"), field(5, b"1")].concat()),
            ),
            ("no value", field(2, &field(1, b"model"))),
            ("no text", entry(2, "model", &field(4, b"\xff"))),
            (
                "value before name",
                field(2, &[field(2, b""), field(1, b"a")].concat()),
            ),
            ("another wire type", vec![0x10, 0x01]),
            (
                "policy",
                entry(3, "memory", &[quantity, field(2, b"")].concat()),
            ),
            ("no quantity", entry(3, "memory", b"")),
            ("apart", [&plain[..], &field(1, b"gpu"), &plain].concat()),
            ("cut off", plain[..plain.len() - 1].to_vec()),
        ] {
            assert_eq!(found(&slice(&[plain.clone(), device])), None, "{name}");
        }
        let whole = slice(std::slice::from_ref(&plain));
        assert!(found(&whole).is_some());
        assert_eq!(found(&[&whole[..], &field(2, b"")].concat()), None);
        assert_eq!(found(&field(1, b"")), None);
    }

    #[test]
    fn the_spec_is_found_where_it_stands_once() {
        let version = versions_of(Kind::ResourceClaim).next().unwrap();
        let found = |bytes: &[u8]| spec_of(version, Detail::Terms, bytes).map(<[u8]>::to_vec);
        let (metadata, spec) = (field(1, b"abc"), field(2, b"de"));
        let status = field(3, b"");
        assert_eq!(
            found(&[&metadata[..], &spec, &status].concat()),
            Some(b"de".to_vec())
        );
        assert_eq!(found(&[&spec[..], &metadata, &spec].concat()), None);
        assert_eq!(found(&metadata), None);
        assert_eq!(found(&spec[..3]), None);
        assert_eq!(found(&[7]), None);
        assert_eq!(spec_of(version, Detail::Attributes, &spec), None);
        let slice = versions_of(Kind::ResourceSlice).next().unwrap();
        assert_eq!(spec_of(slice, Detail::Terms, &spec), None);
    }
}
