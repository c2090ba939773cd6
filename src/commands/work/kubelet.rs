//! What the kubelet of this node says, and how long until it has given devices back.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::cluster_view::{ClusterView, Pods};
use super::debug_pod::{self, DebugPodPlan};
use super::kubelet_node::{AskedKubelet, NodeTrust, shown_node};
use crate::commands::context::Context;
use crate::decide::device_nodes::DeviceNodes;
use crate::decide::identity::with_new_names;
use crate::decide::pending_evictions::awaited_devices;
use crate::engine::device_removal::{RemovalObjection, slices_unread};
use crate::engine::hardware::Hardware;
use crate::engine::kubelet_node::KubeletNode;
use crate::engine::unreleased_devices::{ClaimUser, WatchedDevices, claim_users, still_held};
use crate::engine::{self, ProposedTaint};
use crate::error::{ExitStatus, Failure};
use crate::kubelet::{KubeletError, Lister, SOCKET, SocketFlag, notes_beside};
use crate::model::{DeviceId, DeviceTaintRule, InUse, NodeName, PreparedClaim, Warning};
use crate::naming::shell::word;
use crate::output::StatusLine;
use crate::report::blocker::Blocker;
use crate::report::wait_progress::kubelet_line;

/// How often a kubelet is asked that has not given everything back.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often a kubelet is asked by pods that are made for it.
const POD_INTERVAL: Duration = Duration::from_secs(10);

/// The kubelet behind a socket; without a limit of the user's it has a day, and a connection that says
/// nothing for so long says nothing at all.
pub(crate) fn lister(socket: &Path, context: &Context) -> Lister {
    const DAY: Duration = Duration::from_secs(86_400);
    Lister::new(socket, context.connection.request_timeout.unwrap_or(DAY))
}

/// The flags with which a wait asks the kubelet of `node` behind the `socket`.
pub(crate) fn wait_flags(node: &NodeName, socket: &Path, confirm_node: bool) -> String {
    let other = socket.to_str().filter(|socket| *socket != SOCKET);
    let socket = other.map_or_else(String::new, |socket| format!("={}", word(socket)));
    let confirm = if confirm_node { " --confirm-node" } else { "" };
    format!("--verify-node{socket} --node {node}{confirm}")
}

/// What the kubelet has noted for itself beside its socket, or why that is not known.
pub(crate) fn noted(socket: &Path) -> (Option<Vec<PreparedClaim>>, Option<Warning>) {
    match notes_beside(socket) {
        Ok(prepared) => (Some(prepared), None),
        Err(message) => (
            None,
            Some(Warning {
                code: "notes-unread",
                message,
                fix: None,
            }),
        ),
    }
}

/// A kubelet that does not do what is asked, with the way out, and whether trying again is one.
pub(crate) fn refused(error: KubeletError, flag: SocketFlag) -> Failure {
    let status = if error.passes() {
        ExitStatus::TryAgain
    } else {
        ExitStatus::Failed
    };
    let hint = error.hint(flag);
    Failure::new(status, error).hint(hint)
}

/// As [`refused`], by a kubelet whom a wait asks until its own time is over, if `is_last`: a longer limit of requests
/// would change nothing then.
fn refused_by_awaited(error: KubeletError, is_last: bool) -> Failure {
    let is_late = matches!(error, KubeletError::TimedOut { .. });
    if is_late && is_last {
        return Failure::new(ExitStatus::TimedOut, error)
            .hint("check the kubelet's log: journalctl -u kubelet");
    }
    refused(error, SocketFlag::VerifyNode)
}

/// The kubelet whose word a wait takes too.
pub(crate) struct Verifier {
    way: KubeletAccess,
    wanted: WatchedDevices,
    /// The pods of the claims that held its devices when the wait began.
    users: Vec<ClaimUser>,
    node: Option<NodeName>,
    /// That devices on other nodes are not verified, if there are any.
    elsewhere: Option<Warning>,
}

/// Somebody stops the program; each call hears of it from then on.
pub(crate) type Stop = fn() -> Pin<Box<dyn Future<Output = ExitStatus>>>;

/// How a kubelet is asked.
enum KubeletAccess {
    /// By its socket, on its node.
    Socket { socket: PathBuf, lister: Lister },
    /// By a pod on its node, each time.
    Pod { plan: DebugPodPlan, stop: Stop },
}

impl KubeletAccess {
    /// How often a kubelet is asked that has not given everything back.
    fn interval(&self) -> Duration {
        match self {
            Self::Socket { .. } => INTERVAL,
            Self::Pod { .. } => POD_INTERVAL,
        }
    }

    /// Its socket, on its own node.
    fn socket(&self) -> &Path {
        match self {
            Self::Socket { socket, .. } => socket,
            Self::Pod { .. } => Path::new(SOCKET),
        }
    }

    /// Waits before the kubelet is asked again. While there is no pod, nobody else hears that the program is
    /// stopped.
    async fn rest(&self) -> Result<(), Failure> {
        match self {
            Self::Socket { .. } => {
                sleep(self.interval()).await;
                Ok(())
            }
            Self::Pod { stop, .. } => tokio::select! {
                () = sleep(self.interval()) => Ok(()),
                status = stop() => Err(Failure::new(status, "interrupted")),
            },
        }
    }
}

/// Of which node the user says that a kubelet is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeClaim<'a> {
    /// `--node`
    pub(crate) name: Option<&'a NodeName>,
    /// `--confirm-node`
    pub(crate) trust: NodeTrust,
}

/// What a kubelet has to release, and by when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AwaitedRelease<'a> {
    /// The rules whose devices are waited for.
    pub(crate) rules: &'a [DeviceTaintRule],
    /// When the time is over.
    pub(crate) end: Instant,
}

impl Verifier {
    /// The kubelet behind a socket, which has to be there and able to say which devices are in use, before
    /// it is waited for.
    ///
    /// # Errors
    ///
    /// When it is not.
    pub(crate) async fn at(
        socket: &Path,
        end: Instant,
        context: &Context,
    ) -> Result<Self, Failure> {
        let way = KubeletAccess::Socket {
            socket: socket.to_owned(),
            lister: lister(socket, context),
        };
        let verifier = Self {
            way,
            wanted: WatchedDevices::default(),
            users: Vec::new(),
            node: None,
            elsewhere: None,
        };
        verifier.ask(end, context).await?;
        Ok(verifier)
    }

    /// The kubelet of another node, which pods ask that are made there.
    pub(crate) fn through(plan: DebugPodPlan, stop: Stop) -> Self {
        Self {
            node: Some(NodeName::from(plan.node.as_str())),
            way: KubeletAccess::Pod { plan, stop },
            wanted: WatchedDevices::default(),
            users: Vec::new(),
            elsewhere: None,
        }
    }

    /// The pods of the claims that held its devices when the wait began.
    pub(crate) fn users(&self) -> &[ClaimUser] {
        &self.users
    }

    /// Which devices are the same hardware; absent where that is unknown.
    pub(crate) fn hardware(&self) -> Option<&Hardware> {
        self.wanted.hardware()
    }

    /// Whose kubelet it is.
    pub(crate) fn node(&self) -> Option<&NodeName> {
        self.node.as_ref()
    }

    /// What it does not verify.
    pub(crate) fn warning(&self) -> Option<&Warning> {
        self.elsewhere.as_ref()
    }

    /// The kubelet with what is waited for: what the rules select in `view`, which has attributes and pods.
    ///
    /// # Errors
    ///
    /// When it is not shown to be the kubelet of a node, or of one of which the rules select nothing: what it says
    /// would free nothing.
    pub(crate) async fn waiting_for(
        self,
        awaited: AwaitedRelease<'_>,
        view: &ClusterView<Pods>,
        said: NodeClaim<'_>,
        context: &Context,
    ) -> Result<Self, Failure> {
        let AwaitedRelease { rules, end } = awaited;
        let node = self.whose(view, said, end, context).await?;
        let proposed = ProposedTaint::of_rules(rules, view.now);
        let inventory = engine::devices(view.snapshot(), &view.semantics).devices;
        // Without slices it is unknown which devices share hardware, which must not be read as none.
        let is_known = !slices_unread(&view.reading);
        let hardware = is_known
            .then(|| with_new_names(Hardware::of(&view.snapshot().slices), rules, &inventory));
        let selected = match &hardware {
            Some(known) => awaited_devices(view.snapshot(), &proposed, &view.semantics, known),
            None => view.selected(&proposed).devices,
        };
        let places = DeviceNodes::of(&inventory, &selected, view.pods());
        places.refuse_elsewhere(&node, self.way.socket())?;
        let elsewhere = places.beside(&node);
        if let Some(warning) = &elsewhere {
            context.printer.warn(&warning.message);
        }
        Ok(Self {
            users: claim_users(view.snapshot(), &selected, &node),
            wanted: WatchedDevices::new(rules, &selected, hardware),
            node: Some(node),
            elsewhere,
            ..self
        })
    }

    /// Of which node the kubelet is. A pod that was made on a node asks the kubelet there.
    async fn whose(
        &self,
        view: &ClusterView<Pods>,
        said: NodeClaim<'_>,
        end: Instant,
        context: &Context,
    ) -> Result<NodeName, Failure> {
        let socket = match &self.way {
            KubeletAccess::Socket { socket, .. } => socket,
            KubeletAccess::Pod { plan, .. } => return Ok(NodeName::from(plan.node.as_str())),
        };
        let (in_use, prepared) = self.ask(end, context).await?;
        let kubelet = AskedKubelet {
            socket,
            in_use: &in_use,
            prepared: &prepared,
            wanted: said.name,
            trust: said.trust,
        };
        match shown_node(&kubelet, view, context).await? {
            KubeletNode::Shown(node, _) => Ok(node),
            KubeletNode::NotShown => Err(not_shown(socket, said.name)),
        }
    }

    /// Waits until the kubelet has given back all that is waited for, at most until `end`; with what is left then. What is
    /// left before is `told`, and what the kubelet holds is `seen` after each of its answers.
    ///
    /// # Errors
    ///
    /// When the kubelet cannot be asked any more, for another reason than that it begins anew.
    pub(crate) async fn settled(
        &self,
        end: Instant,
        told: &dyn Fn(&[Blocker]),
        mut seen: impl AsyncFnMut(&[(DeviceId, RemovalObjection)]),
        context: &Context,
    ) -> Result<Vec<Blocker>, Failure> {
        loop {
            let left = match self.held(end, context).await {
                Ok(held) if held.is_empty() => return Ok(Vec::new()),
                Ok(held) => {
                    seen(&held).await;
                    let left = held.iter();
                    left.map(|(device, objection)| Blocker::held(device, objection))
                        .collect()
                }
                // A kubelet that begins anew is silent for a while, and still holds what it held.
                Err(failure)
                    if [ExitStatus::TryAgain, ExitStatus::TimedOut].contains(&failure.status()) =>
                {
                    vec![Blocker::silent(&failure.to_string())]
                }
                Err(failure) => return Err(failure),
            };
            // Compared after the query: with no time left the kubelet is still queried once.
            if Instant::now() >= end {
                return Ok(left);
            }
            told(&left);
            self.way.rest().await?;
        }
    }

    /// As [`Verifier::settled`], with a status line that says what the kubelet has answered last.
    ///
    /// # Errors
    ///
    /// As [`Verifier::settled`].
    pub(crate) async fn settled_with_status(
        &self,
        end: Instant,
        seen: impl AsyncFnMut(&[(DeviceId, RemovalObjection)]),
        context: &Context,
    ) -> Result<Vec<Blocker>, Failure> {
        let status = RefCell::new(StatusLine::new(&context.printer));
        let told = |left: &[Blocker]| {
            let line = kubelet_line(self.node.as_ref().map(NodeName::as_str), left);
            context.ledger.left(&line);
            status.borrow_mut().say(&line, &line);
        };
        self.settled(end, &told, seen, context).await
    }

    /// What the kubelet has not given back.
    async fn held(
        &self,
        end: Instant,
        context: &Context,
    ) -> Result<Vec<(DeviceId, RemovalObjection)>, Failure> {
        let (in_use, prepared) = self.ask(end, context).await?;
        Ok(still_held(&self.wanted, &in_use, &prepared))
    }

    /// Asked once, also where the time is over by now.
    async fn ask(
        &self,
        end: Instant,
        context: &Context,
    ) -> Result<(InUse, Vec<PreparedClaim>), Failure> {
        let rest = end.saturating_duration_since(Instant::now());
        let (in_use, prepared) = match &self.way {
            KubeletAccess::Socket { socket, lister } => {
                // At least one interval: a query without any time would always fail.
                let rest = rest.max(INTERVAL);
                let is_last = rest <= lister.limit();
                let listed = lister.within(rest).list().await;
                let in_use = listed.map_err(|error| refused_by_awaited(error, is_last))?;
                (in_use, notes_beside(socket))
            }
            KubeletAccess::Pod { plan, stop } => {
                let plan = plan.within(rest.max(POD_INTERVAL));
                let own = ["podresources", "list", "-o", "json"];
                let report = debug_pod::ask(&plan, &own, stop(), context).await?;
                let (in_use, prepared) = report.facts();
                let unread = report
                    .warnings
                    .into_iter()
                    .map(|found| found.message)
                    .next();
                let why =
                    || unread.unwrap_or_else(|| "the kubelet's checkpoint was not read".to_owned());
                (in_use, prepared.ok_or_else(why))
            }
        };
        let prepared = prepared.map_err(|why| Failure::new(ExitStatus::Failed, why).hint(NOTES))?;
        Ok((in_use, prepared))
    }
}

fn not_shown(socket: &Path, said: Option<&NodeName>) -> Failure {
    let socket = socket.display();
    match said {
        None => Failure::usage(format!("the node of the kubelet at {socket} is unknown"))
            .hint("set --node NODE"),
        Some(node) => Failure::usage(format!(
            "cannot verify that the kubelet at {socket} is that of node {node}"
        ))
        .hint(format!(
            "if you are sure that this is the kubelet of node {node}: --confirm-node"
        )),
    }
}

/// What a kubelet without notes is to who wants to be sure.
const NOTES: &str = "make the kubelet's checkpoint (the file dra_manager_state in the kubelet's root directory) \
    readable: without this file, the devices of force-deleted pods cannot be checked";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubelet_that_is_silent_until_the_end_of_a_wait_has_timed_the_wait_out() {
        let late = || KubeletError::TimedOut {
            path: PathBuf::from(SOCKET),
            limit: Duration::from_secs(6),
        };
        let failure = refused_by_awaited(late(), true);
        assert_eq!(failure.status(), ExitStatus::TimedOut);
        assert_eq!(
            failure.hints(),
            ["check the kubelet's log: journalctl -u kubelet"]
        );
        // A shorter limit of requests ends before the wait does, and can be raised.
        let failure = refused_by_awaited(late(), false);
        assert_eq!(failure.status(), ExitStatus::TryAgain);
        assert!(
            failure.hints()[0].contains("--request-timeout"),
            "{failure:?}"
        );
    }
}
