//! What rules have done: what it takes to tell that.

use super::cluster_view::ClusterView;
use super::connect::{Live, failed};
use super::nodes::gap_of;
use crate::cluster::{PodQuery, PodQueryResult, eviction_events, read_optional};
use crate::engine::ProposedTaint;
use crate::error::Failure;
use crate::model::{
    DaemonSet, DeviceTaintRule, Event, Gap, Job, Kind, Reading, ReplicaSet, StatefulSet,
};
use crate::report::history::{HistorySources, RuleHistory};

/// What each of `rules` has done, in their order, with what could not be read for that.
pub(crate) async fn histories(
    rules: &[DeviceTaintRule],
    view: &ClusterView,
) -> Result<(Vec<RuleHistory>, Vec<Gap>), Failure> {
    let sources = Box::pin(sources_of(view)).await?;
    Ok((describe(rules, view, &sources), sources.gaps))
}

/// What was read to tell what rules have done.
pub(crate) struct Sources {
    events: Vec<Event>,
    /// With all pods that use claims, and what makes pods.
    pub(crate) reading: Reading,
    /// What could not be read.
    pub(crate) gaps: Vec<Gap>,
}

/// What each of `rules` has done, in their order.
pub(crate) fn describe(
    rules: &[DeviceTaintRule],
    view: &ClusterView,
    sources: &Sources,
) -> Vec<RuleHistory> {
    let mut view = view.clone();
    view.reading = sources.reading.clone();
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
pub(crate) async fn sources_of(view: &ClusterView) -> Result<Sources, Failure> {
    let reading = view.reading.clone();
    let Some(Live { client, served }) = view.live() else {
        // That there are none in the input stands in the history itself.
        return Ok(Sources {
            events: reading.snapshot.events.clone(),
            reading,
            gaps: Vec::new(),
        });
    };
    let events = match eviction_events(client, served).await {
        Ok(told) => told.facts,
        // Without events no eviction is known, and nothing else has to be read.
        Err(error) => {
            let gaps = vec![gap_of("events", &error)];
            let mut reading = reading;
            reading.gaps.extend(gaps.iter().cloned());
            return Ok(Sources {
                events: Vec::new(),
                reading,
                gaps,
            });
        }
    };
    let mut gaps = Vec::new();
    let mut reading = reading;
    reading.known.insert(Kind::Event);
    let reading = match view.find_pods(PodQuery::Chosen(None, &|_| true)).await? {
        PodQueryResult::These(pods, _) => {
            let mut view = view.clone().with_found(&pods);
            // All pods were asked for: one that is not among them is gone.
            view.reading.known.extend([Kind::Pod, Kind::Event]);
            view.reading
        }
        PodQueryResult::Denied(why) => {
            gaps.push(Gap::of(Kind::Pod, &why));
            reading
        }
        PodQueryResult::WithoutClaims | PodQueryResult::Gone => reading,
    };
    // What the reading lacked before is told with the answer; these are what telling the history adds.
    let before = reading.gaps.len();
    let reading = read_optional::<ReplicaSet>(client, served, reading).await;
    let reading = read_optional::<StatefulSet>(client, served, reading.map_err(failed)?).await;
    let reading = read_optional::<DaemonSet>(client, served, reading.map_err(failed)?).await;
    let reading = read_optional::<Job>(client, served, reading.map_err(failed)?).await;
    let reading = reading.map_err(failed)?;
    gaps.extend(reading.gaps.iter().skip(before).cloned());
    Ok(Sources {
        events,
        reading,
        gaps,
    })
}
