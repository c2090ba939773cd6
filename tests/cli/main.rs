//! The command line: what a user types, and what stands on the terminal afterwards.

mod harness;
mod rules;
