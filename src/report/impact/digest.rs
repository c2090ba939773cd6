//! When are two answers the same?

use sha2::{Digest, Sha256};

use super::view::{Pod, Selector, TaintImpact};

/// `sha256:` and the hash of what would be hit: selectors and taints without their times, pods by
/// UID, and their outcomes. The order of the question does not matter.
///
/// What is hashed is text: one line per taint and per pod, sorted; in a line, each field with its
/// length in bytes before it (`3:abc`), and `-` for one that is null.
pub(super) fn digest(taints: &[TaintImpact], pods: &[Pod]) -> String {
    let mut lines: Vec<String> = taints.iter().map(taint_line).collect();
    lines.sort_unstable();
    let mut pod_lines: Vec<String> = pods.iter().map(pod_line).collect();
    pod_lines.sort_unstable();
    lines.append(&mut pod_lines);

    let hash = Sha256::digest(lines.join("\n"));
    let hexadecimal: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hexadecimal}")
}

fn taint_line(impact: &TaintImpact) -> String {
    let taint = &impact.taint;
    let selector = impact.selector.as_ref().map(selector_line);
    fields([
        Some("taint"),
        selector.as_deref(),
        Some(&taint.key),
        Some(&taint.value),
        Some(&taint.effect),
    ])
}

fn selector_line(selector: &Selector) -> String {
    let names = [
        selector.driver.as_deref(),
        selector.pool.as_deref(),
        selector.device.as_deref(),
        selector.device_class_name.as_deref(),
    ];
    fields(
        names
            .into_iter()
            .chain(selector.expressions.iter().map(|text| Some(text.as_str()))),
    )
}

fn pod_line(pod: &Pod) -> String {
    fields([Some("pod"), Some(&pod.uid), Some(pod.outcome.as_str())])
}

fn fields<'a>(fields: impl IntoIterator<Item = Option<&'a str>>) -> String {
    let field = |field: Option<&str>| match field {
        Some(text) => format!("{}:{text}", text.len()),
        None => "-".to_owned(),
    };
    fields.into_iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use crate::model::Effect;
    use crate::report::testing::{self, Example};

    fn digest_after(change: impl FnOnce(&mut Example)) -> String {
        let mut example = Example::new();
        change(&mut example);
        example.report().metadata.digest
    }

    #[test]
    fn a_digest_is_stable() {
        insta::assert_snapshot!(Example::new().report().metadata.digest, @"sha256:4298e0c95cb494cbafa0fd1de5fd1d934e6c9e9c4e0db2232095be662c740e61");
    }

    #[test]
    fn what_is_hit_changes_the_digest_and_nothing_else_does() {
        let digest = digest_after(|_| ());
        let same = [
            (
                "time",
                digest_after(|example| example.considered.taint.time_added = None),
            ),
            (
                "rule",
                digest_after(|example| example.considered.rule = Some("named".into())),
            ),
            (
                "reading",
                digest_after(|example| example.reading.resource_versions.clear()),
            ),
        ];
        for (name, other) in same {
            assert_eq!(other, digest, "{name}");
        }
        let different = [
            (
                "key",
                digest_after(|example| example.considered.taint.key.push('x')),
            ),
            (
                "value",
                digest_after(|example| example.considered.taint.value.push('x')),
            ),
            (
                "effect",
                digest_after(|example| example.considered.taint.effect = Effect::NoSchedule),
            ),
            (
                "no selector",
                digest_after(|example| example.considered.selector = None),
            ),
            (
                "selector",
                digest_after(|example| {
                    example.considered.selector = testing::considered(None).selector;
                    example.considered.selector.as_mut().unwrap().device = None;
                }),
            ),
        ];
        for (name, other) in different {
            assert_ne!(other, digest, "{name}");
        }
    }

    #[test]
    fn who_is_hit_and_how_changes_the_digest() {
        let report = Example::new().report();
        let digest = |pods: &[_]| super::digest(&report.taints, pods);
        let whole = digest(&report.pods);
        assert_ne!(digest(&report.pods[1..]), whole);
        let mut other = report.pods.clone();
        other[0].outcome = super::super::Outcome::NotEvicted;
        assert_ne!(digest(&other), whole);
        other.clone_from(&report.pods);
        other.reverse();
        assert_eq!(digest(&other), whole);
    }
}
