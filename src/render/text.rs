//! Sentences and tables for a terminal.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement};

use super::{Format, Page};
use crate::output::escape;
use crate::report::table::{Alignment, Body, Section, Table};

/// Columns between two cells, as kubectl has them.
const GAP: u16 = 3;

/// The sections, one after the other with an empty line between them; empty ones are left out.
///
/// Lines have no spaces at their ends. Tables have neither borders nor wrapped cells, unless the
/// page has a width.
#[must_use]
pub fn render(sections: &[Section], page: Page) -> String {
    let blocks: Vec<_> = sections
        .iter()
        .filter(|section| page.format.shows(section.shown))
        .filter_map(|section| block(section, page))
        .collect();
    blocks.join("\n")
}

fn block(section: &Section, page: Page) -> Option<String> {
    let lines = match &section.body {
        Body::Sentences(sentences) => sentences.iter().map(|text| escaped_line(text)).collect(),
        Body::List(items) => items
            .iter()
            .map(|text| format!("  {}", escaped_line(text)))
            .collect(),
        Body::Table(table) => table_lines(table, page),
    };
    if lines.is_empty() {
        return None;
    }
    let title = section.title.map(|title| format!("{title}:"));
    let lines = title.into_iter().chain(lines);
    Some(lines.map(|line| format!("{}\n", line.trim_end())).collect())
}

fn escaped_line(text: &str) -> String {
    escape::line(text).into_owned()
}

fn table_lines(table: &Table, page: Page) -> Vec<String> {
    if table.rows.is_empty() {
        return Vec::new();
    }
    layout(table, page).lines().collect()
}

fn layout(table: &Table, page: Page) -> comfy_table::Table {
    let shown = |index: usize| shows(table, index, page.format);
    let mut text = comfy_table::Table::new();
    text.load_style(NOTHING);
    let headers = table.columns.iter().map(|column| column.header);
    text.set_header(kept(headers, shown));
    text.add_rows(table.rows.iter().map(|row| {
        let cells = row.iter().map(|cell| escaped_line(cell));
        kept(cells, shown)
    }));
    let columns = kept(table.columns.iter(), shown);
    for (column, layout) in columns.iter().zip(text.column_iter_mut()) {
        layout.set_padding((0, GAP));
        layout.set_cell_alignment(match column.alignment {
            Alignment::Left => CellAlignment::Left,
            Alignment::Right => CellAlignment::Right,
        });
    }
    if let Some(width) = page.width {
        text.set_width(width.saturating_add(GAP));
        text.set_content_arrangement(ContentArrangement::Dynamic);
    }
    text
}

fn kept<T>(items: impl Iterator<Item = T>, shown: impl Fn(usize) -> bool) -> Vec<T> {
    let kept = items.enumerate().filter(|(index, _)| shown(*index));
    kept.map(|(_, item)| item).collect()
}

fn shows(table: &Table, index: usize, format: Format) -> bool {
    let column = table.columns.get(index);
    column.is_some_and(|column| format.shows(column.shown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::table::{Column, Shown};

    fn sections() -> Vec<Section> {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        vec![
            Section::sentences(vec!["2 pods would be evicted.".to_owned()]),
            Section::table(Table {
                columns: vec![
                    Column::text("POD"),
                    Column::number("GRACE"),
                    Column::text("CAUSE").wide(),
                ],
                rows: vec![
                    row(["train-0", "30s", "rule \u{1b}[31mred"]),
                    row(["größe-大", "3600s", "a\nb"]),
                ],
            }),
            Section::list("Hazards", vec!["critical: train-0".to_owned()]),
            Section::list("Guards", Vec::new()),
            Section::list("Warnings", vec!["odd".to_owned()]).shown(Shown::Document),
        ]
    }

    fn page(format: Format, width: Option<u16>) -> Page {
        Page { format, width }
    }

    #[test]
    fn a_table_has_no_borders_and_no_spaces_at_line_ends() {
        let text = render(&sections(), page(Format::Table, None));
        insta::assert_snapshot!(text, @"
        2 pods would be evicted.

        POD        GRACE
        train-0      30s
        größe-大   3600s

        Hazards:
          critical: train-0
        ");
        assert!(text.lines().all(|line| !line.ends_with(' ')));
    }

    #[test]
    fn wide_has_more_columns_and_every_cell_is_escaped() {
        let text = render(&sections(), page(Format::Wide, None));
        insta::assert_snapshot!(text, @r"
        2 pods would be evicted.

        POD        GRACE   CAUSE
        train-0      30s   rule \x1b[31mred
        größe-大   3600s   a\nb

        Hazards:
          critical: train-0
        ");
    }

    #[test]
    fn a_narrow_terminal_wraps_cells_and_a_pipe_does_not() {
        let long = "gpu.example.com/a-very-long-pool-name/gpu-0".repeat(5);
        let table = Table {
            columns: vec![Column::text("DEVICE"), Column::text("NODE")],
            rows: vec![vec![long.clone(), "node-7".to_owned()]],
        };
        let sections = [Section::table(table)];
        let piped = render(&sections, page(Format::Table, None));
        assert!(piped.contains(&format!("{long}   node-7\n")));
        let narrow = render(&sections, page(Format::Table, Some(60)));
        assert!(narrow.lines().all(|line| line.len() <= 60), "{narrow}");
    }

    #[test]
    fn nothing_to_show_is_no_text() {
        assert_eq!(
            render(&[Section::list("Guards", Vec::new())], Page::default()),
            ""
        );
    }
}
