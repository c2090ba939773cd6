//! What `drain` refuses before it asks any cluster.

use super::harness::devicetaint;

#[test]
fn what_is_wrong_with_a_drain_is_found_without_a_cluster() {
    for (line, said) in [
        ("drain", "no devices selected"),
        ("drain --yes", "no devices selected"),
        (
            "drain --node node-7 status",
            "`drain status` only shows drains",
        ),
        ("drain --node a --include pets", "invalid value 'pets'"),
        ("drain --node a --unit rack", "invalid value 'rack'"),
        ("drain --node a --timeout soon", "soon"),
        ("drain --node a --abort-if weather>3", "weather"),
        ("restore", "DRAIN|NODE|POOL|DEVICE"),
    ] {
        let run = devicetaint(line);
        assert_eq!(run.code, 2, "{line}: {run:#?}");
        assert!(run.stderr.contains(said), "{line}: {run:#?}");
    }
}
