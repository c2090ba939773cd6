//! Exit of a campaign.

use std::sync::Mutex;

use crate::harness::say;

/// Prints the number of tries, and fails if any is wrong; `advice` is how to repeat them.
pub fn nothing_is_wrong(wrong: Mutex<Vec<String>>, tried: &str, advice: &str) {
    let wrong = wrong.into_inner().expect("no panic");
    say(&format!("cluster: {tried}, {} wrong", wrong.len()));
    let shown: Vec<&str> = wrong.iter().take(12).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "{} are wrong{advice}, the first:\n\n{}",
        wrong.len(),
        shown.join("\n\n")
    );
}
