//! Observations of a unit while it is drained.

use crate::cluster::{Detail, read_optional, read_workloads};
use crate::commands::work::cluster_view::ClusterView;
use crate::commands::work::connect::{Live, failed};
use crate::decide::drain::{
    IdleWait, UnitFacts, as_evicting, is_raised, pods_of, restart_states, rule_change,
    tainted_since, unread, workload_states,
};
use crate::error::Failure;
use crate::model::{DeviceTaintRule, PodDisruptionBudget};

/// Facts about a unit now; `made` are its rules as this run left them, and `wait` observes its devices.
pub(super) async fn look(
    live: &Live,
    made: &[DeviceTaintRule],
    wait: IdleWait,
) -> Result<UnitFacts, Failure> {
    let view = ClusterView::of(live.clone(), Detail::Names).await?;
    let change = rule_change(made, view.rules()?);
    let proposed = as_evicting(made, view.now);
    let mut view = view.with_pods_of(&proposed).await?;
    let Live { client, served } = live;
    // Budgets decide the order of pods, and workloads show whether their pods are ready.
    let read = read_optional::<PodDisruptionBudget>(client, served, view.reading).await;
    let read = Box::pin(read_workloads(client, served, read.map_err(failed)?)).await;
    view.reading = read.map_err(failed)?;
    let pods = pods_of(&view.impact(&proposed), &view.basis());
    let reading = &view.reading;
    let (workloads, unknown) = workload_states(&reading.snapshot.pods, reading);
    Ok(UnitFacts {
        change,
        is_raised: is_raised(made),
        pods,
        workloads,
        restarts: restart_states(&reading.snapshot.pods, reading, tainted_since(made)),
        unread: unread(reading).into_iter().chain(unknown).collect(),
        wait,
    })
}
