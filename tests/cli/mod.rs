//! The command line: arguments, and output on the terminal.

mod advice_in_the_source;
mod devices;
mod facts;
mod formats;
mod harness;
mod help;
mod hostile;
mod rolled_up;
mod sources;
#[cfg(unix)]
mod terminal;
