//! Force deletions in units that wait for their turn: their own wait begins later, when the API shows the devices as free.

use std::future::pending;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::board::Board;
use super::order::{DrainOrder, DrainRun, SETTLE};
use crate::cluster::Detail;
use crate::commands::work::cluster_view::ClusterView;
use crate::commands::work::connect::failed;
use crate::commands::work::mutation_context::MutationContext;
use crate::commands::work::observer::RuleObserver;
use crate::commands::work::resolve_rules::by_name;
use crate::engine::settle::{Freshness, Goal, Patience, Settle, WaitStep};
use crate::error::Failure;

/// How long is waited before everything is read again.
const PAUSE: Duration = Duration::from_secs(5);

impl DrainOrder<'_> {
    /// Notes on the board which devices of waiting units a pod has left without its node having been seen to release them.
    /// Does not end.
    pub(super) async fn watch_waiting(
        &self,
        units: &[DrainRun],
        board: &Board<'_>,
        mutation: &MutationContext,
    ) {
        loop {
            let waiting = board.end().waiting;
            let waits = |run: &&DrainRun| waiting.contains(&run.unit.name);
            let names = units.iter().filter(waits).flat_map(|run| run.rules.clone());
            let names: Vec<String> = names.collect();
            if names.is_empty() {
                return pending().await;
            }
            if let Err(failure) = Box::pin(self.watch(&names, board, mutation)).await {
                self.context.printer.warn(&format!(
                    "force-deleted pods of units that wait for their turn are not detected at the moment, because the pods cannot be watched: {failure}"
                ));
            }
            sleep(PAUSE).await;
        }
    }

    /// Watches until the devices of one of the rules no longer have to become idle, such as after its removal.
    async fn watch(
        &self,
        names: &[String],
        board: &Board<'_>,
        mutation: &MutationContext,
    ) -> Result<(), Failure> {
        let rules = by_name(names, &mutation.rules).await;
        let rules = rules.map_err(failed)?;
        let live = self.live.clone();
        let view = Box::pin(ClusterView::of(live, Detail::Attributes)).await?;
        let patience = Patience {
            settle: SETTLE,
            timeout: Duration::MAX,
        };
        let mut settle = Settle::new(Goal::Idle, &rules, patience);
        let mut observer = RuleObserver::on_pods(view, &rules, Goal::Idle)?;
        let began = Instant::now();
        loop {
            let progress = observer.view(Freshness::Kept, &mut settle, began).await?;
            board.note_unreleased(&progress.not_released, observer.hardware());
            if matches!(progress.step, WaitStep::Never(_)) {
                return Ok(());
            }
            observer.rest(PAUSE).await?;
        }
    }
}
