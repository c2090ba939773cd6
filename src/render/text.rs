//! Sentences and tables for a terminal.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, Width};
use textwrap::core::display_width;

use super::{Format, Page};
use crate::output::escape;
use crate::report::table::{Body, Column, Content, Section, Table};

/// Columns between two cells, as kubectl has them.
const GAP: u16 = 3;

/// A name that is cut keeps so many columns.
const SHORTEST_NAME: usize = 16;

/// Columns that words need to be worth breaking.
const NARROWEST_PROSE: u16 = 20;

/// The sections, one after the other with an empty line between them; empty ones are left out.
///
/// Lines have no spaces at their ends. Tables have no borders; names in them are never broken, and
/// words only to keep a table in the width of the page.
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
        Body::Sentences(sentences) => sentences
            .iter()
            .flat_map(|text| wrapped(&escaped_line(text), "", page.width))
            .collect(),
        Body::List(items) => items
            .iter()
            .flat_map(|text| wrapped(&escaped_line(text), "  ", page.width))
            .collect(),
        Body::Table(table) => table_lines(table, page),
    };
    if lines.is_empty() {
        return None;
    }
    let title = section.title.as_deref();
    let title = title.map(|title| format!("{}:", escaped_line(title)));
    let lines = title.into_iter().chain(lines);
    Some(lines.map(|line| format!("{}\n", line.trim_end())).collect())
}

fn escaped_line(text: &str) -> String {
    escape::line(text).into_owned()
}

/// The words of `text` in lines of at most `width` columns that begin with `indent`, the second and
/// later ones with twice as much; a word that is longer than a line has one of its own.
fn wrapped(text: &str, indent: &str, width: Option<u16>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = indent.to_owned();
    let is_too_long = |line: &str, word: &str| {
        let length = line.chars().chain([' ']).chain(word.chars()).count();
        width.is_some_and(|width| length > usize::from(width))
    };
    for (place, word) in text.split(' ').enumerate() {
        if place > 0 && is_too_long(&line, word) {
            lines.push(std::mem::replace(&mut line, indent.repeat(2)));
        } else if place > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

fn table_lines(table: &Table, page: Page) -> Vec<String> {
    if table.rows.is_empty() {
        return Vec::new();
    }
    layout(table, page).lines().collect()
}

fn layout(table: &Table, page: Page) -> comfy_table::Table {
    let shown = |index: usize| shows(table, index, page.format);
    let columns = kept(table.columns.iter().copied(), shown);
    let rows = table.rows.iter().map(|row| {
        let cells = row.iter().map(|cell| escaped_line(cell));
        kept(cells, shown)
    });
    let mut grid = Grid {
        columns,
        rows: rows.collect(),
    };
    // A wide table is asked for by who wants all of it.
    if let Some(width) = page.width.filter(|_| page.format == Format::Table) {
        grid.leave_out_for(width);
        grid.cut_for(width);
    }
    grid.lay_out(page.width)
}

/// What is shown of a table.
struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// How wide the column is at its widest.
    fn column_width(&self, index: usize) -> usize {
        let header = self.columns.get(index).map(|column| column.header);
        let cells = self.rows.iter().filter_map(|row| row.get(index));
        let cells = cells.map(String::as_str).chain(header);
        cells.map(display_width).max().unwrap_or_default()
    }

    /// How wide the columns are beside each other, those of words as narrow as they may become.
    fn least_width(&self) -> usize {
        let least = |(index, column): (usize, &Column)| {
            let width = self.column_width(index);
            match column.content {
                Content::Prose => width.min(usize::from(NARROWEST_PROSE)),
                Content::Name | Content::LongName | Content::Number => width,
            }
        };
        let columns = self.columns.iter().enumerate().map(least);
        let gaps = self.columns.len().saturating_sub(1);
        let gaps = gaps.saturating_mul(usize::from(GAP));
        columns.fold(gaps, usize::saturating_add)
    }

    /// Leaves columns out until the others fit, or until none is left that may go.
    fn leave_out_for(&mut self, width: u16) {
        while self.least_width() > usize::from(width) {
            let leaving = self.columns.iter().enumerate();
            let leaving = leaving.filter(|(_, column)| column.leaves > 0);
            let Some((index, _)) = leaving.max_by_key(|(_, column)| column.leaves) else {
                return;
            };
            self.columns.remove(index);
            for row in &mut self.rows {
                row.remove(index);
            }
        }
    }

    /// Cuts long names in the middle where nothing else makes room, each column of them as far as is
    /// needed.
    fn cut_for(&mut self, width: u16) {
        for index in 0..self.columns.len() {
            let excess = self.least_width().saturating_sub(usize::from(width));
            let column = self.columns.get(index);
            let is_long = column.is_some_and(|column| column.content == Content::LongName);
            if excess == 0 || !is_long {
                continue;
            }
            let room = self.column_width(index).saturating_sub(excess);
            let cells = self.rows.iter_mut().filter_map(|row| row.get_mut(index));
            for cell in cells {
                *cell = cut(cell, room.max(SHORTEST_NAME));
            }
        }
    }

    fn lay_out(self, width: Option<u16>) -> comfy_table::Table {
        let mut text = comfy_table::Table::new();
        text.load_style(NOTHING);
        let headers: Vec<&str> = self.columns.iter().map(|column| column.header).collect();
        // A table whose columns have no names has no line for them.
        if headers.iter().any(|header| !header.is_empty()) {
            text.set_header(headers);
        }
        text.add_rows(self.rows);
        let contents: Vec<Content> = self.columns.iter().map(|column| column.content).collect();
        for (content, column) in contents.iter().zip(text.column_iter_mut()) {
            column.set_padding((0, GAP));
            column.set_cell_alignment(match content {
                Content::Name | Content::LongName | Content::Prose => CellAlignment::Left,
                Content::Number => CellAlignment::Right,
            });
        }
        if let Some(width) = width {
            wrap_prose(&mut text, &contents, width);
        }
        text
    }
}

/// The name without its middle, at most `room` columns wide: both ends tell names apart, for what
/// generates names adds to their ends.
fn cut(name: &str, room: usize) -> String {
    if display_width(name) <= room {
        return name.to_owned();
    }
    let kept = room.saturating_sub(1);
    let head_room = kept.div_ceil(2);
    let mut head = String::new();
    for character in name.chars() {
        if display_width(&head).saturating_add(char_width(character)) > head_room {
            break;
        }
        head.push(character);
    }
    let tail_room = kept.saturating_sub(display_width(&head));
    let mut tail = String::new();
    for character in name.chars().rev() {
        if display_width(&tail).saturating_add(char_width(character)) > tail_room {
            break;
        }
        tail.insert(0, character);
    }
    format!("{head}…{tail}")
}

fn char_width(character: char) -> usize {
    display_width(character.encode_utf8(&mut [0; 4]))
}

/// Breaks the words of the first prose column into lines where that keeps the table in `width`.
/// Where it would not, nothing is broken: a line that the terminal breaks is easier to read.
fn wrap_prose(text: &mut comfy_table::Table, contents: &[Content], width: u16) {
    let Some(prose) = contents
        .iter()
        .position(|content| *content == Content::Prose)
    else {
        return;
    };
    let widths = text.column_max_content_widths();
    let others = widths
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != prose);
    let room = others.fold(width, |room, (_, other)| {
        room.saturating_sub(*other).saturating_sub(GAP)
    });
    if (NARROWEST_PROSE..widths[prose]).contains(&room)
        && let Some(column) = text.column_mut(prose)
    {
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(
            room.saturating_add(GAP),
        )));
    }
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
    use crate::report::table::Shown;

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

    fn table_of_width(width: Option<u16>) -> String {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let table = Table {
            columns: vec![
                Column::text("DEVICE"),
                Column::prose("CAUSE"),
                Column::number("PODS"),
            ],
            rows: vec![
                row([
                    "gpu.example.com/node-7/gpu-0",
                    "this taint, rule drain-node-7, rule drain-rack-2",
                    "12",
                ]),
                row(["gpu.example.com/node-7/gpu-1", "this taint", "1"]),
            ],
        };
        render(&[Section::table(table)], page(Format::Table, width))
    }

    #[test]
    fn a_terminal_breaks_words_to_fit_and_names_never() {
        let text = table_of_width(Some(60));
        insta::assert_snapshot!(text, @"
        DEVICE                         CAUSE                    PODS
        gpu.example.com/node-7/gpu-0   this taint, rule           12
                                       drain-node-7, rule
                                       drain-rack-2
        gpu.example.com/node-7/gpu-1   this taint                  1
        ");
        assert!(text.lines().all(|line| line.len() <= 60));
    }

    #[test]
    fn a_terminal_breaks_sentences_between_words() {
        let sections = [
            Section::sentences(vec!["3 pods in 2 namespaces would be evicted.".to_owned()]),
            Section::list(
                "Hazards",
                vec!["unmanaged (a/b): has no controller".to_owned()],
            ),
        ];
        insta::assert_snapshot!(render(&sections, page(Format::Table, Some(24))), @"
        3 pods in 2 namespaces
        would be evicted.

        Hazards:
          unmanaged (a/b): has
            no controller
        ");
        assert_eq!(
            render(&sections, page(Format::Table, None)).lines().count(),
            4
        );
    }

    fn pods(format: Format, width: u16) -> String {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let table = Table {
            columns: vec![
                Column::text("WHEN"),
                Column::long("POD"),
                Column::text("NODE").leaves(1),
                Column::text("WORKLOAD").leaves(2),
            ],
            rows: vec![
                row([
                    "now",
                    "serving/embed-5f6b8c9d77-mdd2q",
                    "node-7",
                    "Deployment/embed",
                ]),
                row(["+5m", "serving/größe-0", "node-12", "StatefulSet/größe"]),
            ],
        };
        render(&[Section::table(table)], page(format, Some(width)))
    }

    #[test]
    fn columns_leave_a_narrow_terminal_one_after_another_and_then_names_are_cut() {
        insta::assert_snapshot!(pods(Format::Table, 67), @r"
        WHEN   POD                              NODE      WORKLOAD
        now    serving/embed-5f6b8c9d77-mdd2q   node-7    Deployment/embed
        +5m    serving/größe-0                  node-12   StatefulSet/größe
        ");
        insta::assert_snapshot!(pods(Format::Table, 66), @r"
        WHEN   POD                              NODE
        now    serving/embed-5f6b8c9d77-mdd2q   node-7
        +5m    serving/größe-0                  node-12
        ");
        insta::assert_snapshot!(pods(Format::Table, 46), @r"
        WHEN   POD
        now    serving/embed-5f6b8c9d77-mdd2q
        +5m    serving/größe-0
        ");
        insta::assert_snapshot!(pods(Format::Table, 30), @r"
        WHEN   POD
        now    serving/emb…c9d77-mdd2q
        +5m    serving/größe-0
        ");
        insta::assert_snapshot!(pods(Format::Table, 10), @r"
        WHEN   POD
        now    serving/…7-mdd2q
        +5m    serving/größe-0
        ");
        assert!(pods(Format::Wide, 66).contains("WORKLOAD"), "wide is all");
    }

    #[test]
    fn a_cut_name_keeps_both_ends() {
        assert_eq!(cut("abcdefgh", 8), "abcdefgh");
        assert_eq!(cut("abcdefgh", 7), "abc…fgh");
        assert_eq!(cut("abcdefgh", 6), "abc…gh");
        assert_eq!(cut("日本語日本語", 6), "日…語");
        assert_eq!(cut("abc", 0), "…");
    }

    #[test]
    fn nothing_is_broken_in_a_pipe_or_where_it_would_not_help() {
        let piped = table_of_width(None);
        assert_eq!(piped.lines().count(), 3);
        assert_eq!(table_of_width(Some(50)), piped);
        assert_eq!(table_of_width(Some(200)), piped);
    }

    #[test]
    fn nothing_to_show_is_no_text() {
        assert_eq!(
            render(&[Section::list("Guards", Vec::new())], Page::default()),
            ""
        );
    }
}
