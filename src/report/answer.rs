//! Parts that every report has beside its subject: warnings, gaps, and the refusal.

use super::metadata::{Incomplete, Warning};
use super::table::{Section, Shown, Tone, View};

/// A report that answers a question. Its printers print all of this too.
pub trait Answer: View {
    /// Oddities that do not keep the question from being answered.
    fn warnings(&self) -> &[Warning];

    /// True if the report itself contains `warning`, so that it need not be printed beside it.
    fn mentions(&self, _warning: &Warning) -> bool {
        false
    }

    /// Missing data.
    fn incomplete(&self) -> &[Incomplete];

    /// True if the report itself lists the missing data, in every format but names alone. Otherwise it is
    /// printed beside it.
    fn says_what_is_not_known(&self) -> bool {
        true
    }

    /// Reason not to go on; absent where there is none.
    fn refusal(&self) -> Option<String> {
        None
    }

    /// True if nothing was found.
    fn is_empty(&self) -> bool {
        false
    }
}

/// Sections near the head of every page: warnings and missing data. A page is passed on without standard error.
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
