//! Badges of the README: facts that are true by construction, from their sources.

use kubectl_devicetaint::engine::Semantics;

const MANIFEST: &str = include_str!("../../Cargo.toml");

/// The badges by the names of their files.
pub fn made() -> Vec<(&'static str, String)> {
    let rust = field("rust-version");
    let versions = format!("{} to {}", Semantics::OLDEST, Semantics::NEWEST);
    vec![
        ("kubernetes.svg", badge("Kubernetes", &versions, "#326ce5")),
        (
            "license.svg",
            badge("license", &field("license"), "#3b7a57"),
        ),
        (
            "rust.svg",
            badge("Rust", &format!("{rust} or newer"), "#9a4a1c"),
        ),
    ]
}

/// A field of the package in Cargo.toml.
fn field(name: &str) -> String {
    let begin = format!("{name} = \"");
    let line = MANIFEST.lines().find_map(|line| line.strip_prefix(&begin));
    line.unwrap().trim_end_matches('"').to_owned()
}

/// A word and its value, beside each other.
fn badge(name: &str, value: &str, color: &str) -> String {
    let width = |text: &str| 7 * text.len() + 14;
    let (left, right) = (width(name), width(value));
    let whole = left + right;
    let text = |at: usize, length: usize, text: &str| {
        format!(
            "<text x=\"{}\" y=\"14\" textLength=\"{}\" text-anchor=\"middle\">{text}</text>\n",
            at + length / 2,
            length - 14
        )
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{whole}\" height=\"20\" role=\"img\" aria-label=\"{name}: {value}\">\n\
         <title>{name}: {value}</title>\n\
         <clipPath id=\"c\"><rect width=\"{whole}\" height=\"20\" rx=\"3\"/></clipPath>\n\
         <g clip-path=\"url(#c)\"><rect width=\"{left}\" height=\"20\" fill=\"#444\"/><rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{color}\"/></g>\n\
         <g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\n{}{}</g>\n</svg>\n",
        text(0, left, name),
        text(left, right, value),
    )
}
