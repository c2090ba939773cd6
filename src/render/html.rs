//! A page of its own: one file that loads nothing and can be read without script.

use super::chart;
use super::format::Format;
use super::markup::text;
use crate::report::table::{
    Body, ChainLine, Column, Content, Grouped, Heading, NONE, Section, Table, Tone,
};

const STYLE: &str = include_str!("page.css");
/// Makes tables sortable, and long ones filterable, where scripts are allowed; nothing else.
const SCRIPT: &str = include_str!("page.js");

/// A page with fewer sections that have a title is read without a table of contents.
const LISTED: usize = 3;

/// A table of more rows scrolls by itself below its header, so that what follows is not out of reach.
const TALL: usize = 40;

/// A fact of more characters needs more room than a number does.
const LONG: usize = 14;

/// Content security policy, whatever foreign text the page contains: this style and this script, and nothing
/// else. The sums are those of the files, which a test compares.
const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; \
    style-src 'sha256-bzClvKJ2I3FkbcdnTyAP9qw0UaYWHLxLljWp1caDBxw='; \
    script-src 'sha256-qvi49gVX30MorS9IFFWxoYzAlDPTIdKuaNS8bk2posc='";

/// The sections as one document; what would be markup in foreign text is escaped, and hostile
/// characters are shown.
pub fn render(heading: &Heading, sections: &[Section], tones: &[(&str, Tone)]) -> String {
    let title = text(&heading.title);
    let origin: Vec<String> = heading.origin.iter().map(|fact| text(fact)).collect();
    let origin = origin.join(" · ");
    let sections = sections.iter();
    let shown = sections.filter(|section| Format::Html.shows(section.shown));
    let blocks: Vec<Block> = shown.filter_map(|section| block(section, tones)).collect();
    let contents = contents(&blocks);
    let blocks = if blocks.is_empty() {
        "<p>No resources found.</p>\n".to_owned()
    } else {
        let numbered = (1_usize..).zip(&blocks);
        numbered.map(|(number, it)| it.markup(number)).collect()
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header><h1>{title}</h1><p>{origin}</p></header>\n{contents}<main>\n{blocks}</main>\n\
         <footer>kubectl-devicetaint {}</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// A section as markup, with what the table of contents has of it.
struct Block {
    /// Empty where the content speaks for itself.
    title: String,
    class: &'static str,
    content: String,
}

impl Block {
    fn markup(&self, number: usize) -> String {
        let title = if self.title.is_empty() {
            String::new()
        } else {
            element("h2", "", &self.title)
        };
        let class = match self.class {
            "" => String::new(),
            class => format!(" class=\"{class}\""),
        };
        let content = &self.content;
        format!("<section id=\"section-{number}\"{class}>{title}{content}</section>\n")
    }
}

/// Links to the sections; none where the page is short.
fn contents(blocks: &[Block]) -> String {
    let titled = (1_usize..)
        .zip(blocks)
        .filter(|(_, block)| !block.title.is_empty());
    let links: Vec<String> = titled
        .map(|(number, block)| {
            format!("<li><a href=\"#section-{number}\">{}</a></li>", block.title)
        })
        .collect();
    if links.len() < LISTED {
        return String::new();
    }
    format!(
        "<nav aria-label=\"Contents\"><ul>{}</ul></nav>\n",
        links.concat()
    )
}

fn block(section: &Section, tones: &[(&str, Tone)]) -> Option<Block> {
    let content = match &section.body {
        Body::Sentences(sentences) => each("p", sentences),
        Body::List(items) => enclosed("ul", &list(items, tones)),
        Body::Table(table) => table_of(table, tones),
        Body::Grouped(grouped) => in_groups(grouped, tones),
        Body::Folding(folding) => table_of(&folding.table, tones),
        Body::Chain(lines) if lines.is_empty() => String::new(),
        Body::Chain(lines) => element("div", "chain", &chain(lines)),
        Body::Facts(facts) => facts_of(facts, tones),
        Body::Charts(charts) => charts.iter().map(chart::svg).collect(),
    };
    if content.is_empty() {
        return None;
    }
    let title = section.title.as_deref().unwrap_or(section.caption);
    Some(Block {
        title: text(title),
        class: section.tone.map_or("", class),
        content,
    })
}

fn table_of(table: &Table, tones: &[(&str, Tone)]) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let shown = |column: &Column| Format::Html.shows(column.shown);
    let columns = || table.columns.iter().filter(|column| shown(column));
    let header: String = columns().map(header).collect();
    let is_named = columns().any(|column| !column.header.is_empty());
    let head = if is_named {
        format!("<thead><tr>{header}</tr></thead>")
    } else {
        String::new()
    };
    let rows = table.rows.iter().map(|cells| {
        let cells: String = table
            .columns
            .iter()
            .zip(cells)
            .filter(|(column, _)| shown(column))
            .map(|(column, it)| cell(column, it, tones))
            .collect();
        element("tr", "", &cells) + "\n"
    });
    let rows: String = rows.collect();
    let class = if table.rows.len() > TALL {
        "scroll tall"
    } else {
        "scroll"
    };
    // A scrolling element has to be reached with the keyboard, too.
    format!(
        "<div class=\"{class}\" tabindex=\"0\"><table>{head}<tbody>\n{rows}</tbody></table></div>"
    )
}

/// The header of a column, with the words of its cells in their order.
fn header(column: &Column) -> String {
    let words: Vec<String> = column.words.iter().map(|(word, _)| text(word)).collect();
    let words = match words.as_slice() {
        [] => String::new(),
        some => format!(" data-words=\"{}\"", some.join(",")),
    };
    let class = number(column);
    format!(
        "<th scope=\"col\" class=\"{class}\"{words}>{}</th>",
        text(&column.header)
    )
}

fn number(column: &Column) -> &'static str {
    match column.content {
        Content::Name | Content::LongName => "",
        Content::Number => "number",
        Content::Prose | Content::Items => "prose",
    }
}

fn cell(column: &Column, cell: &str, tones: &[(&str, Tone)]) -> String {
    let known = column.words.iter().find(|(word, _)| *word == cell);
    let tone = known.and_then(|(_, tone)| *tone);
    element("td", number(column), &word(cell, tone, tones))
}

/// A text that stands for itself, and stands out where it says something of what it is said of.
fn word(word: &str, tone: Option<Tone>, tones: &[(&str, Tone)]) -> String {
    match tone.or_else(|| tone_of(word, tones)) {
        Some(tone) => element("b", class(tone), &text(word)),
        None if word == NONE => element("i", "", &text(NONE)),
        None => text(word),
    }
}

/// Items of a list, whose first word may stand out.
fn list(items: &[String], tones: &[(&str, Tone)]) -> String {
    let item = |item: &String| {
        let (first, rest) = item.split_once(' ').unwrap_or((item, ""));
        let first = word(first, None, tones);
        element("li", "", &format!("{first} {}", text(rest)))
    };
    items.iter().map(item).collect()
}

/// Tone of a word that stands alone.
fn tone_of(word: &str, tones: &[(&str, Tone)]) -> Option<Tone> {
    let found = tones.iter().find(|(known, _)| *known == word);
    found.map(|(_, tone)| *tone)
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Doubtful => "doubtful",
        Tone::Bad => "bad",
    }
}

/// A table for each group below its title.
fn in_groups(grouped: &Grouped, tones: &[(&str, Tone)]) -> String {
    // The rows of a table stand in the order of its groups.
    let mut rows = grouped.table.rows.iter();
    let parts = grouped.groups.iter().map(|group| {
        let table = Table {
            columns: grouped.table.columns.clone(),
            rows: rows.by_ref().take(group.rows).cloned().collect(),
        };
        element("h3", "", &text(&group.title)) + &table_of(&table, tones)
    });
    parts.collect()
}

/// Facts with their names above them.
fn facts_of(facts: &[(&'static str, String)], tones: &[(&str, Tone)]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let fact = |(name, value): &(&'static str, String)| {
        let fact = element("dt", "", &text(name)) + &element("dd", "", &word(value, None, tones));
        element("div", "", &fact)
    };
    let is_long = |(_, value): &(&'static str, String)| value.chars().count() > LONG;
    let class = if facts.iter().any(is_long) {
        "long"
    } else {
        ""
    };
    let facts: String = facts.iter().map(fact).collect();
    element("dl", class, &facts)
}

/// Lists within lists, each line with where it stands.
fn chain(lines: &[ChainLine]) -> String {
    let mut all = String::new();
    let mut open = 0_usize;
    for line in lines {
        let depth = line.depth.saturating_add(1);
        let is_below = open < depth;
        while open > depth {
            all.push_str("</li></ul>");
            open = open.saturating_sub(1);
        }
        while open < depth {
            all.push_str("<ul><li>");
            open = open.saturating_add(1);
        }
        if !is_below {
            all.push_str("</li>\n<li>");
        }
        all.push_str(&text(&line.text));
        if let Some(source) = &line.source {
            all.push(' ');
            all.push_str(&element("small", "", &text(source)));
        }
    }
    all + &"</li></ul>".repeat(open)
}

fn each(name: &str, texts: &[String]) -> String {
    let texts = texts.iter();
    texts.map(|it| element(name, "", &text(it))).collect()
}

/// The content in an element; nothing where it is empty.
fn enclosed(name: &str, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    element(name, "", content)
}

/// An element of this class, around what is markup already.
fn element(name: &str, class: &str, content: &str) -> String {
    if class.is_empty() {
        format!("<{name}>{content}</{name}>")
    } else {
        format!("<{name} class=\"{class}\">{content}</{name}>")
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};

    use super::*;
    use crate::output::escape;
    use crate::report::table::{Chart, Group, Moment};

    #[test]
    fn browsers_run_the_script_and_the_style_of_the_page_and_no_other() {
        for (name, content) in [("style", STYLE), ("script", SCRIPT)] {
            let sum = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(content));
            assert!(
                POLICY.contains(&format!("{name}-src 'sha256-{sum}'")),
                "the sum of the {name} is {sum}"
            );
            assert!(!content.contains('<'), "the {name} may end itself");
        }
        assert!(STYLE.len() < 4_600, "{} bytes", STYLE.len());
    }

    /// Every kind of section, with this text wherever there is foreign text.
    fn everything(hostile: &str) -> (Heading, Vec<Section>) {
        let table = || Table {
            columns: vec![
                Column::asked(hostile.to_owned()),
                Column::number("PODS"),
                Column::prose("WHY").wide(),
                Column::text("SHORT").narrow(),
            ],
            rows: vec![vec![hostile.to_owned(); 4]; 2],
        };
        let group = |rows| Group {
            title: hostile.to_owned(),
            rows,
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
        let sections = vec![
            Section::sentences(vec![hostile.to_owned()]).toned(Tone::Bad),
            Section::list("List", vec![hostile.to_owned()]),
            Section::table(table()).titled(hostile.to_owned()),
            Section::grouped(Grouped {
                table: table(),
                groups: vec![group(1), group(1)],
            }),
            Section::chain([0, 1, 3, 1, 0].map(line).into()),
            Section::facts(vec![
                ("Fact", hostile.to_owned()),
                ("Other", "longer than any number".to_owned()),
            ])
            .titled(hostile.to_owned()),
            Section::charts(vec![Chart {
                note: hostile.to_owned(),
                moments: vec![moment(0), moment(90)],
                end: Some((120, hostile.to_owned())),
            }]),
        ];
        (heading, sections)
    }

    fn page(text: &str) -> String {
        let (heading, sections) = everything(text);
        render(&heading, &sections, &[])
    }

    /// The tags of a page, without what stands between them.
    fn tags(page: &str) -> Vec<String> {
        let parts = page.split('<').skip(1);
        let tags = parts.map(|part| part.split_once('>').map_or(part, |(tag, _)| tag));
        tags.map(str::to_owned).collect()
    }

    /// Every element that is opened is closed, in order.
    fn assert_balanced(page: &str) {
        let mut open: Vec<String> = Vec::new();
        for tag in tags(page) {
            let name = tag.split([' ', '/']).next().unwrap_or_default().to_owned();
            if let Some(closed) = tag.strip_prefix('/') {
                assert_eq!(open.pop().as_deref(), Some(closed), "{page}");
            } else if !["!doctype", "meta"].contains(&name.as_str()) && !tag.ends_with('/') {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn every_kind_of_section_becomes_well_formed_markup() {
        let page = page("text");
        assert_balanced(&page);
        assert!(page.contains("<section id=\"section-1\" class=\"bad\"><p>text</p></section>"));
        assert!(page.contains("<h2>List</h2><ul><li>text </li></ul>"));
        assert!(!page.contains("SHORT"), "that is for narrow terminals");
        assert!(page.contains("<td class=\"prose\">text</td>"));
        assert!(page.contains("<dt>Fact</dt><dd>text</dd>"));
        assert!(page.contains("<small>text</small>"));
        assert!(page.contains("<svg"));
    }

    #[test]
    fn a_long_page_begins_with_links_to_its_sections_and_a_short_one_does_not() {
        let page = page("text");
        let (nav, main) = page.split_once("<main>").unwrap();
        let links: Vec<&str> = nav.split("href=\"#").skip(1).collect();
        let links = links.iter().map(|it| it.split_once('"').unwrap().0);
        let links: Vec<&str> = links.collect();
        assert_eq!(links, ["section-2", "section-3", "section-6"]);
        assert!(
            links
                .iter()
                .all(|it| main.contains(&format!("<section id=\"{it}\">")))
        );
        assert!(nav.contains("<a href=\"#section-2\">List</a>"), "{nav}");
        let one = Section::list("List", vec!["text".to_owned()]);
        let short = render(&Heading::default(), &[one], &[]);
        assert!(!short.contains("<nav"), "{short}");
    }

    #[test]
    fn headers_say_what_they_are_headers_of_and_long_tables_scroll_below_them() {
        let table = |rows| Table {
            columns: vec![Column::text("POD"), Column::number("GRACE")],
            rows: vec![vec!["a".to_owned(), "1s".to_owned()]; rows],
        };
        let page = table_of(&table(TALL), &[]);
        assert_eq!(page.matches("<th scope=\"col\"").count(), 2, "{page}");
        assert!(page.starts_with("<div class=\"scroll\""), "{page}");
        let page = table_of(&table(TALL + 1), &[]);
        assert!(page.starts_with("<div class=\"scroll tall\""), "{page}");
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
