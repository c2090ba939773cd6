//! The files of `--policy`.

use std::fs;
use std::path::PathBuf;

use crate::decide::policy::{Policies, policy, unreadable};
use crate::error::Failure;
use crate::wire::parse_with_positions;

/// Reads what a team has agreed on; everything that can be wrong with the files is found here.
pub(crate) fn read(files: &[PathBuf]) -> Result<Policies, Failure> {
    let read = |path: &PathBuf| {
        let name = path.display().to_string();
        let text = fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
        let written = parse_with_positions(&text).map_err(|problem| unreadable(&name, &problem))?;
        policy(&name, &written)
    };
    Ok(Policies(files.iter().map(read).collect::<Result<_, _>>()?))
}
