//! The view, and its answers.

use std::marker::PhantomData;
use std::sync::Arc;

use jiff::Timestamp;

use super::read_state::{Devices, Disruption, ReadState, WithPods};
use crate::assess::{Basis, DeviceBasis, Guard};
use crate::cluster::{Detail, EarlyInputs, ReadMore, preferred_version};
use crate::commands::work::connect::Live;
use crate::decide::choice;
use crate::decide::chooser::{rule_named, rules_in};
use crate::decide::identity::other_hardware;
use crate::decide::version::release_of;
use crate::engine::{self, DeviceImpact, Impact, ProposedTaint, Selection, Semantics};
use crate::error::Failure;
use crate::model::{DeviceTaintRule, Kind, Minor, Pod, Reading, Snapshot, Warning};
use crate::output::Printer;
use crate::report::ImpactReport;
use crate::report::metadata::Warning as Oddity;

/// A cluster or saved files, as they were when they were read; `Read` is the facts read of pods.
#[derive(Clone)]
pub(crate) struct ClusterView<Read: ReadState = Devices> {
    /// The reading.
    pub(crate) reading: Reading,
    /// Behavior of that version of Kubernetes.
    pub(crate) semantics: Semantics,
    /// For which moment questions are answered: the server's clock, or the files' time.
    pub(crate) now: Timestamp,
    /// Warnings beside the reading.
    pub(super) view_warnings: ViewWarnings,
    /// Request of the view.
    pub(super) request: ViewRequest,
    /// Objects read beside devices; the first request for pods takes them.
    pub(super) early: Option<Arc<EarlyInputs>>,
    pub(super) read: PhantomData<Read>,
}

/// Request of a view, to read it again.
#[derive(Clone)]
pub(super) struct ViewRequest {
    /// The version whose behavior was requested.
    pub(super) kubernetes: Option<Minor>,
    /// Detail needed of each object.
    pub(super) wanted: Detail,
    /// Objects read beside devices at once.
    pub(super) more: ReadMore,
}

impl ViewRequest {
    pub(super) fn new(kubernetes: Option<Minor>, wanted: Detail) -> Self {
        Self {
            kubernetes,
            wanted,
            more: ReadMore::No,
        }
    }
}

/// Warnings about a view beside its reading. They are all that is left of a large cluster while a long text
/// about it is printed.
#[derive(Clone, Default)]
pub(crate) struct ViewWarnings {
    /// Doubts about the reading itself; among its warnings too.
    pub(super) doubts: Vec<Warning>,
    /// The cluster, unless files were read.
    pub(super) live: Option<Live>,
    /// The time of the report, if it is the newest time in files that do not state when they were saved.
    pub(super) guessed_time: Option<Timestamp>,
}

impl ViewWarnings {
    /// The line that belongs to tables with a guessed time.
    pub(crate) fn guessed_time(&self) -> Option<String> {
        let time = self.guessed_time?;
        Some(format!("as of {time}, the newest time in the files"))
    }

    /// Prints warnings of the server and doubts about the reading.
    pub(crate) fn tell(&self, printer: &Printer<'_>) {
        for doubt in &self.doubts {
            printer.warn(&Oddity::from(doubt).line());
        }
        if let Some(live) = &self.live {
            live.tell(printer);
        }
    }
}

impl<Read: ReadState> ClusterView<Read> {
    pub(super) fn new(
        reading: Reading,
        semantics: Semantics,
        now: Timestamp,
        view_warnings: ViewWarnings,
        request: ViewRequest,
    ) -> Self {
        Self {
            reading,
            semantics,
            now,
            view_warnings,
            request,
            early: None,
            read: PhantomData,
        }
    }

    /// The view in another state, once more was read, or no pods are needed.
    pub(super) fn into_state<Now: ReadState>(self) -> ClusterView<Now> {
        let Self { semantics, now, .. } = self;
        ClusterView::new(
            self.reading,
            semantics,
            now,
            self.view_warnings,
            self.request,
        )
    }

    /// Reads the cluster again, without its pods. Files do not change; they are as they were.
    pub(crate) async fn again(&self) -> Result<ClusterView, Failure> {
        match &self.view_warnings.live {
            Some(live) => ClusterView::of_live(live.clone(), self.request.clone()).await,
            None => Ok(self.clone().into_state()),
        }
    }

    /// The release of the cluster; absent if it is unknown. Saved files without one count as the newest.
    pub(crate) fn release(&self) -> Option<Minor> {
        let (version, rules) = match self.live() {
            Some(Live { served, .. }) => (
                served.version,
                served
                    .version_of(Kind::DeviceTaintRule)
                    .map(|version| version.api_version),
            ),
            None => (
                self.reading.version,
                Some(preferred_version(Kind::DeviceTaintRule)),
            ),
        };
        release_of(version, self.request.kubernetes, rules)
    }

    /// Warnings about those of `rules` whose devices are other hardware than the rules note.
    pub(crate) fn identity_warnings(&self, rules: &[DeviceTaintRule]) -> Vec<Warning> {
        other_hardware(rules, self.snapshot(), &self.semantics)
    }

    /// The cluster, unless files were read.
    pub(crate) fn live(&self) -> Option<&Live> {
        self.view_warnings.live.as_ref()
    }

    /// The facts.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.reading.snapshot
    }

    /// All rules. A failure when they could not be read: unknown is not none.
    pub(crate) fn rules(&self) -> Result<&[DeviceTaintRule], Failure> {
        // Where rules are not served, this failure says what to switch on, which a gap cannot.
        if let Some(live) = &self.view_warnings.live {
            live.rules()?;
        }
        rules_in(&self.reading)
    }

    /// The rule of that name. A failure when there is none, with similar names; and when the rules could not be read.
    pub(crate) fn rule(&self, name: &str) -> Result<&DeviceTaintRule, Failure> {
        rule_named(name, self.rules()?)
    }

    /// The devices that the `proposed` taints select; which they are does not depend on pods.
    pub(crate) fn selected(&self, proposed: &[ProposedTaint]) -> Selection {
        self.device_basis().selected(proposed)
    }

    /// The devices that the `proposed` taints select, with those who hold them and the taints that they have already.
    pub(crate) fn tainted_devices<'a>(
        &'a self,
        proposed: &'a [ProposedTaint],
    ) -> Vec<DeviceImpact<'a>> {
        engine::tainted_devices(self.snapshot(), proposed, self.now, &self.semantics)
    }

    /// True if all claims are known: without them it is unknown which devices are in use.
    pub(crate) fn knows_usage(&self) -> bool {
        self.device_basis().knows_usage()
    }

    /// Basis of answers about devices, claims and rules.
    pub(crate) fn device_basis(&self) -> DeviceBasis<'_> {
        DeviceBasis {
            reading: &self.reading,
            semantics: &self.semantics,
            now: self.now,
        }
    }

    /// Refuses names that match nothing, unless the devices are unknown.
    pub(crate) fn refuse_missing(&self, proposed: &[ProposedTaint]) -> Result<(), Failure> {
        choice::refuse_missing(proposed, &self.reading, &self.semantics)
    }

    /// Warnings beside the reading.
    pub(crate) fn view_warnings(&self) -> &ViewWarnings {
        &self.view_warnings
    }

    /// Prints the warnings beside the reading.
    pub(crate) fn tell(&self, printer: &Printer<'_>) {
        self.view_warnings.tell(printer);
    }

    /// Drops the reading, and keeps the warnings beside it.
    pub(crate) fn into_view_warnings(self) -> ViewWarnings {
        let reading = self.reading;
        // Freeing a large cluster takes as long as printing the answer. Where no thread can be had, it is freed here.
        let _ = std::thread::Builder::new().spawn(move || drop(reading));
        self.view_warnings
    }
}

impl<Read: WithPods> ClusterView<Read> {
    /// The pods of the devices in question.
    pub(crate) fn pods(&self) -> &[Pod] {
        &self.reading.snapshot.pods
    }

    /// Source that every report states.
    pub(crate) fn basis(&self) -> Basis<'_> {
        Basis::new(&self.reading, &self.semantics, self.now)
    }

    /// Impact of the `proposed` taints on the objects that were read.
    pub(crate) fn impact<'a>(&'a self, proposed: &'a [ProposedTaint]) -> Impact<'a> {
        self.basis().impact(proposed)
    }
}

impl ClusterView<Disruption> {
    /// Report of the pods read that the `proposed` taints affect, and of the results of `guards`.
    pub(crate) fn report(&self, proposed: &[ProposedTaint], guards: &[Guard]) -> ImpactReport {
        self.basis().report(proposed, guards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::work::cluster_view::Pods;

    /// Fallback of a call where the view itself has no method of that name.
    struct NotRead;

    /// Is found only where the view itself has nothing of that name.
    trait Otherwise {
        fn pods(&self) -> NotRead {
            NotRead
        }

        fn basis(&self) -> NotRead {
            NotRead
        }

        fn impact(&self) -> NotRead {
            NotRead
        }

        fn report(&self) -> NotRead {
            NotRead
        }
    }

    impl<Read: ReadState> Otherwise for ClusterView<Read> {}

    type Refused<Read> = fn(&ClusterView<Read>) -> NotRead;

    /// This does not compile: the view needs more than it has read.
    #[test]
    fn verdicts_on_pods_that_were_not_read_do_not_compile() {
        let of_devices: [Refused<Devices>; 4] = [
            |view| view.pods(),
            |view| view.basis(),
            |view| view.impact(),
            |view| view.report(),
        ];
        let of_pods: [Refused<Pods>; 1] = [|view| view.report()];
        assert_eq!((of_devices.len(), of_pods.len()), (4, 1));
    }
}
