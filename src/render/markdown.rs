//! GitHub-flavoured Markdown, for tickets and pull requests.
//!
//! A document is at most [`LIMIT`] characters long: of tables, lists and chains that are too long the first
//! rows stay, which are the most important, and a line says how many were left out.

use super::format::Format;
use crate::output::escape;
use crate::report::table::{Body, Column, Content, Section, Table};

/// Characters of a document. GitHub takes 65,536 in a comment, of which the rest is for what is written
/// around the document.
pub const LIMIT: usize = 60_000;

/// The sections as paragraphs, lists and tables; what would be markup in foreign text is escaped.
pub fn render(sections: &[Section], format: Format) -> String {
    let shown = sections
        .iter()
        .filter(|section| format.shows(section.shown));
    let parts: Vec<Part> = shown.flat_map(|section| parts(section, format)).collect();
    let longest = parts.iter().map(|part| part.rows.len()).max();
    let longest = longest.unwrap_or_default();
    let whole = document(&parts, longest);
    if whole.chars().count() <= LIMIT {
        return whole;
    }
    // The text grows with the rows that each part may have, so halving finds the most that fit.
    let (mut fits, mut exceeds) = (0_usize, longest);
    while exceeds.saturating_sub(fits) > 1 {
        let middle = fits.midpoint(exceeds);
        if document(&parts, middle).chars().count() <= LIMIT {
            fits = middle;
        } else {
            exceeds = middle;
        }
    }
    within_limit(document(&parts, fits))
}

/// The parts with at most `most` rows of each.
fn document(parts: &[Part], most: usize) -> String {
    let parts: Vec<String> = parts.iter().map(|part| part.text(most)).collect();
    parts.join("\n")
}

/// The document without its last lines where sentences alone are too many.
fn within_limit(document: String) -> String {
    if document.chars().count() <= LIMIT {
        return document;
    }
    const NOTE: &str = "\n… the rest is omitted to fit a GitHub comment (all: `-o json`)\n";
    let room = LIMIT.saturating_sub(NOTE.chars().count());
    let kept: String = document.chars().take(room).collect();
    // A half line could be half an escape.
    let kept = kept.rsplit_once('\n').map_or("", |(lines, _)| lines);
    format!("{kept}\n{NOTE}")
}

/// Lines that stay, and rows below them of which some may be left out.
#[derive(Default)]
struct Part {
    head: Vec<String>,
    rows: Vec<String>,
}

impl Part {
    fn text(&self, most: usize) -> String {
        let kept = self.head.iter().chain(self.rows.iter().take(most));
        let mut text: String = kept.map(|line| format!("{line}\n")).collect();
        let left_out = self.rows.len().saturating_sub(most);
        if left_out > 0 {
            // The number shows how much is missing where a reader cannot count.
            let rows = if left_out == 1 { "row is" } else { "rows are" };
            text.push_str(&format!(
                "\n… {left_out} more {rows} omitted to fit a GitHub comment (all: `-o json`)\n"
            ));
        }
        text
    }
}

fn parts(section: &Section, format: Format) -> Vec<Part> {
    let mut parts = match &section.body {
        // Two sentences in two lines would be one paragraph.
        Body::Sentences(sentences) => {
            let sentences: Vec<_> = sentences.iter().map(|text| markup(text)).collect();
            let head = sentences.join("\n\n").lines().map(str::to_owned).collect();
            vec![Part {
                head,
                ..Part::default()
            }]
        }
        Body::List(items) => vec![list(items.iter())],
        Body::Chain(lines) => vec![list(lines.iter().map(|line| &line.text))],
        Body::Table(table) | Body::Grouped(table) => vec![table_part(table, format)],
        // Only pages have room for charts.
        Body::Charts(_) => Vec::new(),
    };
    parts.retain(|part| !part.head.is_empty() || !part.rows.is_empty());
    let title = section
        .title
        .map(|title| [format!("### {title}"), String::new()]);
    if let Some(first) = parts.first_mut() {
        first.head.splice(..0, title.into_iter().flatten());
    }
    parts
}

fn list<'a>(items: impl Iterator<Item = &'a String>) -> Part {
    Part {
        rows: items.map(|text| format!("- {}", markup(text))).collect(),
        ..Part::default()
    }
}

fn table_part(table: &Table, format: Format) -> Part {
    if table.rows.is_empty() {
        return Part::default();
    }
    let shown = |column: &Column| format.shows(column.shown);
    let columns = || table.columns.iter().filter(|column| shown(column));
    let header = row(columns().map(|column| markup(&column.header)));
    let rule = row(columns().map(|column| match column.content {
        Content::Name | Content::LongName | Content::Prose | Content::Items => "---".to_owned(),
        Content::Number => "---:".to_owned(),
    }));
    let rows = table.rows.iter().map(|cells| {
        let cells = table.columns.iter().zip(cells);
        row(cells
            .filter(|(column, _)| shown(column))
            .map(|(_, cell)| markup(cell)))
    });
    Part {
        head: vec![header, rule],
        rows: rows.collect(),
    }
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

    /// Checks the limit: a comment that is too long is refused as a whole, and its verdict is lost.
    #[test]
    fn a_document_fits_a_comment_and_says_how_many_rows_it_leaves_out() {
        let pod = |number: usize| vec![format!("namespace/pod-{number}-{}", "x".repeat(90))];
        let pods = |number| {
            Section::table(Table {
                columns: vec![Column::text("POD")],
                rows: (0..number).map(pod).collect(),
            })
        };
        let answer = || Section::sentences(vec!["2,000 pods would be evicted.".to_owned()]);
        let guards = || Section::list("Guards", vec!["pods.evicted>20: tripped".to_owned()]);
        let few = render(&[answer(), pods(500), guards()], Format::Markdown);
        assert!(
            few.chars().count() <= LIMIT && !few.contains("left out"),
            "it fits as it is"
        );
        let many = render(&[answer(), pods(2_000), guards()], Format::Markdown);
        let length = many.chars().count();
        assert!(
            length <= LIMIT && length > LIMIT - 200,
            "{length} characters"
        );
        assert!(many.starts_with("2,000 pods would be evicted."));
        assert!(many.contains("/pod-0-") && many.ends_with("pods.evicted\\>20: tripped\n"));
        let kept = many.matches("| namespace/pod-").count();
        let note = format!(
            "\n… {} more rows are omitted to fit a GitHub comment (all: `-o json`)\n",
            2_000 - kept
        );
        assert!(many.contains(&note), "{kept} are kept");
    }

    #[test]
    fn foreign_text_cannot_become_markup() {
        assert_eq!(markup("<img src=x>"), r"\<img src=x\>");
        assert_eq!(markup("[a](javascript:x)"), r"\[a\](javascript:x)");
        assert_eq!(markup("a|b `c` **d**"), r"a\|b \`c\` \*\*d\*\*");
    }
}
