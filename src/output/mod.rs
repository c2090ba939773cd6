//! Output: the only module that writes to streams.
//!
//! The only writer to standard output and standard error. Knows nothing of what it prints. Results
//! go to standard output, everything else to standard error; foreign text is escaped on the way, so
//! that no control character of a name, an attribute or an argument acts on a terminal.
//!
//! | what | module |
//! |---|---|
//! | Escaping of text that does not come from this program | [`escape`] |
//! | Terminals and colours | [`environment`] |
//! | The printer, which writes to the two streams | [`printer`] |
//! | Words of a result that are highlighted on a terminal | [`mark`] |
//! | Progress line on a terminal | [`progress`] |
//! | Status of a long operation: one changing line on a terminal, single lines elsewhere | [`status_line`] |
//! | Reading of answers to confirmations | [`question`] |
//! | Flags that printed commands repeat, so that they can be pasted | [`repeated`] |
//! | Lines that are wider than the terminal | [`wrap`] |

pub mod environment;
pub mod escape;
pub mod mark;
pub mod printer;
pub mod progress;
pub mod question;
pub mod repeated;
pub mod status_line;
pub mod wrap;

pub use environment::Environment;
pub use mark::{Mark, MarkColor};
pub use printer::{OutputError, Printer};
pub use progress::Progress;
pub use repeated::{Owner, Repeated, RepeatedFlag};
pub use status_line::StatusLine;
