//! What every report carries beside its subject: warnings, gaps, and the refusal.

use super::metadata::{Incomplete, Warning};
use super::table::{Section, Shown, Tone, View};

/// A report that answers a question. Whoever prints one prints all of this too.
pub trait Answer: View {
    /// Oddities that do not keep the question from being answered.
    fn warnings(&self) -> &[Warning];

    /// Whether the report itself says to people what `warning` says, so that it need not be said
    /// beside it.
    fn mentions(&self, _warning: &Warning) -> bool {
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

/// What every page says near its head: what is odd, and what is not known. It is passed on without what
/// standard error says.
#[must_use]
pub(super) fn beside(warnings: &[Warning], incomplete: &[Incomplete]) -> [Section; 2] {
    let list = |title, lines| {
        // Only in pages: other formats have it on standard error, or in sections of the report itself.
        let list = Section::list(title, lines).shown(Shown::Page);
        list.toned(Tone::Doubtful)
    };
    [
        list("Warnings", warnings.iter().map(Warning::line).collect()),
        list(
            "Incomplete report. Unknown",
            incomplete.iter().map(Incomplete::line).collect(),
        ),
    ]
}
