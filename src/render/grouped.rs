//! Text for people: tables in groups, and tables that are folded.

use super::format::{Format, Page};
use super::lines::{escaped_line, layout, shows, wrapped};
use crate::report::table::{Folding, Grouped, NONE, Table};

/// What stands before the rows of a group.
const INDENT: &str = "  ";

/// The lines of the table, with each group's title above its rows.
///
/// A table that is wider than the page is folded: the columns of its head stay side by side, and what is in the
/// others stands below them, each in a line of its own, as far as there is anything.
#[must_use]
pub(super) fn lines(grouped: &Grouped, page: Page) -> Vec<String> {
    if grouped.table.rows.is_empty() {
        return Vec::new();
    }
    let whole = Page {
        // Words are not broken, so that each row is a line.
        width: None,
        ..page
    };
    let rows = indented(&grouped.table, whole);
    let too_long = |line: &String| {
        let length = line.trim_end().chars().count();
        page.width.is_some_and(|width| length > usize::from(width))
    };
    match page.format {
        // Who asks for the wide format wants whole rows.
        Format::Table if rows.iter().any(too_long) => folded(grouped, page),
        Format::Table
        | Format::Wide
        | Format::Markdown
        | Format::Html
        | Format::Json
        | Format::Yaml
        | Format::Name => in_groups(grouped, rows, |_| Vec::new()),
    }
}

/// The header and one line for each row.
fn indented(table: &Table, page: Page) -> Vec<String> {
    let laid_out = layout(table, page);
    let lines = laid_out.lines();
    lines.map(|line| format!("{INDENT}{line}")).collect()
}

/// The rows below the titles of their groups, with what stands `below` the row of each place.
fn in_groups(
    grouped: &Grouped,
    lines: Vec<String>,
    below: impl Fn(usize) -> Vec<String>,
) -> Vec<String> {
    let mut lines = lines.into_iter();
    let mut all: Vec<String> = lines.next().into_iter().collect();
    let mut place = 0_usize;
    for group in &grouped.groups {
        all.push(escaped_line(&group.title));
        for line in lines.by_ref().take(group.rows) {
            all.push(line);
            all.extend(below(place));
            place = place.saturating_add(1);
        }
    }
    all
}

fn folded(grouped: &Grouped, page: Page) -> Vec<String> {
    let table = &grouped.table;
    let whole = Page {
        width: None,
        ..page
    };
    let head = head_of(table, &grouped.head);
    let is_below = |place: &usize| {
        !grouped.head.contains(place) && *place != grouped.by && shows(table, *place, page.format)
    };
    let places: Vec<usize> = (0..table.columns.len()).filter(is_below).collect();
    let indent = INDENT.repeat(2);
    in_groups(grouped, indented(&head, whole), |row| {
        below(table, row, &places, &indent, page.width)
    })
}

/// The columns of these places alone.
fn head_of(table: &Table, head: &[usize]) -> Table {
    let rows = table.rows.iter();
    Table {
        columns: of_places(head, &table.columns),
        rows: rows.map(|row| of_places(head, row)).collect(),
    }
}

/// What stands below the `row` of that place: each column of `places` with its name, as far as there is
/// anything in it.
fn below(
    table: &Table,
    row: usize,
    places: &[usize],
    indent: &str,
    width: Option<u16>,
) -> Vec<String> {
    let label = |place: usize| escaped_line(&table.columns[place].header).to_lowercase();
    let longest = places
        .iter()
        .map(|place| label(*place).chars().count())
        .max()
        .unwrap_or_default();
    let cells = places.iter().filter_map(|place| {
        let cell = table.rows.get(row)?.get(*place)?;
        let text = format!("{:<longest$}  {}", label(*place), escaped_line(cell));
        (cell != NONE).then(|| wrapped(&text, indent, width))
    });
    cells.flatten().collect()
}

/// The lines of a table that is folded where they would be longer than the page is wide.
#[must_use]
pub(super) fn folding_lines(folding: &Folding, page: Page) -> Vec<String> {
    let table = &folding.table;
    if table.rows.is_empty() {
        return Vec::new();
    }
    let whole = Page {
        width: None,
        ..page
    };
    let lines_of = |table: &Table| -> Vec<String> { layout(table, whole).lines().collect() };
    let fits = |lines: &[String]| {
        let mut lengths = lines.iter().map(|line| line.trim_end().chars().count());
        page.width
            .is_none_or(|width| lengths.all(|length| length <= usize::from(width)))
    };
    let all = lines_of(table);
    if page.format != Format::Table || fits(&all) {
        return all;
    }
    // As many columns side by side as there is room for; the first in any case.
    let mut head = &folding.head[..];
    let mut lines = lines_of(&head_of(table, head));
    while !fits(&lines) && head.len() > 1 {
        head = &head[..head.len().saturating_sub(1)];
        lines = lines_of(&head_of(table, head));
    }
    let is_below = |place: &usize| !head.contains(place) && shows(table, *place, page.format);
    let places: Vec<usize> = (0..table.columns.len()).filter(is_below).collect();
    let mut lines = lines.into_iter();
    let mut shown: Vec<String> = lines.next().into_iter().collect();
    for (row, line) in lines.enumerate() {
        shown.push(line);
        shown.extend(below(table, row, &places, INDENT, page.width));
    }
    shown
}

fn of_places<T: Clone>(places: &[usize], of: &[T]) -> Vec<T> {
    let found = places.iter().filter_map(|place| of.get(*place));
    found.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::text::render;
    use crate::report::table::{Column, Group, Section};

    fn grouped() -> Section {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let group = |title: &str, rows| Group {
            title: title.to_owned(),
            rows,
        };
        Section::grouped(Grouped {
            table: Table {
                columns: vec![
                    Column::text("DEVICE"),
                    Column::text("NODE"),
                    Column::text("ALLOCATED"),
                    Column::prose("TAINTS"),
                ],
                rows: vec![
                    row(["a/b/c", "node-1", "yes", "a:None (driver), b:None (rule x)"]),
                    row(["a/b/d", "node-1", "no", "<none>"]),
                    row(["a/c/d", "node-2", "no", "<none>"]),
                ],
            },
            groups: vec![group("node-1: two", 2), group("node-2: o\u{1b}ne", 1)],
            head: vec![0, 2],
            by: 1,
        })
    }

    fn shown(format: Format, width: Option<u16>) -> String {
        render(
            &[grouped()],
            Page {
                format,
                width,
                height: None,
            },
        )
    }

    #[test]
    fn every_group_has_its_title_above_its_rows() {
        insta::assert_snapshot!(shown(Format::Table, None), @r"
          DEVICE   NODE     ALLOCATED   TAINTS
        node-1: two
          a/b/c    node-1   yes         a:None (driver), b:None (rule x)
          a/b/d    node-1   no          <none>
        node-2: o\x1bne
          a/c/d    node-2   no          <none>
        ");
        assert_eq!(shown(Format::Table, Some(80)), shown(Format::Table, None));
        assert_eq!(shown(Format::Wide, Some(40)), shown(Format::Table, None));
    }

    #[test]
    fn what_is_too_wide_stands_below_and_nothing_is_left_out() {
        let text = shown(Format::Table, Some(40));
        insta::assert_snapshot!(text, @r"
          DEVICE   ALLOCATED
        node-1: two
          a/b/c    yes
            taints  a:None (driver), b:None
                (rule x)
          a/b/d    no
        node-2: o\x1bne
          a/c/d    no
        ");
        assert!(text.lines().all(|line| line.chars().count() <= 40));
    }
}
