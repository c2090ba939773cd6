//! Tables and sections, before they are rendered.
//!
//! Reports describe themselves in [`Section`]s of plain data; every format for people is a view of
//! the same sections, so that no two of them can disagree. Nothing here is escaped or laid out.

use std::borrow::Cow;

use super::metadata::{Incomplete, Warning};
use crate::model::Count;

/// A report that can be shown as data, as sections, and as names.
pub trait View: serde::Serialize {
    /// The report for people, from the most important to the least.
    fn sections(&self) -> Vec<Section>;

    /// Names of the report's objects, for scripts, in the report's order.
    fn names(&self) -> Vec<String>;

    /// Heading of a page of its own.
    fn heading(&self) -> Heading {
        Heading::default()
    }

    /// Words with a tone on a terminal.
    fn tones(&self) -> &'static [(&'static str, Tone)] {
        &[(crate::model::UNKNOWN, Tone::Doubtful)]
    }

    /// Reasons why names may be missing, one line each: only names can be printed where only they are wanted.
    /// Empty when they are all there.
    fn missing_from_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// Oddities that do not keep the question from being answered, and missing data.
    fn doubts(&self) -> (&[Warning], &[Incomplete]) {
        (&[], &[])
    }

    /// True if the report itself lists missing data; otherwise warnings name it.
    fn lists_missing_data(&self) -> bool {
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

/// Heading of a page: subject and source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heading {
    /// Subject, in a few words.
    pub title: String,
    /// Where it is from and of when, a fact each.
    pub origin: Vec<String>,
}

/// Tone of a word, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tone {
    /// It is well.
    Good,
    /// It is worth a second look.
    Doubtful,
    /// Harm or failure.
    Bad,
}

/// In which formats a column or a section is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// In all of them.
    #[default]
    Always,
    /// Only where there is room: wide tables and documents.
    Wide,
    /// Only where there is no room: not in wide tables, nor in documents.
    Narrow,
    /// Only in Markdown and pages, which are passed on without standard error.
    Document,
}

/// A part of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Heading; absent where the content speaks for itself.
    pub title: Option<&'static str>,
    /// Where it is shown.
    pub shown: Shown,
    /// True if it is the verdict: text, which is read from its end, has it last.
    pub is_verdict: bool,
    /// Tone of it on a page; absent where it has none.
    pub tone: Option<Tone>,
    /// The content.
    pub body: Body,
}

impl Section {
    /// Sentences without a heading, each a line of its own.
    pub fn sentences(sentences: Vec<String>) -> Self {
        Self::of(Body::Sentences(sentences))
    }

    /// A table without a heading.
    pub fn table(table: Table) -> Self {
        Self::of(Body::Table(table))
    }

    /// A list of items under a heading.
    pub fn list(title: &'static str, items: Vec<String>) -> Self {
        Self::of(Body::List(items)).titled(title)
    }

    /// A section of this content, without a heading.
    pub fn of(body: Body) -> Self {
        Self {
            title: None,
            shown: Shown::Always,
            is_verdict: false,
            tone: None,
            body,
        }
    }

    /// Makes the section the verdict of the report.
    #[must_use]
    pub fn verdict(mut self) -> Self {
        self.is_verdict = true;
        self
    }

    /// Marks the section in pages.
    #[must_use]
    pub fn toned(mut self, tone: Tone) -> Self {
        self.tone = Some(tone);
        self
    }

    /// Gives the section a heading.
    #[must_use]
    pub fn titled(mut self, title: &'static str) -> Self {
        self.title = Some(title);
        self
    }

    /// Sets the formats in which the section is shown.
    #[must_use]
    pub fn shown(mut self, shown: Shown) -> Self {
        self.shown = shown;
        self
    }
}

/// Content of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Sentences, each a line of its own.
    Sentences(Vec<String>),
    /// Items of a list.
    List(Vec<String>),
    /// Rows and columns.
    Table(Table),
    /// Rows and columns, below a line for each folder of the paths in the first cells.
    Grouped(Table),
    /// Chain of causes.
    Chain(Vec<ChainLine>),
    /// Timelines; only pages show them.
    Charts(Vec<Chart>),
}

/// Timeline, as a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// Note on the whole of it; may be empty.
    pub note: String,
    /// The moments, in order.
    pub moments: Vec<Moment>,
    /// End of the timeline, and its event in words; absent where it is not known.
    pub end: Option<(u64, String)>,
}

/// Number of events at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Seconds from the beginning.
    pub seconds: u64,
    /// The moment in words.
    pub when: String,
    /// Number of events.
    pub number: usize,
    /// The number in words.
    pub what: String,
}

/// A fact, below its cause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainLine {
    /// Depth of the line.
    pub depth: usize,
    /// Text of the line.
    pub text: String,
    /// Source of the fact; absent for a consequence of others.
    pub source: Option<String>,
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns, from left to right.
    pub columns: Vec<Column>,
    /// The rows, each with one cell per column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// A table of these rows, which gets its columns one by one.
    pub fn of<R>(rows: impl IntoIterator<Item = R>) -> Rows<R> {
        let rows: Vec<R> = rows.into_iter().collect();
        let table = Self {
            columns: Vec::new(),
            rows: vec![Vec::new(); rows.len()],
        };
        Rows { rows, table }
    }
}

/// Rows of a table that is built: a column costs one line, with the cell that it has in each row.
#[must_use]
pub struct Rows<R> {
    rows: Vec<R>,
    table: Table,
}

impl<R> Rows<R> {
    /// Adds a column, whose cells are made of the rows.
    pub fn column(mut self, column: Column, cell: impl Fn(&R) -> String) -> Self {
        self.table.columns.push(column);
        for (cells, row) in self.table.rows.iter_mut().zip(&self.rows) {
            cells.push(cell(row));
        }
        self
    }

    /// The finished table.
    pub fn table(self) -> Table {
        self.table
    }
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Header of the column: upper case, without spaces.
    pub header: Cow<'static, str>,
    /// Where it is shown.
    pub shown: Shown,
    /// Layout of its cells.
    pub content: Content,
    /// Words of its cells with a tone in pages.
    pub words: &'static [(&'static str, Tone)],
}

impl Column {
    /// A column of names.
    pub const fn text(header: &'static str) -> Self {
        Self::of(Cow::Borrowed(header), Content::Name)
    }

    /// A column of numbers.
    pub const fn number(header: &'static str) -> Self {
        Self::of(Cow::Borrowed(header), Content::Number)
    }

    /// A column of words.
    pub const fn prose(header: &'static str) -> Self {
        Self::of(Cow::Borrowed(header), Content::Prose)
    }

    /// A column of items with `; ` between them: a terminal shows as many as it has room for, and how many more there are.
    pub const fn items(header: &'static str) -> Self {
        Self::of(Cow::Borrowed(header), Content::Items)
    }

    /// A column that the user requested by this name: it stays however narrow the terminal is.
    pub const fn asked(header: String) -> Self {
        Self::of(Cow::Owned(header), Content::Name)
    }

    /// A column of names that are cut in the middle where a terminal has no room for them.
    pub const fn long(header: &'static str) -> Self {
        Self::of(Cow::Borrowed(header), Content::LongName)
    }

    const fn of(header: Cow<'static, str>, content: Content) -> Self {
        Self {
            header,
            shown: Shown::Always,
            content,
            words: &[],
        }
    }

    /// Sets the tones of words in its cells.
    #[must_use]
    pub const fn of_words(mut self, words: &'static [(&'static str, Tone)]) -> Self {
        self.words = words;
        self
    }

    /// Shows the column only in tables that are not wide: it replaces a longer one there.
    #[must_use]
    pub const fn narrow(mut self) -> Self {
        self.shown = Shown::Narrow;
        self
    }

    /// Shows the column in wide tables and documents only.
    #[must_use]
    pub const fn wide(mut self) -> Self {
        self.shown = Shown::Wide;
        self
    }
}

/// Content of a column's cells, as far as their layout goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Names: never broken, so that they can be copied.
    Name,
    /// Names that are cut in the middle where nothing else makes room.
    LongName,
    /// Numbers: aligned at their ends.
    Number,
    /// Words: may be broken between them where room is short.
    Prose,
    /// Items with `; ` between them, in the last column: the first in short lines, and as many as fit in others.
    Items,
}

/// The cell for something that is not there, spelled as kubectl does.
pub const NONE: &str = "<none>";

/// The cell for a number that is not known; a line beside the table says why.
pub const UNKNOWN_COUNT: &str = "?";

/// A cell for a number that may be unknown.
pub fn count_cell(count: Count) -> String {
    match (count.exact(), count.least()) {
        (Some(number), _) => number.to_string(),
        (None, 0) => UNKNOWN_COUNT.to_owned(),
        (None, least) => format!("{least}+"),
    }
}

/// A cell for something that may be absent.
pub fn optional(text: Option<&str>) -> String {
    match text {
        // An empty cell would shift the columns for scripts that split lines at blanks.
        None | Some("") => NONE.to_owned(),
        Some(text) => text.to_owned(),
    }
}

/// A cell for several things: the first, and how many there are besides.
pub fn first_of(items: &[String]) -> String {
    match items {
        [] => NONE.to_owned(),
        [only] => only.clone(),
        [first, rest @ ..] => format!("{first} (+{})", rest.len()),
    }
}
