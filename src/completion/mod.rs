//! Shell completion: candidates for the word being typed.
//!
//! kubectl asks through `kubectl_complete-devicetaint`, which calls the hidden command `__complete`;
//! shells ask through scripts of their own. Both get the flags and subcommands from clap, and the names of
//! objects from `commands::complete`, which reads them.

mod names;
mod request;

pub use names::{Known, Values};
pub use request::{Answer, COMMAND, KUBECTL_NAME, Request, Said};
