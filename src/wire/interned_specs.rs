//! Specs of claims, decoded once for all claims with the same bytes.
//!
//! Most claims are made from a few templates, and the spec is most of their bytes. For live
//! reads, which are protobuf. A spec causes no warnings of its own, see
//! [`request`](super::request), so that it does not matter which claim came first.

use std::sync::Arc;

use foldhash::HashMap;

use super::detail::Detail;
use super::field::{Value, complete, read_field};
use super::versions::Version;
use crate::model::{ClaimSpec, Kind};

/// The number of `spec` in a `ResourceClaim`.
const SPEC: u64 = 2;

/// Specs of claims by their bytes.
#[derive(Debug, Default)]
pub(super) struct InternedSpecs {
    known: HashMap<Box<[u8]>, Arc<ClaimSpec>>,
}

impl InternedSpecs {
    /// Spec of these bytes, if it is known.
    pub(super) fn get(&self, spec: &[u8]) -> Option<Arc<ClaimSpec>> {
        self.known.get(spec).map(Arc::clone)
    }

    /// Notes what these bytes say.
    pub(super) fn note(&mut self, spec: &[u8], known: &Arc<ClaimSpec>) {
        self.known.insert(spec.into(), Arc::clone(known));
    }
}

/// The bytes of what a claim asks for, if `bytes` is one that is decoded with it. What is cut off or
/// written twice is left to the decoder.
pub(super) fn spec_of<'b>(
    version: &Version,
    detail: Detail,
    mut bytes: &'b [u8],
) -> Option<&'b [u8]> {
    let is_asked = match detail {
        Detail::Terms => version.kind == Kind::ResourceClaim,
        Detail::Names | Detail::Attributes => false,
    };
    if !is_asked {
        return None;
    }
    let mut spec = None;
    while !bytes.is_empty() {
        let field = read_field(bytes).ok()??;
        let length = match field.value {
            Value::Inline => 0,
            Value::Length(length) => length,
        };
        let content = complete(bytes, field.header, length)?;
        // Protobuf merges a message field that occurs twice: then no part of the bytes equals the spec.
        if field.number == SPEC && spec.replace(content).is_some() {
            return None;
        }
        bytes = bytes.get(field.header.checked_add(content.len())?..)?;
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::testing::field;
    use crate::wire::versions_of;

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
