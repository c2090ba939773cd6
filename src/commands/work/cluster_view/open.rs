//! Where a view comes from: files or a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::view::{ClusterView, ViewRequest, ViewWarnings};
use crate::cluster::{self, ApiClient, Detail, EarlyInputs, Purpose, ReadMore, discover};
use crate::commands::clock;
use crate::commands::context::Context;
use crate::commands::work::connect::{Live, connect_client, failed, semantics_for};
use crate::commands::work::source::{Source, read_instead};
use crate::decide::choice::Choice;
use crate::decide::version::{self, doubts_about, with_evident_gates};
use crate::engine::Semantics;
use crate::error::Failure;
use crate::model::{Reading, Warning};

impl ClusterView {
    /// Reads the files that were named, or connects and reads the cluster without its pods; of each object as
    /// much as is `wanted`.
    pub(crate) async fn open(
        source: &Source,
        context: &Context,
        wanted: Detail,
    ) -> Result<Self, Failure> {
        Self::open_as(source, context, ViewRequest::new(source.kubernetes, wanted)).await
    }

    /// As [`ClusterView::open`], for an answer about `choice` that also needs budgets, device classes and nodes: they are
    /// read at the same time, and all pods with claims if whole drivers are selected.
    pub(crate) async fn open_for_impact(
        source: &Source,
        context: &Context,
        wanted: Detail,
        choice: &Choice,
    ) -> Result<Self, Failure> {
        let more = if choice.has_whole_driver() {
            ReadMore::EarlyInputsAndPods
        } else {
            ReadMore::EarlyInputs
        };
        let request = ViewRequest {
            more,
            ..ViewRequest::new(source.kubernetes, wanted)
        };
        Self::open_as(source, context, request).await
    }

    async fn open_as(
        source: &Source,
        context: &Context,
        request: ViewRequest,
    ) -> Result<Self, Failure> {
        if source.from.is_empty() {
            let client = connect_client(context).await?;
            return Self::of_client(client, request).await;
        }
        let reading = read_instead(&source.from, context, cluster::read).await?;
        Self::of_files(reading, source, request, context)
    }

    /// As [`ClusterView::open`], with the rules by name as they are served or in the files, with all their fields.
    pub(crate) async fn open_with_objects(
        source: &Source,
        context: &Context,
    ) -> Result<(Self, BTreeMap<String, Value>), Failure> {
        let request = ViewRequest::new(source.kubernetes, Detail::Names);
        if !source.from.is_empty() {
            let read = read_instead(&source.from, context, cluster::read_with_rules);
            let (reading, objects) = read.await?;
            return Ok((Self::of_files(reading, source, request, context)?, objects));
        }
        let client = connect_client(context).await?;
        let served = Box::pin(discover(&client)).await.map_err(failed)?;
        let live = Live { client, served };
        let semantics = live.semantics(source.kubernetes)?;
        let Live { client, served } = &live;
        let read = cluster::read_devices_with_objects(client, served).await;
        let (reading, objects, odd) = read.map_err(failed)?;
        let mut view = Self::of_cluster(reading, semantics, live, request);
        view.view_warnings.doubts.extend(
            odd.iter()
                .map(|error| version::odd_object(&error.to_string())),
        );
        Ok((view, objects))
    }

    /// Reads a cluster that is connected already, without its pods; of each object as much as is `wanted`.
    pub(crate) async fn of(live: Live, wanted: Detail) -> Result<Self, Failure> {
        Self::of_live(live, ViewRequest::new(None, wanted)).await
    }

    async fn of_client(client: ApiClient, request: ViewRequest) -> Result<Self, Failure> {
        // On the heap: several lists are read in it, and every command does so.
        let served = Box::pin(discover(&client)).await.map_err(failed)?;
        Box::pin(Self::of_live(Live { client, served }, request)).await
    }

    pub(super) async fn of_live(live: Live, request: ViewRequest) -> Result<Self, Failure> {
        let semantics = live.semantics(request.kubernetes)?;
        let read =
            cluster::read_devices_and(&live.client, &live.served, request.wanted, request.more);
        let (reading, early) = read.await.map_err(failed)?;
        Ok(Self::of_cluster(reading, semantics, live, request).with_early(early))
    }

    fn with_early(self, early: Option<EarlyInputs>) -> Self {
        Self {
            early: early.map(Arc::new),
            ..self
        }
    }

    fn of_cluster(
        mut reading: Reading,
        semantics: Semantics,
        live: Live,
        request: ViewRequest,
    ) -> Self {
        let semantics = with_evident_gates(semantics, &reading);
        let mut doubts = doubts_about(&semantics, live.served.version, &reading);
        // This machine's clock is better than none, and causes a warning.
        let now = reading.observed_at.unwrap_or_else(|| {
            doubts.push(version::clock_of_this_machine());
            clock::now()
        });
        reading.warnings.extend_from_slice(&doubts);
        let view_warnings = ViewWarnings {
            doubts,
            live: Some(live),
            guessed_time: None,
        };
        Self::new(reading, semantics, now, view_warnings, request)
    }

    fn of_files(
        mut reading: Reading,
        source: &Source,
        request: ViewRequest,
        context: &Context,
    ) -> Result<Self, Failure> {
        let purpose = context.connection.purpose;
        // Devices, their taints and their claims have no times in tables.
        let is_timeless = purpose == Some(Purpose::Devices);
        let semantics = semantics_for(purpose, source.kubernetes, reading.version)?;
        let semantics = with_evident_gates(semantics, &reading);
        if request.wanted == Detail::Names {
            // Objects that a live cluster is not asked for cannot be odd.
            let concerns_names = |warning: &Warning| warning.code != "unknown-attribute-type";
            reading.warnings.retain(concerns_names);
        }
        let doubts = doubts_about(&semantics, reading.version, &reading);
        reading.warnings.extend_from_slice(&doubts);
        // The clock of this machine does not show when the files were saved.
        let now = match source.now.or(reading.observed_at) {
            Some(now) => now,
            None if is_timeless => Timestamp::UNIX_EPOCH,
            None => {
                let text = "the files contain no timestamp, so the times of evictions are unknown";
                return Err(Failure::usage(text)
                    .hint("set the time of the report: --now 2026-11-21T01:00:00Z"));
            }
        };
        let is_guessed = source.now.is_none() && reading.is_time_guessed && !is_timeless;
        let view_warnings = ViewWarnings {
            doubts,
            live: None,
            guessed_time: is_guessed.then_some(now),
        };
        Ok(Self::new(reading, semantics, now, view_warnings, request))
    }
}
