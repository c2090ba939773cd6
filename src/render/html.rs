//! A page of its own: one file that loads nothing and needs no script.

use super::format::Format;
use crate::output::escape;
use crate::report::table::{
    Body, Chart, Column, Content, Heading, Moment, NONE, Section, Table, Tone,
};

const STYLE: &str = include_str!("page.css");

/// Content security policy, whatever foreign text the page contains: this style, and nothing else. The sum is that
/// of the file, which a test compares.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
    style-src 'sha256-cXNl1syoxIeAe9EIyIZXwxY8jX6Eo3p1hXw4Sv/cQPc='";

/// The sections as one document; what would be markup in foreign text is escaped, and hostile
/// characters are shown.
pub fn render(heading: &Heading, sections: &[Section], tones: &[(&str, Tone)]) -> String {
    let title = text(&heading.title);
    let origin: Vec<String> = heading.origin.iter().map(|fact| text(fact)).collect();
    let origin = origin.join(" · ");
    let sections = sections.iter();
    let shown = sections.filter(|section| Format::Html.shows(section.shown));
    let (toned, others): (Vec<&Section>, Vec<&Section>) =
        shown.partition(|section| section.tone.is_some());
    // What matters for every reader comes first, above tables that may be long.
    let blocks = toned.into_iter().chain(others);
    let blocks: String = blocks.map(|section| block(section, tones)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>{title}</h1><p>{origin}</p></header>\n<main>\n{blocks}</main>\n\
         <footer>kubectl-devicetaint {}</footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// A section as markup; nothing where it is empty.
fn block(section: &Section, tones: &[(&str, Tone)]) -> String {
    let content = match &section.body {
        Body::Sentences(sentences) => each("p", sentences),
        Body::List(items) if items.is_empty() => String::new(),
        Body::List(items) => element("ul", "", &each("li", items)),
        Body::Chain(lines) => lines
            .iter()
            .map(|line| element("p", "", &text(&line.text)))
            .collect(),
        Body::Table(table) | Body::Grouped(table) => table_of(table, tones),
        Body::Charts(charts) => charts.iter().map(svg).collect(),
    };
    if content.is_empty() {
        return content;
    }
    let title = section
        .title
        .map_or_else(String::new, |title| element("h2", "", &text(title)));
    element(
        "section",
        section.tone.map_or("", class),
        &(title + &content),
    ) + "\n"
}

fn table_of(table: &Table, tones: &[(&str, Tone)]) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let is_shown = |column: &Column| Format::Html.shows(column.shown);
    let columns = table.columns.iter().filter(|column| is_shown(column));
    let head: String = columns
        .map(|column| {
            let (class, header) = (layout(column), text(&column.header));
            format!("<th scope=\"col\" class=\"{class}\">{header}</th>")
        })
        .collect();
    let rows = table.rows.iter().map(|cells| {
        let cells = table.columns.iter().zip(cells);
        let cells = cells.filter(|(column, _)| is_shown(column));
        let cells: String = cells.map(|(column, it)| cell(column, it, tones)).collect();
        element("tr", "", &cells) + "\n"
    });
    let rows: String = rows.collect();
    // A scrolling element has to be reached with the keyboard, too.
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>"
    )
}

fn layout(column: &Column) -> &'static str {
    match column.content {
        Content::Name | Content::LongName => "",
        Content::Number => "number",
        Content::Prose | Content::Items => "prose",
    }
}

/// A cell, which stands out where its word has a tone.
fn cell(column: &Column, cell: &str, tones: &[(&str, Tone)]) -> String {
    let mut words = column.words.iter().chain(tones);
    let content = match words.find(|(word, _)| *word == cell) {
        Some((_, tone)) => element("b", class(*tone), &text(cell)),
        None if cell == NONE => element("i", "", &text(NONE)),
        None => text(cell),
    };
    element("td", layout(column), &content)
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Doubtful => "doubtful",
        Tone::Bad => "bad",
    }
}

fn each(name: &str, texts: &[String]) -> String {
    let texts = texts.iter();
    texts.map(|it| element(name, "", &text(it))).collect()
}

/// An element of this class, around what is markup already.
fn element(name: &str, class: &str, content: &str) -> String {
    if class.is_empty() {
        format!("<{name}>{content}</{name}>")
    } else {
        format!("<{name} class=\"{class}\">{content}</{name}>")
    }
}

/// Text as text, in elements and in attributes.
fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in escape::line(text).chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Height of the line of time, with its labels.
const STRIP: usize = 48;

/// Height of a bar, with the space below it.
const ROW: usize = 26;

/// Chart of events: a line of time, and below it a bar for each moment; as wide as there is room, with letters of
/// their own size.
fn svg(chart: &Chart) -> String {
    let most = chart.moments.iter().map(|moment| moment.number).max();
    // Bars and dots are shares of it, so that it must not be zero.
    let most = most.unwrap_or_default().max(1);
    let strip = strip(chart, most);
    let top = if strip.is_empty() { 0 } else { STRIP };
    let mut middle = top.saturating_add(ROW / 2);
    let mut bars = String::new();
    for moment in &chart.moments {
        bars.push_str(&bar(moment, middle, most));
        middle = middle.saturating_add(ROW);
    }
    let height = middle.saturating_sub(ROW / 2);
    let label = label(chart);
    let note = match chart.note.as_str() {
        "" => String::new(),
        note => element("p", "", &text(note)),
    };
    format!(
        "{note}<svg role=\"img\" aria-label=\"{label}\" width=\"100%\" height=\"{height}\">\
         {strip}{bars}</svg>"
    )
}

/// The moments as dots where they are in time; nothing where there is but one moment in all.
fn strip(chart: &Chart, most: usize) -> String {
    let last = chart.moments.iter().map(|moment| moment.seconds);
    let end = chart.end.iter().map(|(seconds, _)| *seconds);
    let span = last.chain(end).max().unwrap_or_default();
    // A single moment needs no line of time: its bar shows all of it.
    if span == 0 {
        return String::new();
    }
    let place = |seconds| percent(2, u128::from(seconds), u128::from(span), 96);
    let dots = chart.moments.iter().map(|moment| {
        // Few sizes, since more of them could not be told apart.
        let share = moment.number.saturating_mul(6).div_ceil(most);
        let (x, radius) = (place(moment.seconds), share.saturating_add(3));
        format!("<circle cx=\"{x}\" cy=\"14\" r=\"{radius}\"/>")
    });
    let dots: String = dots.collect();
    let end = chart.end.iter().map(|(seconds, what)| {
        let x = place(*seconds);
        format!(
            "<line x1=\"{x}\" x2=\"{x}\" y1=\"4\" y2=\"24\"/>\
             <text x=\"98%\" y=\"38\" text-anchor=\"end\">{}</text>",
            text(what)
        )
    });
    let end: String = end.collect();
    format!(
        "<line x1=\"2%\" x2=\"98%\" y1=\"14\" y2=\"14\"/>\
         <text x=\"2%\" y=\"38\">now</text>{dots}{end}"
    )
}

fn bar(moment: &Moment, middle: usize, most: usize) -> String {
    let number = u128::try_from(moment.number).unwrap_or(u128::MAX);
    let most = u128::try_from(most).unwrap_or(u128::MAX);
    let width = percent(0, number, most, 50);
    let end = percent(22, number, most, 50);
    let (when, what) = (text(&moment.when), text(&moment.what));
    let top = middle.saturating_sub(8);
    format!(
        "<text x=\"2%\" y=\"{middle}\" dy=\".35em\">{when}</text>\
         <rect x=\"22%\" y=\"{top}\" width=\"{width}\" height=\"16\" rx=\"2\"/>\
         <text x=\"{end}\" y=\"{middle}\" dx=\"6\" dy=\".35em\">{what}</text>"
    )
}

/// `part` of `whole`, where the whole is `room` percent behind the first `from`, to a tenth.
fn percent(from: u128, part: u128, whole: u128, room: u128) -> String {
    // In integers: the same page on every machine.
    let tenths = part
        .saturating_mul(room)
        .saturating_mul(10)
        .checked_div(whole)
        .unwrap_or_default()
        .saturating_add(from.saturating_mul(10));
    format!("{}.{}%", tenths / 10, tenths % 10)
}

/// Description of the picture for screen readers.
fn label(chart: &Chart) -> String {
    let moments = chart
        .moments
        .iter()
        .map(|moment| format!("{}: {}", moment.when, moment.what));
    let end = chart.end.iter().map(|(_, what)| what.clone());
    let all: Vec<String> = moments.chain(end).collect();
    text(&all.join("; "))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::output::escape;
    use crate::report::table::ChainLine;

    #[test]
    fn browsers_use_the_style_of_the_page_and_nothing_else() {
        let sum = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(STYLE));
        assert!(
            POLICY.contains(&format!("style-src 'sha256-{sum}'")),
            "the sum of the style is {sum}"
        );
        assert!(!STYLE.contains('<'), "the style may end itself");
    }

    /// Every kind of section, with this text wherever there is foreign text.
    fn page(hostile: &str) -> String {
        let table = || Table {
            columns: vec![
                Column::asked(hostile.to_owned()),
                Column::number("PODS"),
                Column::prose("WHY").wide(),
                Column::text("SHORT").narrow(),
            ],
            rows: vec![vec![hostile.to_owned(); 4]; 2],
        };
        let line = |depth| ChainLine {
            depth,
            text: hostile.to_owned(),
            source: Some(hostile.to_owned()),
        };
        let moment = |seconds| Moment {
            seconds,
            when: hostile.to_owned(),
            number: 3,
            what: hostile.to_owned(),
        };
        let heading = Heading {
            title: hostile.to_owned(),
            origin: vec![hostile.to_owned(); 2],
        };
        let sections = [
            Section::sentences(vec![hostile.to_owned()]).toned(Tone::Bad),
            Section::list("List", vec![hostile.to_owned()]),
            Section::table(table()).titled("Table"),
            Section::of(Body::Grouped(table())),
            Section::of(Body::Chain([0, 1, 3, 1, 0].map(line).into())),
            Section::of(Body::Charts(vec![Chart {
                note: hostile.to_owned(),
                moments: vec![moment(0), moment(90)],
                end: Some((120, hostile.to_owned())),
            }])),
        ];
        render(&heading, &sections, &[])
    }

    /// The tags of a page, without what stands between them.
    fn tags(page: &str) -> Vec<String> {
        let parts = page.split('<').skip(1);
        let tags = parts.map(|part| part.split_once('>').map_or(part, |(tag, _)| tag));
        tags.map(str::to_owned).collect()
    }

    #[test]
    fn every_kind_of_section_becomes_well_formed_markup() {
        let page = page("text");
        let mut open: Vec<String> = Vec::new();
        for tag in tags(&page) {
            let name = tag.split([' ', '/']).next().unwrap_or_default().to_owned();
            if let Some(closed) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(closed), "{page}");
            } else if !["!doctype", "meta"].contains(&name.as_str()) && !tag.ends_with('/') {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
        assert!(page.contains("<section class=\"bad\"><p>text</p></section>"));
        assert!(page.contains("<h2>List</h2><ul><li>text</li></ul>"));
        assert!(!page.contains("SHORT"), "that is for narrow terminals");
        assert!(page.contains("<td class=\"prose\">text</td>") && page.contains("<svg"));
    }

    proptest! {
        /// Whatever names are, the page has the tags that it has for harmless ones, and nothing in it
        /// acts on a reader.
        #[test]
        fn no_text_changes_the_tags_of_a_page(
            foreign in prop_oneof![
                "(?s:.){1,40}",
                "[<>&\"'/a-z =!-]{1,40}",
                "(</script>|<img src=x onerror=y>|]]>|<!--|&#x3c;|\u{202e}|\u{0}|\u{2028}){1,4}",
            ]
        ) {
            let page = page(&foreign);
            let shown = text(&foreign);
            // The one attribute with foreign text in it is what a picture says to who hears it.
            let label = |it: &str| format!("aria-label=\"{it}: {it}; {it}: {it}; {it}\"");
            let expected = tags(&self::page("text")).into_iter();
            let expected = expected.map(|tag| tag.replace(&label("text"), &label(&shown)));
            prop_assert_eq!(tags(&page), expected.collect::<Vec<_>>());
            let hostile = |it: char| escape::is_hostile(it) && it != '\n';
            prop_assert!(!page.contains(hostile));
        }
    }
}
