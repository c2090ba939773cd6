//! Rendering of a report in the requested format.

use super::error::RenderError;
use super::format::{Format, Page};
use super::{html, json, markdown, text, yaml};
use crate::output::{Mark, MarkColor, escape};
use crate::report::View;
use crate::report::table::Tone;

/// The report as text.
///
/// # Errors
///
/// When the report holds a value that the format cannot express.
pub fn render<V: View>(view: &V, page: Page) -> Result<String, RenderError> {
    match page.format {
        Format::Table | Format::Wide => Ok(text::render(&view.sections(), page)),
        Format::Markdown => Ok(markdown::render(&view.sections(), page.format)),
        Format::Html => Ok(html::render(
            &view.heading(),
            &view.sections(),
            view.tones(),
        )),
        Format::Json => Ok(json::render(view)?),
        Format::Yaml => yaml::render(view),
        Format::Name => Ok(names(&view.names())),
    }
}

/// The words of a report that stand out on a terminal; none in formats that programs read.
pub fn marks<V: View>(view: &V, format: Format) -> Vec<Mark> {
    let for_people = match format {
        Format::Table | Format::Wide => true,
        Format::Json | Format::Yaml | Format::Markdown | Format::Html | Format::Name => false,
    };
    let tones = view.tones().iter().filter(|_| for_people);
    tones
        .map(|(word, tone)| Mark {
            word,
            color: match tone {
                Tone::Bad => MarkColor::Red,
                Tone::Doubtful => MarkColor::Yellow,
                Tone::Good => MarkColor::Green,
            },
        })
        .collect()
}

/// Gaps of an incomplete report that the format cannot express, one line each; empty when the format
/// has room for them, or nothing is missing from what it shows. They are printed beside the result.
pub fn unsaid<V: View>(view: &V, format: Format) -> Vec<String> {
    if format.carries_incompleteness() {
        Vec::new()
    } else {
        view.missing_from_names()
    }
}

fn names(names: &[String]) -> String {
    names
        .iter()
        .map(|name| format!("{}\n", escape::line(name)))
        .collect()
}

/// The text of a report on a terminal of 80 columns, none of whose lines is longer.
#[cfg(test)]
pub fn at_80_columns(report: &impl View) -> String {
    let page = Page {
        format: Format::Table,
        width: Some(80),
    };
    let text = render(report, page).unwrap();
    let long = text.lines().find(|line| line.chars().count() > 80);
    assert_eq!(long, None, "{text}");
    text
}
