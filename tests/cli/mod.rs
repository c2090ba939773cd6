//! The command line: arguments, and output on the terminal.

mod advice_in_the_source;
mod bad_input;
mod dedicated;
mod devices;
mod explain;
mod formats;
mod hardware;
mod harness;
mod help;
mod hostile;
mod plan;
mod preview;
mod reports;
mod reports_devices;
mod rolled_up;
mod rules;
mod sources;
#[cfg(unix)]
mod terminal;
mod usage;
mod version;
mod without_cluster;
