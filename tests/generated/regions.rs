//! Parts of pages that are made, between `<!-- begin NAME -->` and `<!-- end NAME -->`.

/// The page with `content` in its region of that name.
///
/// # Panics
///
/// When the page has no such region.
pub fn filled(page: &str, name: &str, content: &str) -> String {
    let (begin, end) = (
        format!("<!-- begin {name} -->"),
        format!("<!-- end {name} -->"),
    );
    let found = page
        .split_once(&begin)
        .and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let Some((before, after)) = found else {
        panic!("no region {name}");
    };
    format!("{before}{begin}\n\n{}\n\n{end}{after}", content.trim_end())
}
