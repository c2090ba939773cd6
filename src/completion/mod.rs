//! Shell completion: candidates for the word being typed.
//!
//! kubectl asks through `kubectl_complete-devicetaint`, which calls the hidden command `__complete`;
//! shells ask through scripts of their own. Both get the flags and subcommands from clap, and the names of
//! objects from `commands::complete`, which reads them.

mod answer;
mod definition;
mod known;
mod request;
mod values;

pub use answer::Answer;
pub use known::Known;
pub use request::{Request, Said};
pub use values::Values;
