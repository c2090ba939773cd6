//! Differences between versions of Kubernetes.

use super::explained::explained;
use crate::assess::defects::{releases, upstream};
use crate::engine::{Defect, Semantics};

/// Something that a version of Kubernetes does, or not.
type Behaviour = fn(&Semantics) -> bool;

/// The table of what each version does.
pub(super) fn versions() -> String {
    let known = Semantics::RELEASES.map(|release| (release, Semantics::of(release)));
    let rows: [(&str, Behaviour); 6] = [
        ("effect change renews timeAdded", |it| {
            it.server_renews_time_added
        }),
        ("no effect tolerates NoExecute", |it| {
            it.effectless_tolerates_no_execute
        }),
        ("capacity names: driver optional", |it| it.allocates_as_1_38),
        ("extended-resource pods evicted", |it| {
            it.evicts_extended_resources
        }),
        ("no deviceSelector: blocks all", |it| it.nil_selector_blocks),
        ("old reservedFor delays eviction", |it| {
            it.stale_reservation_hides
        }),
    ];
    let [.., last] = Semantics::RELEASES;
    // The first column is as wide as its longest row, so that the table fits 80 columns.
    let mut text = format!(
        "Kubernetes {} and later are supported. A version without a patch number is\ntreated \
         like its first release, and a version newer than {last} like\n{last}. In 1.34, only \
         devices, explain, plan and snapshot work, with the\nbehavior of {} and without predicted \
         evictions.\n\n{:31}",
        Semantics::OLDEST,
        Semantics::OLDEST,
        ""
    );
    for (version, _) in &known {
        text.push_str(&format!("{:>7}", version.to_string()));
    }
    for (what, holds) in rows {
        text.push_str(&format!("\n{what:31}"));
        for (_, semantics) in &known {
            let shown = match semantics {
                Some(semantics) if holds(semantics) => "yes",
                Some(_) => "-",
                // A release of which this program has no semantics.
                None => "?",
            };
            text.push_str(&format!("{shown:>7}"));
        }
    }
    text.push_str(
        "\n\nIf a rule has no deviceSelector, some versions block the allocation of all\ndevices. For old \
        reservedFor entries, see kubernetes#135686 below.\n\nThe feature gate DRAWorkloadResourceClaims has existed since 1.36, and is \
        off\nby default. With it, a claim that is reserved for a PodGroup is reserved for all\npods \
        of the group. The gate counts as enabled if a claim is reserved for a\nPodGroup.\n",
    );
    text.push_str(&defects());
    text
}

/// The table of what releases do wrong.
fn defects() -> String {
    let width = Defect::ALL
        .map(|defect| releases(defect).len())
        .into_iter()
        .max()
        .unwrap_or_default();
    let line = |defect: Defect| {
        // Padded, so that all meanings begin in the same column.
        let term = format!("{:width$}", releases(defect));
        let meaning = format!("{} ({})", defect.meaning(), upstream(defect));
        explained(&term, &meaning)
    };
    let lines: String = Defect::ALL.into_iter().map(line).collect();
    format!(
        "\nKnown defects. For releases in which any rule can break kube-scheduler, commands\nthat create rules or raise their effect need --abort-if or --expect beside --yes.\n\n{lines}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_where_the_engine_does() {
        let text = versions();
        let line = |begin: &str| {
            let found = text.lines().find(|line| line.starts_with(begin));
            let words = found.unwrap_or_default().split_whitespace();
            words.rev().take(5).map(str::to_owned).collect::<Vec<_>>()
        };
        let newest_first = |known: [&str; 5]| known.map(str::to_owned).to_vec();
        assert_eq!(
            line("effect change"),
            newest_first(["yes", "yes", "yes", "yes", "yes"])
        );
        assert_eq!(
            line("extended-resource pods"),
            newest_first(["yes", "yes", "-", "-", "-"])
        );
    }
}
