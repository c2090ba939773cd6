//! What can a user ask for?
//!
//! One file a subcommand: `XArgs`, which is its command line and its help, and `run`, which gathers
//! what the answer needs, asks the engine, and presents a report. The only place that sees more than
//! two layers, and the only one that reads the environment.

#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "these texts are the help that users read, with its brackets"
)]

mod add;
mod arguments;
mod change;
mod cli;
mod connection;
mod context;
mod deescalate;
mod describe;
mod devices;
mod escalate;
mod help;
mod ledger;
mod list;
mod preview;
mod publish;
mod remove;
mod safety;
mod scene;
mod selection;
mod signal;
mod snapshot;
mod source;
mod step;
mod wait;
mod waiting;

pub use cli::{Cli, run};
