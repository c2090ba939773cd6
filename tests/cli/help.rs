//! Help: every spelling gives the same text, and a misspelt word gets the nearest.

use super::harness::{assert_refused, devicetaint};
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

#[test]
fn help_of_a_command_is_the_same_in_every_spelling() {
    for command in ["preview", "devices", "drain status"] {
        let flag = devicetaint(&format!("{command} --help"));
        let word = devicetaint(&format!("help {command}"));
        assert_eq!((flag.code, word.code), (0, 0));
        assert_eq!(flag.stdout, word.stdout, "{command}");
    }
    assert_eq!(devicetaint("help").stdout, devicetaint("--help").stdout);
    let options = devicetaint("options").stdout;
    assert!(options.contains("-A, --all-namespaces"), "{options}");
}

#[test]
fn topics_are_explained() {
    for (topic, word) in [
        ("exit-codes", "130"),
        ("hazards", "pdb-violated"),
        ("guards", "claims.unplaceable.together"),
    ] {
        let run = devicetaint(&format!("help {topic}"));
        assert_eq!(run.code, 0, "{topic}");
        assert!(run.stdout.contains(word), "{topic}: {}", run.stdout);
    }
}

#[test]
fn misspelt_words_get_the_nearest() {
    assert_refused(
        devicetaint,
        &[
            ("help exitcodes", 2, "exit-codes"),
            ("help me", 2, "preview"),
            ("help drain nothing", 2, "\"nothing\""),
            ("help evict", 2, "`drain`"),
            ("previw", 2, "'preview'"),
            ("taint gpu.example.com", 2, "`add`"),
            ("devices --form examples/cluster.yaml", 2, "'--from'"),
            ("preview gpu.example.com -o jsn", 2, "'json'"),
            ("devices -o html", 2, "'html'"),
            (
                "add gpu.example.com a.example.com/k:None --from examples/cluster.yaml",
                2,
                "--from",
            ),
            (
                "preview gpu.example.com -n serving --from examples/cluster.yaml",
                2,
                "--namespace",
            ),
        ],
    );
}
