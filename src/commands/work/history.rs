//! What rules have done: what it takes to tell that.

use super::cluster_view::{ClusterView, Pods, ReadState};
use super::connect::{Live, failed};
use super::nodes::gap_of;
use crate::cluster::{eviction_events, read_optional};
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::{
    DaemonSet, Deployment, DeviceTaintRule, Event, Gap, Job, Kind, ReplicaSet, StatefulSet,
};
use crate::report::history::{HistorySources, RuleHistory};

/// What each of `rules` has done, in their order, with what could not be read for that.
pub(crate) async fn histories(
    rules: &[DeviceTaintRule],
    view: &ClusterView<impl ReadState>,
) -> Result<(Vec<RuleHistory>, Vec<Gap>), Failure> {
    let sources = Box::pin(sources_of(view)).await?;
    Ok((describe(rules, &sources), sources.gaps))
}

/// What was read to tell what rules have done.
pub(crate) struct Sources {
    events: Vec<Event>,
    /// With all pods that use claims, and what makes pods.
    pub(crate) view: ClusterView<Pods>,
    /// What could not be read.
    pub(crate) gaps: Vec<Gap>,
}

/// What each of `rules` has done, in their order.
pub(crate) fn describe(rules: &[DeviceTaintRule], sources: &Sources) -> Vec<RuleHistory> {
    let view = &sources.view;
    let histories = rules.iter().map(|rule| {
        let proposed = [ProposedTaint::of_rule(rule, view.now)];
        RuleHistory::new(&HistorySources {
            rule,
            impact: &view.impact(&proposed),
            events: &sources.events,
            reading: &view.reading,
            now: view.now,
        })
    });
    histories.collect()
}

/// The evictions that were reported, with all pods that use claims and what makes pods; files have all
/// already.
pub(crate) async fn sources_of(view: &ClusterView<impl ReadState>) -> Result<Sources, Failure> {
    let Some(Live { client, served }) = view.live() else {
        // That there are none in the input stands in the history itself.
        return Ok(Sources {
            events: view.snapshot().events.clone(),
            view: view.clone().with_all_pods().await?.0,
            gaps: Vec::new(),
        });
    };
    let events = match eviction_events(client, served).await {
        Ok(told) => told.facts,
        // Without events no eviction is known, so that the history is about no pods and nothing else has to be read.
        Err(error) => {
            let gaps = vec![gap_of("events", &error)];
            let mut view = view.clone().with_pods(|_| false).await?;
            view.reading.gaps.extend(gaps.iter().cloned());
            return Ok(Sources {
                events: Vec::new(),
                view,
                gaps,
            });
        }
    };
    let (mut view, denied) = view.clone().with_all_pods().await?;
    let mut gaps = Vec::from_iter(denied);
    let mut reading = view.reading;
    reading.known.insert(Kind::Event);
    // What the reading lacked before is told with the answer; these are what telling the history adds.
    let before = reading.gaps.len();
    let reading = read_optional::<ReplicaSet>(client, served, reading).await;
    let reading = read_optional::<StatefulSet>(client, served, reading.map_err(failed)?).await;
    let reading = read_optional::<DaemonSet>(client, served, reading.map_err(failed)?).await;
    let reading = read_optional::<Job>(client, served, reading.map_err(failed)?).await;
    // An old ReplicaSet of a Deployment desires no pods, however many the Deployment desires.
    let reading = read_optional::<Deployment>(client, served, reading.map_err(failed)?).await;
    view.reading = reading.map_err(failed)?;
    gaps.extend(view.reading.gaps.iter().skip(before).cloned());
    Ok(Sources { events, view, gaps })
}
