//! Differences between versions of Kubernetes, as a table of the book.

use kubectl_devicetaint::engine::Semantics;

type Behavior = (&'static str, fn(&Semantics) -> bool);

const BEHAVIORS: [Behavior; 6] = [
    ("a change of the effect renews `timeAdded`", |it| {
        it.server_renews_time_added
    }),
    ("a toleration without effect tolerates NoExecute", |it| {
        it.effectless_tolerates_no_execute
    }),
    (
        "names of capacities with and without the driver are equal",
        |it| it.allocates_as_1_38,
    ),
    ("pods with extended resources are evicted", |it| {
        it.evicts_extended_resources
    }),
    ("a rule without `deviceSelector` blocks all devices", |it| {
        it.nil_selector_blocks
    }),
    (
        "outdated entries of `reservedFor` delay evictions (kubernetes#135686)",
        |it| it.stale_reservation_hides,
    ),
];

/// The table, with a column for each release in which something changed.
pub fn table() -> String {
    let releases = Semantics::RELEASES.map(|release| {
        let semantics = Semantics::of(release).expect("a release with semantics");
        (release.to_string(), semantics)
    });
    let head: String = releases
        .iter()
        .map(|(name, _)| format!(" {name} |"))
        .collect();
    let rule: String = releases.iter().map(|_| "---|").collect();
    let rows = BEHAVIORS.iter().map(|(what, holds)| {
        let cells = releases
            .iter()
            .map(|(_, semantics)| match holds(semantics) {
                true => " yes |",
                false => " - |",
            });
        format!("| {what} |{}\n", cells.collect::<String>())
    });
    format!(
        "| behavior |{head}\n|---|{rule}\n{}",
        rows.collect::<String>()
    )
}
