//! How does text reach the user, and nothing but text?
//!
//! The only writer to standard output and standard error. Knows nothing of what it prints. Results
//! go to standard output, everything else to standard error; foreign text is escaped on the way, so
//! that no control character of a name, an attribute or an argument acts on a terminal.
//!
//! | question | module |
//! |---|---|
//! | What may be printed raw? | [`escape`] |
//! | Is there a terminal, and does it have colours? | [`environment`] |
//! | Who writes? | [`printer`] |
//! | Which words stand out on a terminal? | [`mark`] |
//! | What shows that something is going on? | [`progress`] |
//! | What is told of something that goes on for long? | [`account`] |
//! | What goes on, line by line, for programs? | [`journal`] |
//! | What does the user have to say to it? | [`question`] |
//! | What has to stand in a printed command as well? | [`repeated`] |
//! | Where does a line break that is wider than the terminal? | [`wrap`] |

pub mod environment;
pub mod escape;
pub mod journal;
pub mod mark;
pub mod printer;
pub mod progress;
pub mod question;
pub mod repeated;
pub mod status_line;
pub mod wrap;

pub use environment::{ColorChoice, Environment, Verbosity};
pub use journal::{Journal, JournalError};
pub use mark::{Mark, MarkColor};
pub use printer::{OutputError, Printer};
pub use progress::Progress;
pub use repeated::{Owner, Repeated, RepeatedFlag};
pub use status_line::StatusLine;
