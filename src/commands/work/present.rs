//! The one way in which an answer is printed, and how the command ends that gave it.

use super::look::Aside;
use super::wanted::Wanted;
use crate::commands::context::Context;
use crate::error::{ExitStatus, Failure};
use crate::output::Printer;
use crate::render::{Page, marks, render, unsaid};
use crate::report::Answer;

/// Prints an answer, with what the server said `aside`, and says how the command ends.
///
/// Warnings go to standard error. So does what is not known, where the result has no place for it:
/// that is printed even when only results and errors are asked for.
pub(crate) fn present(
    answer: &impl Answer,
    aside: &Aside,
    wanted: Wanted,
    context: &Context,
) -> Result<ExitStatus, Failure> {
    let printer = &context.printer;
    aside.tell(printer);
    tell(answer, printer);
    if answer.is_empty() {
        printer.note(&match &context.namespace {
            Some(namespace) => format!("No resources found in namespace {namespace}"),
            None => "No resources found".to_owned(),
        });
    }
    let text = render(answer, page(wanted, context))?;
    printer.emit_marked(&text, &marks(answer, wanted.format))?;
    ending(answer, wanted)
}

/// Says what an answer has no place for in itself.
pub(crate) fn tell(answer: &impl Answer, printer: &Printer<'_>) {
    for warning in answer.warnings() {
        printer.warn(&warning.line());
    }
    if !answer.says_what_is_not_known() {
        for gap in answer.incomplete() {
            printer.insist(&gap.line());
        }
    }
}

/// The page that an answer is printed on.
pub(crate) fn page(wanted: Wanted, context: &Context) -> Page {
    Page {
        format: wanted.format,
        width: context.width,
    }
}

/// How a command ends that gave this answer: a refusal goes before what is missing, and names alone
/// cannot pass for all of them.
pub(crate) fn ending(answer: &impl Answer, wanted: Wanted) -> Result<ExitStatus, Failure> {
    if let Some(refusal) = answer.refusal() {
        return Err(Failure::refused(refusal));
    }
    let unsaid = unsaid(answer, wanted.format);
    if !unsaid.is_empty() {
        let failure = Failure::new(
            ExitStatus::Incomplete,
            "the answer is incomplete, and more names may be missing",
        );
        return Err(unsaid.into_iter().fold(failure, Failure::hint));
    }
    let incomplete = answer.incomplete();
    if !wanted.strict || incomplete.is_empty() {
        return Ok(ExitStatus::Success);
    }
    let missing: Vec<&str> = incomplete.iter().map(|gap| gap.what.as_str()).collect();
    Err(Failure::new(
        ExitStatus::Incomplete,
        format!(
            "the {} is incomplete: {}",
            answer.subject(),
            missing.join(", ")
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Format;
    use crate::report::View;
    use crate::report::metadata::{Affects, Incomplete, Warning};
    use crate::report::table::Section;

    #[derive(Default, serde::Serialize)]
    struct Told {
        incomplete: Vec<Incomplete>,
        refusal: Option<String>,
    }

    impl View for Told {
        fn sections(&self) -> Vec<Section> {
            Vec::new()
        }

        fn names(&self) -> Vec<String> {
            vec!["a".to_owned()]
        }

        fn missing_from_names(&self) -> Vec<String> {
            self.incomplete.iter().map(Incomplete::line).collect()
        }
    }

    impl Answer for Told {
        fn warnings(&self) -> &[Warning] {
            &[]
        }

        fn incomplete(&self) -> &[Incomplete] {
            &self.incomplete
        }

        fn refusal(&self) -> Option<String> {
            self.refusal.clone()
        }
    }

    fn code(incomplete: bool, refused: bool, format: Format, strict: bool) -> u8 {
        let gap = Incomplete {
            what: "pods".to_owned(),
            why: "denied".to_owned(),
            affects: Affects::Evictions,
        };
        let told = Told {
            incomplete: incomplete.then_some(gap).into_iter().collect(),
            refusal: refused.then(|| "guard tripped".to_owned()),
        };
        match ending(&told, Wanted { format, strict }) {
            Ok(status) => status.code(),
            Err(failure) => failure.status().code(),
        }
    }

    #[test]
    fn how_an_answer_ends() {
        for (name, incomplete, refused, format, strict, expected) in [
            ("complete", false, false, Format::Table, true, 0),
            (
                "incomplete, which the table says",
                true,
                false,
                Format::Table,
                false,
                0,
            ),
            ("incomplete and strict", true, false, Format::Table, true, 6),
            (
                "incomplete and strict, as data",
                true,
                false,
                Format::Json,
                true,
                6,
            ),
            (
                "names alone cannot say it",
                true,
                false,
                Format::Name,
                false,
                6,
            ),
            ("a tripped guard", false, true, Format::Table, false, 4),
            (
                "a tripped guard goes first",
                true,
                true,
                Format::Name,
                true,
                4,
            ),
        ] {
            assert_eq!(
                code(incomplete, refused, format, strict),
                expected,
                "{name}"
            );
        }
    }
}
