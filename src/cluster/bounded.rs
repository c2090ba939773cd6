//! Small files, read up to a limit: a wrong name may lead to a device or a pipe that never ends.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// More than this is no kubeconfig, no certificate and no token.
const LIMIT: u64 = 16 << 20;

/// The content of the file at `path`.
///
/// # Errors
///
/// When it cannot be read, or is longer than 16 MiB ([`io::ErrorKind::FileTooLarge`]).
pub(in crate::cluster) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let mut start = File::open(path)?.take(LIMIT.saturating_add(1));
    start.read_to_end(&mut content)?;
    if u64::try_from(content.len()).is_ok_and(|length| length <= LIMIT) {
        Ok(content)
    } else {
        Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is longer than 16 MiB",
        ))
    }
}
