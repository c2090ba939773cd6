//! A term and its meaning, as every topic shows them.

/// Width of these texts, for terminals as narrow as most begin.
pub(super) const WIDTH: usize = 80;

/// A term and what it means, in as many lines as that takes.
pub(super) fn explained(term: &str, meaning: &str) -> String {
    // Lines after the first hang below the meaning, so that terms can be found by eye.
    let indent = " ".repeat(textwrap::core::display_width(term).saturating_add(2));
    let options = textwrap::Options::new(WIDTH).subsequent_indent(&indent);
    textwrap::fill(&format!("{term}  {meaning}"), options) + "\n"
}
