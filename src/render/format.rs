//! Output formats.

use std::fmt;
use std::str::FromStr;

use super::{html, json, markdown, text};
use crate::output::{Mark, MarkColor, escape};
use crate::report::View;
use crate::report::metadata::Incomplete;
use crate::report::table::{Section, Shown, Tone};

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
    /// A page of its own, to be looked at: one file, without network.
    Html,
    /// Only the names, one in a line.
    Name,
}

impl Format {
    /// Every format, in the order of the documentation: those of a preview.
    pub const ALL: [Self; 7] = [
        Self::Table,
        Self::Wide,
        Self::Json,
        Self::Yaml,
        Self::Markdown,
        Self::Html,
        Self::Name,
    ];

    /// Formats of reports that are not passed on as documents.
    pub const COMMON: [Self; 5] = [Self::Table, Self::Wide, Self::Json, Self::Yaml, Self::Name];

    /// The format as it is written after `-o`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Wide => "wide",
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Name => "name",
        }
    }

    /// True if it is read at a terminal, where hints are of use.
    pub fn is_for_people(self) -> bool {
        match self {
            Self::Table | Self::Wide => true,
            Self::Json | Self::Yaml | Self::Markdown | Self::Html | Self::Name => false,
        }
    }

    /// Says whether a column or section belongs into the format.
    pub(super) fn shows(self, shown: Shown) -> bool {
        match shown {
            Shown::Always => true,
            // Documents and pages have no width to keep to.
            Shown::Wide => matches!(self, Self::Wide | Self::Markdown | Self::Html),
            Shown::Narrow => self == Self::Table,
            Shown::Document => matches!(self, Self::Markdown | Self::Html),
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
#[error(
    "unknown output format \"{0}\"; known formats: table, wide, json, yaml, markdown, html, name"
)]
pub struct UnknownFormat(pub String);

/// Page on which a report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Format of the report.
    pub format: Format,
    /// Columns of the terminal, in which tables are kept by breaking prose where that is enough;
    /// absent means that lines are as long as they need to be, as for a pipe.
    pub width: Option<u16>,
    /// True if only the rows of tables are printed, for scripts (`--no-headers`).
    pub bare: bool,
}

impl From<Format> for Page {
    fn from(format: Format) -> Self {
        Self {
            format,
            ..Self::default()
        }
    }
}

/// The report as text.
///
/// # Errors
///
/// When the report holds a value that the format cannot express.
pub fn render<V: View>(view: &V, page: Page) -> Result<String, RenderError> {
    match page.format {
        Format::Table | Format::Wide => {
            let mut sections = view.sections();
            if lists_missing_data(view, page) {
                let (_, incomplete) = view.doubts();
                let lines = incomplete.iter().map(Incomplete::line);
                sections.push(Section::list("Incomplete", lines.collect()));
            }
            Ok(text::render(&sections, page))
        }
        Format::Markdown => Ok(markdown::render(&view.sections(), page.format)),
        Format::Html => Ok(html::render(
            &view.heading(),
            &view.sections(),
            view.tones(),
        )),
        Format::Json => Ok(json::render(view)?),
        Format::Yaml => json::render_yaml(view),
        Format::Name => Ok(names(&view.names())),
    }
}

/// True if the printed report lists the data that it lacks.
pub fn lists_missing_data<V: View>(view: &V, page: Page) -> bool {
    view.lists_missing_data() && !page.bare && page.format != Format::Name
}

/// The words of a report that stand out on a terminal; none in formats that programs read.
pub fn marks<V: View>(view: &V, format: Format) -> Vec<Mark> {
    let tones = view.tones().iter().filter(|_| format.is_for_people());
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

fn names(names: &[String]) -> String {
    names
        .iter()
        .map(|name| format!("{}\n", escape::line(name)))
        .collect()
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Gap, Kind};
    use crate::report::metadata::Warning;

    #[derive(serde::Serialize)]
    struct WithoutPods(Incomplete);

    impl View for WithoutPods {
        fn sections(&self) -> Vec<Section> {
            Vec::new()
        }

        fn names(&self) -> Vec<String> {
            Vec::new()
        }

        fn doubts(&self) -> (&[Warning], &[Incomplete]) {
            (&[], std::slice::from_ref(&self.0))
        }
    }

    #[test]
    fn missing_data_is_listed_where_there_is_room() {
        let report = WithoutPods(Incomplete::from(&Gap::of(Kind::Pod, "denied")));
        for format in Format::ALL {
            for bare in [false, true] {
                let page = Page {
                    bare,
                    ..format.into()
                };
                let listed = lists_missing_data(&report, page);
                assert_eq!(listed, !bare && format != Format::Name, "{format} {bare}");
                let text = render(&report, page).unwrap();
                if format == Format::Table || format == Format::Wide {
                    assert_eq!(text.contains("Incomplete:\n  pods: denied"), listed);
                }
            }
        }
    }

    #[test]
    fn formats_are_read_as_they_are_written() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
    }
}
