//! The command line: what a user types, and what stands on the terminal afterwards.

mod bad_input;
mod devices;
mod formats;
mod harness;
mod help;
mod preview;
mod sources;
