//! What the kubelet of this node says, and how long until it has given devices back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::kubelet_node::{AskedKubelet, Trust, shown_node};
use super::look::Look;
use crate::commands::context::Context;
use crate::decide::places::Places;
use crate::engine::hardware::Hardware;
use crate::engine::holding::{Wanted, still_held};
use crate::engine::kubelet_node::KubeletNode;
use crate::engine::{self, ConsideredTaint};
use crate::error::{ExitStatus, Failure};
use crate::kubelet::{KubeletError, Lister, notes_beside};
use crate::model::{DeviceTaintRule, Dialect, InUse, NodeName, PreparedClaim, Warning};
use crate::report::wait::Left;

/// How often a kubelet is asked that has not given everything back.
const INTERVAL: Duration = Duration::from_secs(1);

/// The kubelet behind a socket; without a limit of the user's it has a day, and a connection that says
/// nothing for so long says nothing at all.
pub(crate) fn lister(socket: &Path, context: &Context) -> Lister {
    const DAY: Duration = Duration::from_secs(86_400);
    Lister::new(socket, context.connection.request_timeout.unwrap_or(DAY))
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
pub(crate) fn refused(error: KubeletError) -> Failure {
    let status = if error.passes() {
        ExitStatus::TryAgain
    } else {
        ExitStatus::Failed
    };
    let hint = error.hint();
    Failure::new(status, error).hint(hint)
}

/// The kubelet whose word a wait takes too.
pub(crate) struct Verifier {
    socket: PathBuf,
    lister: Lister,
    wanted: Wanted,
    node: Option<NodeName>,
}

/// Of which node the user says that a kubelet is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SaidNode<'a> {
    /// `--node`
    pub(crate) name: Option<&'a NodeName>,
    /// `--confirm-node`
    pub(crate) trust: Trust,
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
        let verifier = Self {
            socket: socket.to_owned(),
            lister: lister(socket, context),
            wanted: Wanted::default(),
            node: None,
        };
        verifier.ask(end).await?;
        Ok(verifier)
    }

    /// Whose kubelet it is.
    pub(crate) fn node(&self) -> Option<&NodeName> {
        self.node.as_ref()
    }

    /// The kubelet with what is waited for: what `rules` select in `look`, which has attributes and pods.
    ///
    /// # Errors
    ///
    /// When it is not shown to be the kubelet of a node, or of one of which the rules select nothing: what it says
    /// would free nothing.
    pub(crate) async fn waiting_for(
        self,
        rules: &[DeviceTaintRule],
        (look, said): (&Look, SaidNode<'_>),
        (end, context): (Instant, &Context),
    ) -> Result<Self, Failure> {
        let (in_use, prepared) = self.ask(end).await?;
        let kubelet = AskedKubelet {
            socket: &self.socket,
            in_use: &in_use,
            prepared: &prepared,
            wanted: said.name,
            trust: said.trust,
        };
        let node = match shown_node(&kubelet, look, context).await? {
            KubeletNode::Shown(node, _) => node,
            KubeletNode::NotShown => return Err(not_shown(&self.socket, said.name)),
        };
        let considered: Vec<ConsideredTaint> = rules
            .iter()
            .map(|rule| ConsideredTaint::of_rule(rule, look.now))
            .collect();
        let selected = look.selected(&considered).devices;
        let inventory = engine::devices(look.snapshot(), &look.semantics).devices;
        let places = Places::of(&inventory, &selected, &look.snapshot().pods);
        places.refuse_elsewhere(&node, &self.socket)?;
        if let Some(line) = places.beside(&node) {
            context.printer.warn(&line);
        }
        let hardware = Hardware::of(&look.snapshot().slices);
        Ok(Self {
            wanted: Wanted::new(rules, &selected, hardware),
            node: Some(node),
            ..self
        })
    }

    /// Waits until the kubelet has given back all that is waited for, at most until `end`; with what is left then.
    ///
    /// # Errors
    ///
    /// When the kubelet cannot be asked any more, for another reason than that it begins anew.
    pub(crate) async fn settled(&self, end: Instant) -> Result<Vec<Left>, Failure> {
        loop {
            let left = match self.left(end).await {
                Ok(left) if left.is_empty() => return Ok(left),
                Ok(left) => left,
                Err(failure) if failure.status() == ExitStatus::TryAgain => {
                    vec![Left::silent(&failure.to_string())]
                }
                Err(failure) => return Err(failure),
            };
            if Instant::now() >= end {
                return Ok(left);
            }
            sleep(INTERVAL).await;
        }
    }

    async fn left(&self, end: Instant) -> Result<Vec<Left>, Failure> {
        let (in_use, prepared) = self.ask(end).await?;
        let held = still_held(&self.wanted, &in_use, &prepared).into_iter();
        Ok(held
            .map(|(device, objection)| Left::held(&device, &objection))
            .collect())
    }

    /// Asked once, also where the time is over by now.
    async fn ask(&self, end: Instant) -> Result<(InUse, Vec<PreparedClaim>), Failure> {
        let rest = end.saturating_duration_since(Instant::now());
        let lister = self.lister.within(rest.max(INTERVAL));
        let in_use = lister.list().await.map_err(refused)?;
        let prepared = notes_beside(&self.socket)
            .map_err(|why| Failure::new(ExitStatus::Failed, why).hint(NOTES))?;
        match in_use.dialect {
            Dialect::V1 => Ok((in_use, prepared)),
            Dialect::V1Alpha1 => Err(Failure::new(
                ExitStatus::Failed,
                "this kubelet is too old to say which devices of claims are in use",
            )),
        }
    }
}

fn not_shown(socket: &Path, said: Option<&NodeName>) -> Failure {
    let socket = socket.display();
    match said {
        None => Failure::usage(format!(
            "nothing shows of which node the kubelet at {socket} is"
        ))
        .hint("say it: --node NODE"),
        Some(node) => Failure::usage(format!(
            "nothing shows that the kubelet at {socket} is that of node {node}"
        ))
        .hint("if you are sure that it is: --confirm-node"),
    }
}

/// What a kubelet without notes is to who wants to be sure.
const NOTES: &str =
    "the notes say what pods hold that were deleted by force; without them nothing can be verified";
