//! Screens: whole outputs that documents show, each a plain file in `tests/screens`.

use std::path::Path;
use std::{env, fs};

/// Compares a text with its file; `UPDATE_GENERATED=1` writes the file.
pub fn assert_screen(name: &str, text: &str) {
    let text = format!("{}\n", text.trim_end());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens");
    let path = folder.join(format!("{name}.txt"));
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::write(&path, &text).expect("the screen can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{}", path.display());
}
