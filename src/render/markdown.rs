//! GitHub-flavoured Markdown, for tickets and pull requests.

use super::Format;
use crate::output::escape;
use crate::report::table::{Body, ChainLine, Column, Content, Grouped, Section, Table};

/// The sections as paragraphs, lists and tables; what would be markup in foreign text is escaped.
#[must_use]
pub fn render(sections: &[Section], format: Format) -> String {
    let blocks: Vec<_> = sections
        .iter()
        .filter(|section| format.shows(section.shown))
        .filter_map(|section| block(section, format))
        .collect();
    blocks.join("\n")
}

fn block(section: &Section, format: Format) -> Option<String> {
    let lines: Vec<_> = match &section.body {
        // Two sentences in two lines would be one paragraph.
        Body::Sentences(sentences) => {
            let sentences: Vec<_> = sentences.iter().map(|text| markup(text)).collect();
            sentences.join("\n\n").lines().map(str::to_owned).collect()
        }
        Body::List(items) => items
            .iter()
            .map(|text| format!("- {}", markup(text)))
            .collect(),
        Body::Table(table) => table_lines(table, format),
        Body::Grouped(grouped) => grouped_lines(grouped, format),
        Body::Folding(folding) => table_lines(&folding.table, format),
        Body::Chain(lines) => lines.iter().map(chain_line).collect(),
        Body::Facts(_) | Body::Charts(_) => Vec::new(),
    };
    if lines.is_empty() {
        return None;
    }
    let title = section.title.as_deref();
    let title = title.map(|title| format!("### {}\n", markup(title)));
    let lines = title.into_iter().chain(lines);
    Some(lines.map(|line| format!("{line}\n")).collect())
}

fn table_lines(table: &Table, format: Format) -> Vec<String> {
    if table.rows.is_empty() {
        return Vec::new();
    }
    let shown = |column: &Column| format.shows(column.shown);
    let columns = || table.columns.iter().filter(|column| shown(column));
    let header = row(columns().map(|column| markup(&column.header)));
    let rule = row(columns().map(|column| match column.content {
        Content::Name | Content::LongName | Content::Prose => "---".to_owned(),
        Content::Number => "---:".to_owned(),
    }));
    let rows = table.rows.iter().map(|cells| {
        let cells = table.columns.iter().zip(cells);
        row(cells
            .filter(|(column, _)| shown(column))
            .map(|(_, cell)| markup(cell)))
    });
    [header, rule].into_iter().chain(rows).collect()
}

/// A table for each group below its title.
fn grouped_lines(grouped: &Grouped, format: Format) -> Vec<String> {
    let mut rows = grouped.table.rows.iter();
    let parts = grouped.groups.iter().map(|group| {
        let table = Table {
            columns: grouped.table.columns.clone(),
            rows: rows.by_ref().take(group.rows).cloned().collect(),
        };
        let title = [markup(&group.title), String::new()];
        title
            .into_iter()
            .chain(table_lines(&table, format))
            .collect()
    });
    let parts: Vec<Vec<String>> = parts.collect();
    parts.join(&String::new())
}

/// An item of a list, below what it follows from, with its source at its end.
fn chain_line(line: &ChainLine) -> String {
    let indent = "  ".repeat(line.depth);
    let source = line.source.iter();
    let source: String = source
        .map(|source| format!(" ({})", markup(source)))
        .collect();
    format!("{indent}- {}{source}", markup(&line.text))
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<_> = cells.collect();
    format!("| {} |", cells.join(" | "))
}

/// Text as text: what Markdown or HTML would act on gets a backslash, hostile characters are shown.
fn markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in escape::line(text).chars() {
        if matches!(
            character,
            '\\' | '|' | '<' | '>' | '&' | '`' | '*' | '_' | '[' | ']' | '~'
        ) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::table::Group;

    #[test]
    fn sections_become_paragraphs_tables_and_lists() {
        let cells = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let sections = [
            Section::sentences(vec![
                "2 pods would be evicted.".to_owned(),
                "1 stays.".to_owned(),
            ]),
            Section::table(Table {
                columns: vec![
                    Column::text("POD"),
                    Column::number("GRACE"),
                    Column::text("CAUSE").wide(),
                ],
                rows: vec![
                    cells(["a|b", "30s", "<none>"]),
                    cells(["c\nd", "5s", "*\u{1b}*"]),
                ],
            }),
            Section::list("Guards", vec!["pods.evicted>20: tripped".to_owned()]),
        ];
        insta::assert_snapshot!(render(&sections, Format::Markdown), @r"
        2 pods would be evicted.

        1 stays.

        | POD | GRACE | CAUSE |
        | --- | ---: | --- |
        | a\|b | 30s | \<none\> |
        | c\\nd | 5s | \*\\x1b\* |

        ### Guards

        - pods.evicted\>20: tripped
        ");
    }

    #[test]
    fn a_table_in_groups_becomes_several() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let group = |title: &str, rows| Group {
            title: title.to_owned(),
            rows,
        };
        let grouped = Grouped {
            table: Table {
                columns: vec![Column::text("DEVICE"), Column::text("NODE")],
                rows: vec![row(["a", "x"]), row(["b", "x"]), row(["c", "y"])],
            },
            groups: vec![group("x: 2 devices", 2), group("y: 1 device", 1)],
            head: vec![0],
            by: 1,
        };
        insta::assert_snapshot!(render(&[Section::grouped(grouped)], Format::Markdown), @"
        x: 2 devices

        | DEVICE | NODE |
        | --- | --- |
        | a | x |
        | b | x |

        y: 1 device

        | DEVICE | NODE |
        | --- | --- |
        | c | y |
        ");
    }

    #[test]
    fn foreign_text_cannot_become_markup() {
        assert_eq!(markup("<img src=x>"), r"\<img src=x\>");
        assert_eq!(markup("[a](javascript:x)"), r"\[a\](javascript:x)");
        assert_eq!(markup("a|b `c` **d**"), r"a\|b \`c\` \*\*d\*\*");
    }
}
