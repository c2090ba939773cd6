//! Subcommands, one module each.
//!
//! One file a subcommand: `XArgs`, which is its command line and its help, and `run`, which gathers the
//! inputs, asks the engine, and presents a report. `work` has what several of them share: actions, and the flags of these.
//! The only place that sees more than two layers, and the only one that reads the environment.

#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these texts are the help that users read, with its brackets"
)]

mod add;
mod cli;
mod complete;
mod context;
mod dedicate;
mod deescalate;
mod describe;
mod devices;
mod drain;
mod escalate;
mod explain;
mod help;
mod list;
mod make_room;
mod plan;
mod podresources;
mod preview;
mod react;
mod remove;
mod restore;
mod signal;
mod snapshot;
#[cfg(test)]
mod tests;
mod tolerations;
mod undedicate;
mod version;
mod wait;
mod work;

pub use cli::{Cli, command, run};
pub use context::variables;
