//! Which formats are there?

use std::fmt;
use std::str::FromStr;

use super::{json, markdown, text, yaml};
use crate::output::{Mark, MarkColor, escape};
use crate::report::View;
use crate::report::table::{Shown, Tone};

/// A format that a report can be printed in; the values of `-o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Sentences and tables for a terminal.
    #[default]
    Table,
    /// A table with more columns.
    Wide,
    /// All of the report, as one JSON document.
    Json,
    /// All of the report, as one YAML document.
    Yaml,
    /// Sentences and tables for a ticket or a pull request.
    Markdown,
    /// Only the names, one in a line.
    Name,
}

impl Format {
    /// Every format, in the order of the documentation.
    pub const ALL: [Self; 6] = [
        Self::Table,
        Self::Wide,
        Self::Json,
        Self::Yaml,
        Self::Markdown,
        Self::Name,
    ];

    /// The format as it is written after `-o`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Wide => "wide",
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Markdown => "markdown",
            Self::Name => "name",
        }
    }

    /// Whether somebody reads it at a terminal, who may want to know what to do next.
    #[must_use]
    pub fn is_for_people(self) -> bool {
        match self {
            Self::Table | Self::Wide => true,
            Self::Json | Self::Yaml | Self::Markdown | Self::Name => false,
        }
    }

    /// Whether a result in this format can say that it is incomplete.
    #[must_use]
    pub fn carries_incompleteness(self) -> bool {
        match self {
            Self::Table | Self::Wide | Self::Json | Self::Yaml | Self::Markdown => true,
            Self::Name => false,
        }
    }

    /// Says whether a column or section belongs into the format.
    pub(super) fn shows(self, shown: Shown) -> bool {
        match shown {
            Shown::Always => true,
            Shown::Wide => self == Self::Wide || self == Self::Markdown,
            Shown::Narrow => self == Self::Table,
            Shown::Document => self == Self::Markdown,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let known = Self::ALL.into_iter().find(|format| format.as_str() == text);
        known.ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

/// Not one of the formats.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown output format \"{0}\", known are: table, wide, json, yaml, markdown, name")]
pub struct UnknownFormat(pub String);

/// A report that cannot be written as data; not to be expected of reports made of plain fields.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// JSON has no such value.
    #[error("cannot write the report as JSON")]
    Json(#[from] serde_json::Error),
    /// YAML has no such value.
    #[error("cannot write the report as YAML")]
    Yaml(#[from] serde_yaml::SerializeError),
}

/// What a report is printed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// How the report is written.
    pub format: Format,
    /// Columns of the terminal, in which tables are kept by breaking prose where that is enough;
    /// absent means that lines are as long as they need to be, as for a pipe.
    pub width: Option<u16>,
}

/// The report as text.
///
/// # Errors
///
/// When the report holds a value that the format cannot express.
pub fn render<V: View>(view: &V, page: Page) -> Result<String, RenderError> {
    match page.format {
        Format::Table | Format::Wide => Ok(text::render(&view.sections(), page)),
        Format::Markdown => Ok(markdown::render(&view.sections(), page.format)),
        Format::Json => Ok(json::render(view)?),
        Format::Yaml => yaml::render(view),
        Format::Name => Ok(names(&view.names())),
    }
}

/// The words of a report that stand out on a terminal; none in formats that programs read.
#[must_use]
pub fn marks<V: View>(view: &V, format: Format) -> Vec<Mark> {
    let for_people = match format {
        Format::Table | Format::Wide => true,
        Format::Json | Format::Yaml | Format::Markdown | Format::Name => false,
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

/// What the format cannot say about a report that is incomplete, one line each; empty when the format
/// has room for it, or nothing is missing from what it shows. It has to be said beside the result.
#[must_use]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_read_as_they_are_written() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
    }

    #[test]
    fn an_unknown_format_is_told_with_the_known_ones() {
        let known = Format::ALL.map(Format::as_str).join(", ");
        let error = "xml".parse::<Format>().unwrap_err().to_string();
        assert_eq!(
            error,
            format!(r#"unknown output format "xml", known are: {known}"#)
        );
    }

    #[test]
    fn names_stand_one_in_a_line() {
        let listed = names(&["a/b".to_owned(), "c\nd".to_owned()]);
        assert_eq!(listed, "a/b\nc\\nd\n");
        assert_eq!(names(&[]), "");
    }
}
