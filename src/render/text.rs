//! Sentences and tables for a terminal.

use super::format::Page;
use super::lines::{escaped_line, layout, wrapped};
use crate::report::table::{Body, ChainLine, Section, Table};

/// The sections, one after the other with an empty line between them, the verdict last; empty ones are left out.
///
/// Lines have no spaces at their ends. Tables have no borders; names in them are never broken, and
/// words only to keep a table in the width of the page.
pub fn render(sections: &[Section], page: Page) -> String {
    let shown = || {
        sections
            .iter()
            .filter(|section| page.format.shows(section.shown))
    };
    let verdicts = || shown().filter(|section| section.is_verdict);
    shown()
        .filter(|section| !section.is_verdict)
        .chain(verdicts())
        .filter_map(|section| block(section, page))
        .collect::<Vec<_>>()
        .join("\n")
}

fn block(section: &Section, page: Page) -> Option<String> {
    let lines = match &section.body {
        Body::Sentences(_) | Body::List(_) | Body::Chain(_) if page.bare => Vec::new(),
        Body::Sentences(sentences) => sentences
            .iter()
            .flat_map(|text| wrapped(&escaped_line(text), "", page.width))
            .collect(),
        Body::List(items) => items
            .iter()
            .flat_map(|text| wrapped(&escaped_line(text), "  ", page.width))
            .collect(),
        Body::Table(table) => table_lines(table, page),
        Body::Grouped(table) if page.bare => table_lines(table, page),
        Body::Grouped(table) => group_lines(table, page),
        Body::Chain(lines) => lines
            .iter()
            .flat_map(|line| chain_lines(line, page))
            .collect(),
        Body::Charts(_) => Vec::new(),
    };
    if lines.is_empty() {
        return None;
    }
    let title = section.title.map(|title| format!("{title}:"));
    let lines = title.into_iter().chain(lines);
    Some(lines.map(|line| format!("{}\n", line.trim_end())).collect())
}

fn table_lines(table: &Table, page: Page) -> Vec<String> {
    if table.rows.is_empty() {
        return Vec::new();
    }
    layout(table, page).lines().collect()
}

/// Width of a chain where there is no terminal: it is for people in any case.
const WIDTH: u16 = 80;

/// Minimum length of a word's part in a line at any depth.
const SHORTEST: usize = 16;

/// The line, broken between words; its source stands behind it where there is room, and below it
/// otherwise.
pub(super) fn chain_lines(line: &ChainLine, page: Page) -> Vec<String> {
    let width = usize::from(page.width.unwrap_or(WIDTH));
    let indent = "  ".repeat(line.depth.saturating_add(1));
    let mut lines = broken(&escaped_line(&line.text), &indent, width);
    if let Some(source) = &line.source {
        let source = format!("({})", escaped_line(source));
        let last = lines.last().map(|last| last.chars().count());
        let length = last
            .unwrap_or_default()
            .saturating_add(source.chars().count());
        match lines.last_mut() {
            Some(last) if length < width => last.push_str(&format!(" {source}")),
            Some(_) | None => lines.extend(broken(&source, &format!("{indent}    "), width)),
        }
    }
    lines
}

/// The words in lines that begin with `indent`, the second and later ones with four columns more, or with two more
/// than the text itself begins with. A word that is longer than a line, such as a path, is broken as well.
fn broken(text: &str, indent: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = indent.to_owned();
    let mut is_empty = true;
    let leading = text.chars().take_while(|first| *first == ' ').count();
    // Text that begins further right than that, such as a reason below its request, would end left of its beginning.
    let hang = if leading > 4 {
        leading.saturating_add(2)
    } else {
        4
    };
    let hanging = format!("{indent}{}", " ".repeat(hang));
    let later = hanging.chars().count();
    let room = width.saturating_sub(later).max(SHORTEST);
    for word in text.split(' ') {
        let length = line.chars().count().saturating_add(word.chars().count());
        if !is_empty && length >= width {
            lines.push(std::mem::replace(&mut line, hanging.clone()));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        let mut rest = word;
        while rest.chars().count() > room {
            let (part, others) = rest.split_at(end_of_part(rest, room));
            line.push_str(part);
            lines.push(std::mem::replace(&mut line, hanging.clone()));
            rest = others;
        }
        line.push_str(rest);
        is_empty = false;
    }
    lines.push(line);
    lines
}

/// Best position to break a word that is longer than `room`: before a field or behind a part of a
/// name, or else after `room` characters.
fn end_of_part(word: &str, room: usize) -> usize {
    // Not in the first half, where a break would leave a line that is nearly empty.
    let mut ends = word.char_indices().skip(1).take(room);
    let half = ends.clone().nth(room / 2).map_or(0, |(end, _)| end);
    let last = ends.clone().last().map_or(word.len(), |(end, _)| end);
    let is_good = |end: usize| {
        let (part, rest) = word.split_at(end);
        end >= half && (rest.starts_with(['.', '[']) || part.ends_with(['/', '-', ',', ':']))
    };
    let good = ends
        .by_ref()
        .map(|(end, _)| end)
        .filter(|end| is_good(*end));
    good.last().unwrap_or(last)
}

/// Indentation of the rows of a group.
const INDENT: &str = "  ";

fn group_lines(table: &Table, page: Page) -> Vec<String> {
    if table.rows.is_empty() {
        return Vec::new();
    }
    let mut table = table.clone();
    let paths = table.rows.iter_mut().filter_map(|row| row.first_mut());
    let folders: Vec<String> = paths
        .map(|path| {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let folder = folder.to_owned();
            *path = path.rsplit('/').next().unwrap_or_default().to_owned();
            folder
        })
        .collect();
    let indented = Page {
        width: page.width.map(|width| width.saturating_sub(2)),
        ..page
    };
    let laid_out = layout(&table, indented);
    let mut lines = laid_out.lines().map(|line| format!("{INDENT}{line}"));
    let mut all: Vec<String> = lines.next().into_iter().collect();
    let mut last = None;
    for (line, folder) in lines.zip(&folders) {
        if last.replace(folder) != Some(folder) {
            all.push(escaped_line(folder));
        }
        all.push(line);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Format;
    use crate::render::lines::cut;
    use crate::report::table::{Column, Section};

    fn page(format: Format, width: Option<u16>) -> Page {
        Page {
            format,
            width,
            bare: false,
        }
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
        DEVICE                        CAUSE                     PODS
        gpu.example.com/node-7/gpu-0  this taint, rule            12
                                      drain-node-7, rule
                                      drain-rack-2
        gpu.example.com/node-7/gpu-1  this taint                   1
        ");
        assert!(text.lines().all(|line| line.len() <= 60));
    }

    fn pods(width: u16) -> String {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let table = Table {
            columns: vec![Column::text("WHEN"), Column::long("POD")],
            rows: vec![
                row(["now", "serving/embed-5f6b8c9d77-mdd2q"]),
                row(["+5m", "serving/größe-0"]),
            ],
        };
        render(&[Section::table(table)], page(Format::Table, Some(width)))
    }

    #[test]
    fn names_are_cut_for_a_narrow_terminal() {
        insta::assert_snapshot!(pods(44), @r"
        WHEN  POD
        now   serving/embed-5f6b8c9d77-mdd2q
        +5m   serving/größe-0
        ");
        insta::assert_snapshot!(pods(29), @r"
        WHEN  POD
        now   serving/emb…c9d77-mdd2q
        +5m   serving/größe-0
        ");
        insta::assert_snapshot!(pods(10), @r"
        WHEN  POD
        now   serving/…7-mdd2q
        +5m   serving/größe-0
        ");
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
    fn a_source_stands_behind_its_line_or_below_it_and_no_line_is_too_long() {
        let line = |depth, text: &str, source: &str| ChainLine {
            depth,
            text: text.to_owned(),
            source: Some(source.to_owned()),
        };
        let page = page(Format::Table, Some(40));
        let chain = [
            line(0, "reserved for it", "Pod a/b: .spec"),
            line(
                1,
                "taint of rule drain",
                "DeviceTaintRule drain: .spec.taint",
            ),
            line(1, "one two three four five six seven eight", "x"),
        ];
        let text: Vec<String> = chain
            .iter()
            .flat_map(|line| chain_lines(line, page))
            .collect();
        assert!(text.iter().all(|line| line.chars().count() <= 40));
        insta::assert_snapshot!(text.join("\n"), @"
        reserved for it (Pod a/b: .spec)
          taint of rule drain
              (DeviceTaintRule drain:
                  .spec.taint)
          one two three four five six seven
              eight (x)
        ");
    }
}
