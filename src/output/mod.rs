//! Output: the only module that writes to streams.
//!
//! The only writer to standard output and standard error. Knows nothing of what it prints. Results
//! go to standard output, everything else to standard error; foreign text is escaped on the way, so
//! that no control character of a name, an attribute or an argument acts on a terminal.

pub mod environment;
pub mod escape;
pub mod printer;
pub mod progress;
pub mod question;

pub use environment::Environment;
pub use printer::{Mark, MarkColor};
pub use printer::{OutputError, Printer};
pub use progress::Progress;
pub use progress::StatusLine;
