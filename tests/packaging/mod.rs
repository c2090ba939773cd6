//! Can it be installed? Archives, krew's manifest, packages, and the whole path of a new user.

mod archive;
mod generated;
mod krew;
mod package;
mod release;
#[allow(dead_code, reason = "the second tier uses the rest")]
mod support;
