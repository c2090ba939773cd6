//! How the run of a unit begins.

use std::collections::BTreeSet;

use super::recorded_workloads::recorded_workloads;
use super::state::UnitProgress;
use super::unit_limits::UnitLimits;
use super::unit_run::UnitRun;
use crate::model::{DeviceTaintRule, Effect, Uid};

/// The run of a unit with these rules, by what an earlier run has recorded on them; `restarted` are the owners whose pods
/// are replaced by a restart.
#[must_use]
pub fn begun_run(
    limits: UnitLimits,
    progress: &UnitProgress,
    rules: &[DeviceTaintRule],
    restarted: BTreeSet<Uid>,
) -> UnitRun {
    let run = if progress.has_begun() {
        UnitRun::resumed(limits)
    } else {
        UnitRun::new(limits)
    };
    let run = run.recorded(&recorded_workloads(rules));
    let mut run = run.restarting(restarted);
    // A rule of a new device, or of one whose rule alone another user escalated: the pods say which rules evict them.
    if rules
        .iter()
        .all(|rule| rule.taint.effect == Effect::NoExecute)
    {
        run.raised();
    }
    run
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::decide::drain::{Inclusions, Means};
    use crate::decide::testing::named;

    const LIMITS: UnitLimits = UnitLimits {
        means: Means::Auto,
        included: Inclusions {
            single_replicas: false,
            jobs: false,
            unmanaged: false,
            daemon_sets: false,
        },
        force_after: None,
        timeout: Duration::from_secs(60),
        accepts_unplaceable: false,
    };

    #[test]
    fn a_run_goes_on_with_a_unit_that_was_begun_and_evicts_by_taint_if_all_rules_do() {
        let new = || UnitRun::new(LIMITS);
        let raised = |mut run: UnitRun| {
            run.raised();
            run
        };
        for (progress, effects, expected) in [
            (UnitProgress::Waiting, ["NoSchedule", "NoSchedule"], new()),
            (UnitProgress::Waiting, ["NoExecute", "NoSchedule"], new()),
            (
                UnitProgress::Waiting,
                ["NoExecute", "NoExecute"],
                raised(new()),
            ),
            (
                UnitProgress::Draining,
                ["NoSchedule", "NoSchedule"],
                UnitRun::resumed(LIMITS),
            ),
            (
                UnitProgress::Blocked,
                ["NoSchedule", "NoSchedule"],
                UnitRun::resumed(LIMITS),
            ),
        ] {
            let rules = effects.map(|effect| named("a", effect));
            let owner = BTreeSet::from([Uid::from("web")]);
            let run = begun_run(LIMITS, &progress, &rules, owner.clone());
            let expected = expected.restarting(owner);
            assert_eq!(
                format!("{run:?}"),
                format!("{expected:?}"),
                "{progress:?} {effects:?}"
            );
        }
    }
}
