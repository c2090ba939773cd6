//! What follows from what, indented, each line with where it stands.

use super::Page;
use super::lines::escaped_line;
use crate::report::table::ChainLine;

/// How wide a chain is where there is no terminal: it is for people in any case.
const WIDTH: u16 = 80;

/// The line, broken between words; its source stands behind it where there is room, and below it
/// otherwise.
pub(super) fn lines(line: &ChainLine, page: Page) -> Vec<String> {
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

/// The words in lines that begin with `indent`, the second and later ones with four columns more.
fn broken(text: &str, indent: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = indent.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        let length = line.chars().count().saturating_add(word.chars().count());
        if !is_empty && length >= width {
            lines.push(std::mem::replace(&mut line, format!("{indent}    ")));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Format;

    #[test]
    fn a_source_stands_behind_its_line_or_below_it_and_no_line_is_too_long() {
        let line = |depth, text: &str, source: &str| ChainLine {
            depth,
            text: text.to_owned(),
            source: Some(source.to_owned()),
        };
        let page = Page {
            format: Format::Table,
            width: Some(40),
        };
        let chain = [
            line(0, "reserved for it", "Pod a/b: .spec"),
            line(
                1,
                "taint of rule drain",
                "DeviceTaintRule drain: .spec.taint",
            ),
            line(1, "one two three four five six seven eight", "x"),
        ];
        let text: Vec<String> = chain.iter().flat_map(|line| lines(line, page)).collect();
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
