//! Text for people: lines of words, and of cells side by side.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, Width};
use textwrap::core::display_width;

use super::format::{Format, Page};
use crate::output::escape;
use crate::report::table::{Column, Content, Table};

/// Columns between two cells.
const GAP: u16 = 2;

/// Width below which a cell of items shows one.
const SHORT_LINES: u16 = 100;

/// Columns that are kept of a name that is cut.
const SHORTEST_NAME: usize = 16;

/// Columns that words need to be worth breaking.
const NARROWEST_PROSE: usize = 20;

/// A word that is longer than this is broken where there is no room for it.
const LONGEST_WORD: usize = 30;

pub(super) fn escaped_line(text: &str) -> String {
    escape::line(text).into_owned()
}

/// The words of `text` in lines of at most `width` columns that begin with `indent`, the second and
/// later ones with twice as much; a word that is longer than a line has one of its own. A command is one line, so that
/// it can be pasted.
pub(super) fn wrapped(text: &str, indent: &str, width: Option<u16>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = indent.to_owned();
    let is_too_long = |line: &str, word: &str| {
        let length = line.chars().chain([' ']).chain(word.chars()).count();
        width.is_some_and(|width| length > usize::from(width)) && !text.starts_with("kubectl ")
    };
    // Single spaces, since more of them align what stands behind them and have to stay.
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

pub(super) fn layout(table: &Table, page: Page) -> comfy_table::Table {
    let shown = |index: usize| shows(table, index, page.format);
    let columns = kept(table.columns.iter().cloned(), shown);
    let rows = table.rows.iter().map(|row| {
        let cells = row.iter().map(|cell| escaped_line(cell));
        kept(cells, shown)
    });
    let mut grid = Grid {
        columns,
        rows: rows.collect(),
    };
    if page.format == Format::Table {
        grid.fit_items(page.width);
    }
    // A wide table is asked for by who wants all of it.
    if let Some(width) = page.width.filter(|_| page.format == Format::Table) {
        grid.cut_for(width);
    }
    grid.lay_out(page)
}

/// Visible cells of a table.
struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// Maximum width of a column.
    fn column_width(&self, index: usize) -> usize {
        let header = self.columns.get(index).map(|column| column.header.as_ref());
        let cells = self
            .rows
            .iter()
            .filter_map(|row| row.get(index))
            .map(String::as_str)
            .chain(header);
        cells.map(display_width).max().unwrap_or_default()
    }

    /// Minimum width of a column of words: a word is not broken.
    fn narrowest(&self, index: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(index));
        let words = cells.flat_map(|cell| cell.split(' '));
        let longest = words.map(display_width).max().unwrap_or_default();
        // One long path must not push out other columns, and three letters are no line of words.
        longest.clamp(NARROWEST_PROSE, LONGEST_WORD)
    }

    /// Minimum width of all columns beside each other.
    fn least_width(&self) -> usize {
        let least = |(index, column): (usize, &Column)| {
            let width = self.column_width(index);
            match column.content {
                Content::Prose => width.min(self.narrowest(index)),
                Content::Name | Content::LongName | Content::Number | Content::Items => width,
            }
        };
        let columns = self.columns.iter().enumerate().map(least);
        let gaps = self
            .columns
            .len()
            .saturating_sub(1)
            .saturating_mul(usize::from(GAP));
        columns.fold(gaps, usize::saturating_add)
    }

    /// Shortens the items of the last column: to the first in short lines, and to as many as fit in others.
    fn fit_items(&mut self, width: Option<u16>) {
        let Some(last) = self.columns.len().checked_sub(1) else {
            return;
        };
        if self.columns[last].content != Content::Items {
            return;
        }
        let others = (0..last).map(|index| self.column_width(index));
        let others = others.fold(0, |sum, width| {
            let gap = usize::from(GAP);
            usize::saturating_add(sum, width).saturating_add(gap)
        });
        let room = width.map(|width| usize::from(width).saturating_sub(others));
        // Without a terminal, tables are as for a small one.
        let is_short = width.is_none_or(|width| width < SHORT_LINES);
        for cell in self.rows.iter_mut().filter_map(|row| row.get_mut(last)) {
            *cell = first_items(cell, room, is_short);
        }
    }

    /// Cuts long names in the middle where nothing else makes room, each column of them as far as is
    /// needed.
    fn cut_for(&mut self, width: u16) {
        for index in 0..self.columns.len() {
            // Anew for each column, since the one before may have made room enough.
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

    fn lay_out(self, page: Page) -> comfy_table::Table {
        let prose = self
            .columns
            .iter()
            .position(|column| column.content == Content::Prose)
            .map(|index| (index, self.narrowest(index)));
        let mut text = comfy_table::Table::new();
        text.load_style(NOTHING);
        let headers: Vec<String> = self
            .columns
            .iter()
            .map(|column| escaped_line(&column.header))
            .collect();
        if !page.bare {
            text.set_header(headers);
        }
        text.add_rows(self.rows);
        let contents: Vec<Content> = self.columns.iter().map(|column| column.content).collect();
        // Numbers stand below each other by their last digit, so that they can be compared.
        for (content, column) in contents.iter().zip(text.column_iter_mut()) {
            column.set_padding((0, GAP));
            column.set_cell_alignment(match content {
                Content::Name | Content::LongName | Content::Prose | Content::Items => {
                    CellAlignment::Left
                }
                Content::Number => CellAlignment::Right,
            });
        }
        if let (Some(width), Some((index, narrowest))) = (page.width, prose) {
            wrap_prose(&mut text, index, narrowest, width);
        }
        text
    }
}

/// The first items and how many more there are; what exceeds `room` even so is cut at its end.
pub(super) fn first_items(cell: &str, room: Option<usize>, is_short: bool) -> String {
    let items: Vec<&str> = cell.split("; ").collect();
    let some = |number: usize| match items.len().saturating_sub(number) {
        0 => (items.join("; "), String::new()),
        more => (
            items[..number.min(items.len())].join("; "),
            format!(" (+{more})"),
        ),
    };
    let most = if is_short { 1 } else { items.len() };
    let fits = |(text, more): &(String, String)| {
        let width = display_width(text).saturating_add(display_width(more));
        room.is_none_or(|room| width <= room)
    };
    let fitting = (1..=most).rev().map(some).find(fits);
    let (text, more) = fitting.unwrap_or_else(|| some(1));
    let Some(room) = room.filter(|_| !fits(&(text.clone(), more.clone()))) else {
        return text + &more;
    };
    let room = room.max(SHORTEST_NAME).saturating_sub(display_width(&more));
    let mut cut = String::new();
    for character in text.chars() {
        let width = display_width(&cut).saturating_add(char_width(character));
        if width >= room {
            break;
        }
        cut.push(character);
    }
    format!("{}…{more}", cut.trim_end())
}

/// The name without its middle, at most `room` columns wide: both ends tell names apart, for what
/// generates names adds to their ends.
pub(super) fn cut(name: &str, room: usize) -> String {
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
fn wrap_prose(text: &mut comfy_table::Table, prose: usize, narrowest: usize, width: u16) {
    let widths = text.column_max_content_widths();
    let others = widths
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != prose);
    let room = others.fold(width, |room, (_, other)| {
        room.saturating_sub(*other).saturating_sub(GAP)
    });
    let widest = widths.get(prose).copied().unwrap_or_default();
    if (narrowest..usize::from(widest)).contains(&usize::from(room))
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
