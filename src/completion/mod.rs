//! Shell completion: candidates for the word being typed.
//!
//! kubectl asks through `kubectl_complete-devicetaint`, which calls the hidden command `__complete`;
//! shells ask through scripts of their own. Both get what clap knows of the command line, and names
//! for arguments that take such, which whoever can read a cluster brings along.

mod answer;
mod definition;
mod known;
mod request;
mod values;

pub use answer::Answer;
pub use known::Known;
pub use request::{KUBECTL_NAME, Request, Said};
pub use values::Values;
