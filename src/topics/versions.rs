//! What the versions of Kubernetes do differently.

use crate::engine::Semantics;

/// Something that a version of Kubernetes does, or not.
type Behaviour = fn(&Semantics) -> bool;

/// The table of what each version does.
pub(super) fn versions() -> String {
    let known = Semantics::RELEASES.map(|release| (release, Semantics::of(release)));
    let rows: [(&str, Behaviour); 11] = [
        ("tolerations spare pods", |it| it.copies_tolerations),
        ("effect None", |it| it.has_effect_none),
        ("the controller reports on rules", |it| it.has_condition),
        ("a new effect begins a new time", |it| {
            it.server_renews_time_added
        }),
        ("unpublished devices are reached", |it| {
            it.reaches_unpublished
        }),
        ("extended resources are evicted", |it| {
            it.evicts_extended_resources
        }),
        ("rules choose by class and CEL", |it| {
            it.selects_by_expression
        }),
        ("no selector evicts everybody", |it| it.nil_selector_evicts),
        ("no selector blocks every device", |it| {
            it.nil_selector_blocks
        }),
        ("an unknown effect blocks", |it| it.unknown_effect_blocks),
        ("old reservations hide pods", |it| {
            it.stale_reservation_hides
        }),
    ];
    let mut text = format!(
        "Device taints came with Kubernetes {}. What is newer than {} is taken to\nbehave like it.\n\n{:31}",
        Semantics::OLDEST,
        Semantics::NEWEST,
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
                None => "?",
            };
            text.push_str(&format!("{shown:>7}"));
        }
    }
    text.push_str("\n\nDRAWorkloadResourceClaims, off by default and unknown before 1.36, makes\nreservations for PodGroups count for their pods. Where it is on, say\n--feature-gates DRAWorkloadResourceClaims=true.\n");
    text
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
            words.rev().take(7).map(str::to_owned).collect::<Vec<_>>()
        };
        let newest_first = |known: [&str; 7]| known.map(str::to_owned).to_vec();
        assert_eq!(
            line("effect None"),
            newest_first(["yes", "yes", "yes", "yes", "yes", "-", "-"])
        );
        assert_eq!(
            line("extended resources"),
            newest_first(["yes", "-", "-", "-", "-", "-", "-"])
        );
    }
}
