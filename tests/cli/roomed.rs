//! What `make-room` refuses before it asks any cluster.

use super::harness::devicetaint;

#[test]
fn what_is_wrong_with_making_room_is_found_without_a_cluster() {
    for (line, said) in [
        ("make-room", "<POD>"),
        ("make-room node/a", "is not a pod"),
        ("make-room claim/a", "is not a pod"),
        ("make-room pod/a --timeout soon", "soon"),
        ("make-room pod/a --abort-if weather>3", "weather"),
        ("make-room pod/a -o table", "invalid value 'table'"),
        (
            "make-room pod/a --dry-run=perhaps",
            "invalid value 'perhaps'",
        ),
    ] {
        let run = devicetaint(line);
        assert_eq!(run.code, 2, "{line}: {run:#?}");
        assert!(run.stderr.contains(said), "{line}: {run:#?}");
    }
}
