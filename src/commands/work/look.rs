//! A cluster whose rules are about to be changed.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::connect::{Live, connect, failed, server_time};
use super::source::{Version, detail};
use crate::cluster::{self, ClusterError, Rules};
use crate::commands::context::Context;
use crate::engine::{self, ConsideredTaint, Impact, Semantics};
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceId, DeviceTaintRule, DriverName, Reading};
use crate::naming::nearest::nearest;
use crate::report::impact::Limits;
use crate::report::{Basis, Guard, ImpactReport, Wholes};

/// The cluster as it was when it was looked at.
pub(crate) struct Scene {
    pub(crate) live: Live,
    pub(crate) rules: Rules,
    /// Everything but the pods.
    pub(crate) reading: Reading,
    pub(crate) semantics: Semantics,
    /// The server's clock at that time.
    pub(crate) now: Timestamp,
}

impl Scene {
    /// Connects and reads devices, claims and rules.
    pub(crate) async fn open(version: &Version, context: &Context) -> Result<Self, Failure> {
        let live = connect(context).await?;
        Self::of(live, version).await
    }

    /// The same on a connection that is there already.
    pub(crate) async fn of(live: Live, version: &Version) -> Result<Self, Failure> {
        let rules = Rules::new(&live.client, &live.served).map_err(failed)?;
        let semantics = version.semantics(live.served.version)?;
        let reading = read_devices(&live, &semantics).await?;
        let now = server_time(&live)?;
        Ok(Self {
            live,
            rules,
            reading,
            semantics,
            now,
        })
    }

    /// Everything but the pods, as it is now.
    pub(crate) async fn devices(&self) -> Result<Reading, Failure> {
        read_devices(&self.live, &self.semantics).await
    }

    /// The cluster as it is now.
    pub(crate) async fn again(&self, version: &Version) -> Result<Self, Failure> {
        let live = Live {
            client: self.live.client.clone(),
            served: self.live.served.clone(),
        };
        Self::of(live, version).await
    }

    /// The rule of that name, as it was read.
    pub(crate) fn rule(&self, name: &str) -> Result<&DeviceTaintRule, Failure> {
        rule_named(name, &self.reading.snapshot.rules)
    }

    /// The devices that `considered` selects.
    pub(crate) fn selected(&self, considered: &[ConsideredTaint]) -> BTreeSet<DeviceId> {
        self.selected_in(&self.reading, considered)
    }

    /// The same in another reading.
    pub(crate) fn selected_in(
        &self,
        reading: &Reading,
        considered: &[ConsideredTaint],
    ) -> BTreeSet<DeviceId> {
        self.impact(reading, considered).selected()
    }

    /// The reading with the pods that use the devices that `considered` selects.
    pub(crate) async fn with_pods(
        &self,
        considered: &[ConsideredTaint],
    ) -> Result<Reading, ClusterError> {
        let selected = self.selected(considered);
        self.read_pods(|id| selected.contains(id)).await
    }

    async fn read_pods(
        &self,
        selects: impl Fn(&DeviceId) -> bool,
    ) -> Result<Reading, ClusterError> {
        let Live { client, served } = &self.live;
        cluster::read_pods(client, served, self.reading.clone(), selects).await
    }

    /// What `considered` does to what was read.
    pub(crate) fn impact<'a>(
        &self,
        reading: &'a Reading,
        considered: &'a [ConsideredTaint],
    ) -> Impact<'a> {
        engine::preview(&reading.snapshot, considered, self.now, &self.semantics)
    }

    /// Whom the considered taints hit.
    pub(crate) async fn report(
        &self,
        considered: &[ConsideredTaint],
        guards: &[Guard],
    ) -> Result<ImpactReport, Failure> {
        let selected = self.selected(considered);
        let drivers: BTreeSet<&DriverName> = selected.iter().map(|id| &id.driver).collect();
        let whole = guards.iter().any(Guard::needs_whole);
        let reading = self
            .read_pods(|id| {
                if whole {
                    drivers.contains(&id.driver)
                } else {
                    selected.contains(id)
                }
            })
            .await
            .map_err(failed)?;
        let impact = self.impact(&reading, considered);
        let usage = engine::usage(&reading.snapshot, &engine::drivers_of(&impact));
        let basis = Basis {
            reading: &reading,
            semantics: &self.semantics,
            now: self.now,
        };
        let wholes = Wholes {
            pods: usage.pods,
            devices: usage.devices,
        };
        Ok(ImpactReport::new(
            &impact,
            &basis,
            &Limits { guards, wholes },
        ))
    }
}

async fn read_devices(live: &Live, semantics: &Semantics) -> Result<Reading, Failure> {
    cluster::read_devices(&live.client, &live.served, detail(semantics))
        .await
        .map_err(|error| live.failed(error))
}

/// The one of `rules` that has that name.
pub(crate) fn rule_named<'a>(
    name: &str,
    rules: &'a [DeviceTaintRule],
) -> Result<&'a DeviceTaintRule, Failure> {
    let found = rules.iter().find(|rule| rule.name.as_str() == name);
    found.ok_or_else(|| no_such_rule(name, rules.iter()))
}

/// There is no rule of that name.
pub(crate) fn no_such_rule<'a>(
    name: &str,
    rules: impl Iterator<Item = &'a DeviceTaintRule>,
) -> Failure {
    let failure = Failure::new(ExitStatus::Failed, format!("no rule {name:?}"));
    let known = rules.map(|rule| rule.name.to_string());
    match nearest(name, known).as_slice() {
        [] => failure.hint("list what there is with `kubectl devicetaint list`"),
        similar => failure.hint(format!("did you mean {}?", similar.join(", "))),
    }
}
