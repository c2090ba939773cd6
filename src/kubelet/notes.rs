//! What a kubelet has noted for itself, in its root folder.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use crate::model::PreparedClaim;
use crate::wire::checkpoint::prepared_claims;

/// The kubelet's notes about claims, two folders above its socket.
const NOTES: &str = "dra_manager_state";

/// The longest notes that are read; those of a node with a thousand claims take some hundred kilobytes.
const LONGEST: u64 = 16 << 20;

/// The claims that the kubelet which listens at `socket` has noted as prepared.
///
/// # Errors
///
/// In words, why that is not known: the notes are not there, may not be read, or are not understood.
pub fn notes_beside(socket: &Path) -> Result<Vec<PreparedClaim>, String> {
    let root = socket.parent().and_then(Path::parent);
    let path = root.unwrap_or(socket).join(NOTES);
    let shown = path.display();
    let bytes = bounded(&path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    prepared_claims(&bytes).map_err(|why| format!("cannot parse {shown}: {why}"))
}

/// The bytes of a file that has an end, and is no pipe or device that may never say anything.
fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    let most = LONGEST.saturating_add(1);
    let read = fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    match u64::try_from(read) {
        Ok(read) if read <= LONGEST => Ok(bytes),
        Ok(_) | Err(_) => Err(io::Error::other("it is longer than 16 MiB")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_without_an_end_are_not_read_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        let file = fs::File::create(&path).unwrap();
        file.set_len(LONGEST + 1).unwrap();
        assert!(bounded(&path).unwrap_err().to_string().contains("longer"));
        file.set_len(LONGEST).unwrap();
        assert!(bounded(&path).is_ok());
        assert!(bounded(folder.path()).is_err());
    }
}
