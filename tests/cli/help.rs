//! Help: every spelling gives the same text, and a misspelt word gets the nearest.

use super::harness::devicetaint;
use crate::screen::assert_screen;

#[test]
fn help_of_the_program() {
    assert_screen("help", &devicetaint("--help").stdout);
}

#[test]
fn nothing_to_do_shows_the_help_as_a_mistake() {
    let run = devicetaint("");
    assert_eq!(run.code, 2);
    assert_eq!(run.stdout, "");
    assert_eq!(run.stderr, devicetaint("-h").stdout);
}
