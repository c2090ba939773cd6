//! What a kubelet has noted for itself, in its root folder.

use std::fs;
use std::path::Path;

use crate::model::PreparedClaim;
use crate::wire::checkpoint::prepared_claims;

/// The kubelet's notes about claims, two folders above its socket.
const NOTES: &str = "dra_manager_state";

/// The claims that the kubelet which listens at `socket` has noted as prepared.
///
/// # Errors
///
/// In words, why that is not known: the notes are not there, may not be read, or are not understood.
pub fn notes_beside(socket: &Path) -> Result<Vec<PreparedClaim>, String> {
    let root = socket.parent().and_then(Path::parent);
    let path = root.unwrap_or(socket).join(NOTES);
    let shown = path.display();
    let bytes = fs::read(&path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    prepared_claims(&bytes).map_err(|why| format!("cannot understand {shown}: {why}"))
}
