//! Reads rules that somebody wrote: `-f FILE`.

use std::io::Read;

use super::read::decode_file;
use super::{FileSource, InputError, Limits};
use crate::model::DeviceTaintRule;
use crate::wire::Object;

/// The rules in all of `sources`, in their order. `stdin` is read where `-` was given.
///
/// # Errors
///
/// If a file cannot be read, or holds anything else than rules.
pub fn read_rules(
    sources: &[FileSource],
    stdin: &mut dyn Read,
    limits: &Limits,
) -> Result<Vec<DeviceTaintRule>, InputError> {
    let mut rules = Vec::new();
    for source in sources {
        for file in source.files()? {
            let decoded = decode_file(&file, stdin, limits)?;
            let other = decoded
                .found
                .keys()
                .find(|found| found.kind != "DeviceTaintRule");
            if let Some(other) = other {
                return Err(InputError::NotARule {
                    file: file.name(),
                    found: other.kind.clone(),
                });
            }
            rules.extend(
                decoded
                    .items
                    .into_iter()
                    .filter_map(|item| match item.object {
                        Object::DeviceTaintRule(rule) => Some(rule),
                        Object::ResourceSlice(_)
                        | Object::ResourceClaim(_)
                        | Object::Pod(_)
                        | Object::DeviceClass(_) => None,
                    }),
            );
        }
    }
    Ok(rules)
}
