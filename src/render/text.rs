//! Sentences and tables for a terminal.

use super::format::Page;
use super::lines::{escaped_line, layout, wrapped};
use super::{chain, grouped};
use crate::report::table::{Body, Section, Table};

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
        Body::Sentences(sentences) => sentences
            .iter()
            .flat_map(|text| wrapped(&escaped_line(text), "", page.width))
            .collect(),
        Body::List(items) => items
            .iter()
            .flat_map(|text| wrapped(&escaped_line(text), "  ", page.width))
            .collect(),
        Body::Table(table) => table_lines(table, page),
        Body::Grouped(grouped) => grouped::lines(grouped, page),
        Body::Folding(folding) => grouped::folding_lines(folding, page),
        Body::Chain(lines) => lines
            .iter()
            .flat_map(|line| chain::lines(line, page))
            .collect(),
        Body::Facts(_) | Body::Charts(_) => Vec::new(),
    };
    if lines.is_empty() {
        return None;
    }
    let title = section
        .title
        .as_deref()
        .map(|title| format!("{}:", escaped_line(title)));
    let lines = title.into_iter().chain(lines);
    Some(lines.map(|line| format!("{}\n", line.trim_end())).collect())
}

fn table_lines(table: &Table, page: Page) -> Vec<String> {
    if table.rows.is_empty() {
        return Vec::new();
    }
    layout(table, page).lines().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Format;
    use crate::render::lines::cut;
    use crate::report::table::Column;

    fn page(format: Format, width: Option<u16>) -> Page {
        Page { format, width }
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
        insta::assert_snapshot!(pods(Format::Table, 64), @r"
        WHEN  POD                             NODE     WORKLOAD
        now   serving/embed-5f6b8c9d77-mdd2q  node-7   Deployment/embed
        +5m   serving/größe-0                 node-12  StatefulSet/größe
        ");
        insta::assert_snapshot!(pods(Format::Table, 63), @r"
        WHEN  POD                             NODE
        now   serving/embed-5f6b8c9d77-mdd2q  node-7
        +5m   serving/größe-0                 node-12
        ");
        insta::assert_snapshot!(pods(Format::Table, 44), @r"
        WHEN  POD
        now   serving/embed-5f6b8c9d77-mdd2q
        +5m   serving/größe-0
        ");
        insta::assert_snapshot!(pods(Format::Table, 29), @r"
        WHEN  POD
        now   serving/emb…c9d77-mdd2q
        +5m   serving/größe-0
        ");
        insta::assert_snapshot!(pods(Format::Table, 10), @r"
        WHEN  POD
        now   serving/…7-mdd2q
        +5m   serving/größe-0
        ");
        assert!(pods(Format::Wide, 63).contains("WORKLOAD"), "wide is all");
    }

    #[test]
    fn items_are_the_first_in_short_lines_and_as_many_as_fit_in_others() {
        let table = || Table {
            columns: vec![Column::text("POD"), Column::items("RISKS")],
            rows: vec![vec![
                "a/b".to_owned(),
                "first one; second; third".to_owned(),
            ]],
        };
        let shown = |format, width| {
            let text = render(&[Section::table(table())], page(format, width));
            text.lines().last().unwrap_or_default().to_owned()
        };
        for (format, width, expected) in [
            (Format::Table, None, "a/b  first one (+2)"),
            (Format::Table, Some(80), "a/b  first one (+2)"),
            (Format::Table, Some(100), "a/b  first one; second; third"),
            (Format::Wide, Some(20), "a/b  first one; second; third"),
        ] {
            assert_eq!(shown(format, width), expected, "{width:?}");
        }
        let long = "a reason that is long; other";
        let cell = crate::render::lines::first_items(long, Some(24), true);
        assert_eq!(cell, "a reason that is l… (+1)");
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
}
