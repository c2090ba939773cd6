//! What can a user ask for?
//!
//! One file a subcommand: `XArgs`, which is its command line and its help, and `run`, which gathers
//! what the answer needs, asks the engine, and presents a report. The only place that sees more than
//! two layers, and the only one that reads the environment.

mod arguments;
mod cli;
mod connection;
mod context;
mod devices;
mod help;
mod preview;
mod publish;
mod selection;
mod source;

pub use cli::{Cli, run};
