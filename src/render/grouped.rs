//! Text for people: tables in groups, and tables that are folded.

use super::format::{Format, Page};
use super::lines::{escaped_line, layout, shows, wrapped};
use crate::report::table::{Folding, Grouped, NONE, Table};

/// Indentation of the rows of a group.
const INDENT: &str = "  ";

/// The lines of the table, with each group's title above its rows.
pub(super) fn lines(grouped: &Grouped, page: Page) -> Vec<String> {
    if grouped.table.rows.is_empty() {
        return Vec::new();
    }
    let indented = Page {
        width: page.width.map(|width| width.saturating_sub(2)),
        ..page
    };
    let laid_out = layout(&grouped.table, indented);
    let mut lines = laid_out.lines().map(|line| format!("{INDENT}{line}"));
    let mut all: Vec<String> = lines.next().into_iter().collect();
    for group in &grouped.groups {
        all.push(escaped_line(&group.title));
        all.extend(lines.by_ref().take(group.rows));
    }
    all
}

/// The columns of these places alone.
fn head_of(table: &Table, head: &[usize]) -> Table {
    let rows = table.rows.iter();
    Table {
        columns: of_places(head, &table.columns),
        rows: rows.map(|row| of_places(head, row)).collect(),
    }
}

/// Lines below `row`: each column of `places` with its name, unless it is empty.
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
                    Column::long("TAINTS"),
                ],
                rows: vec![
                    row(["a/b/c", "node-1", "yes", "a:None (driver), b:None (rule x)"]),
                    row(["a/b/d", "node-1", "no", "<none>"]),
                    row(["a/c/d", "node-2", "no", "<none>"]),
                ],
            },
            groups: vec![group("node-1: two", 2), group("node-2: o\u{1b}ne", 1)],
        })
    }

    fn shown(format: Format, width: Option<u16>) -> String {
        render(&[grouped()], Page { format, width })
    }

    #[test]
    fn every_group_has_its_title_above_its_rows() {
        insta::assert_snapshot!(shown(Format::Table, None), @r"
          DEVICE  NODE    ALLOCATED  TAINTS
        node-1: two
          a/b/c   node-1  yes        a:None (driver), b:None (rule x)
          a/b/d   node-1  no         <none>
        node-2: o\x1bne
          a/c/d   node-2  no         <none>
        ");
        assert_eq!(shown(Format::Table, Some(80)), shown(Format::Table, None));
        assert_eq!(shown(Format::Wide, Some(40)), shown(Format::Table, None));
    }
}
