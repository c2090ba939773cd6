//! Chains of causes, indented, each line with its source.

use super::format::Page;
use super::lines::escaped_line;
use crate::report::table::ChainLine;

/// Width of a chain where there is no terminal: it is for people in any case.
const WIDTH: u16 = 80;

/// Minimum length of a word's part in a line at any depth.
const SHORTEST: usize = 16;

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

    #[test]
    fn a_word_that_is_longer_than_a_line_is_broken_between_its_parts() {
        let path = ".status.allocation.devices.results[0].tolerations[0]";
        let source = format!(
            "ResourceClaim {}: {path}",
            "research/a-claim-with-a-long-name"
        );
        let page = Page {
            format: Format::Table,
            width: Some(40),
        };
        let line = ChainLine {
            depth: 2,
            text: format!("device {}", "x".repeat(70)),
            source: Some(source.clone()),
        };
        let text = lines(&line, page);
        insta::assert_snapshot!(text.join("\n"), @"
        device
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
            xxxxxxxxxx
            (ResourceClaim
                research/a-claim-with-a-
                long-name:
                .status.allocation.devices
                .results[0].tolerations
                [0])
        ");
        for line in &text {
            assert!(line.chars().count() <= 40, "{line}");
        }
        let whole: String = text.iter().map(|line| line.trim_start()).collect();
        let told = format!("{}({source})", line.text).replace(' ', "");
        assert_eq!(whole.replace(' ', ""), told, "nothing is left out");
    }
}
