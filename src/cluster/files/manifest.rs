//! Reads rules that somebody wrote: `-f FILE`.

use std::io::Read;

use serde_json::Value;

use super::error::InputError;
use super::limits::Limits;
use super::read::decode_file;
use super::sources::FileSource;
use super::sources::InputFile;
use crate::model::{DeviceTaintRule, Kind};
use crate::wire::{Documents, Fact};

/// The rules in all of `sources`, in their order, each with the object as it is written: with fields
/// that this plugin does not know. `stdin` is read where `-` was given.
///
/// # Errors
///
/// If a file cannot be read, or holds anything else than rules.
pub fn read_manifests(
    sources: &[FileSource],
    stdin: &mut dyn Read,
    limits: &Limits,
) -> Result<Vec<(DeviceTaintRule, Value)>, InputError> {
    let mut manifests = Vec::new();
    for source in sources {
        let files = source.files(limits);
        if let Err(InputError::EmptyDirectory { directory }) = files {
            return Err(InputError::NoRules { directory });
        }
        for InputFile { source: file, .. } in files? {
            let documents = Documents::keeping([Kind::DeviceTaintRule]);
            let decoded = decode_file(&file, stdin, limits, documents)?;
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
            let rules = decoded.items.into_iter().filter_map(|item| {
                let rule = DeviceTaintRule::of(item.object)?;
                Some((rule, *item.written?))
            });
            manifests.extend(rules);
        }
    }
    Ok(manifests)
}
