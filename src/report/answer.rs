//! What does every answer say beside its subject?

use super::metadata::{Incomplete, Warning};
use super::table::View;

/// A report that answers a question. Whoever prints one prints all of this too.
pub trait Answer: View {
    /// What it is.
    fn subject(&self) -> &'static str {
        "answer"
    }

    /// Oddities that do not keep the question from being answered.
    fn warnings(&self) -> &[Warning];

    /// Whether the report itself says to people what `warning` says, so that it need not be said
    /// beside it.
    fn says(&self, _warning: &Warning) -> bool {
        false
    }

    /// What is not known.
    fn incomplete(&self) -> &[Incomplete];

    /// Whether the report itself says what is not known, in every format but names alone. Where it
    /// does not, that is said beside it.
    fn says_what_is_not_known(&self) -> bool {
        true
    }

    /// Why whoever asked must not go on; absent where nothing speaks against it.
    fn refusal(&self) -> Option<String> {
        None
    }

    /// Whether nothing was found.
    fn is_empty(&self) -> bool {
        false
    }
}
