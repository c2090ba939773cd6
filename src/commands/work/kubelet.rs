//! What the kubelet of this node says, and how long until it has given devices back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::commands::context::Context;
use crate::engine::pulling::still_held;
use crate::error::{ExitStatus, Failure};
use crate::kubelet::{KubeletError, Lister, notes_beside};
use crate::model::{DeviceTaintRule, Dialect, PreparedClaim, Warning};
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
}

impl Verifier {
    /// The kubelet behind a socket, which has to be there and able to say which devices are in use, before
    /// anybody waits for it.
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
        };
        verifier.left(&[], end).await?;
        Ok(verifier)
    }

    /// Warns where the kubelet holds nothing that `rules` select: that is all that it can ever say where it
    /// is the one of another node.
    ///
    /// # Errors
    ///
    /// When it cannot be asked.
    pub(crate) async fn introduce(
        &self,
        rules: &[DeviceTaintRule],
        end: Instant,
        context: &Context,
    ) -> Result<(), Failure> {
        if self.left(rules, end).await?.is_empty() {
            let socket = self.socket.display();
            context.printer.warn(&format!(
                "the kubelet at {socket} holds no device that is waited for: it speaks for its own node alone"
            ));
        }
        Ok(())
    }

    /// Waits until the kubelet has given back all devices that `rules` select, at most until `end`; with
    /// what is left then.
    ///
    /// # Errors
    ///
    /// When the kubelet cannot be asked any more, for another reason than that it begins anew.
    pub(crate) async fn settled(
        &self,
        rules: &[DeviceTaintRule],
        end: Instant,
    ) -> Result<Vec<Left>, Failure> {
        loop {
            let left = match self.left(rules, end).await {
                Ok(left) if left.is_empty() => return Ok(left),
                Ok(left) => left,
                Err(failure)
                    if failure.status() == ExitStatus::TryAgain && Instant::now() < end =>
                {
                    sleep(INTERVAL).await;
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            if Instant::now() >= end {
                return Ok(left);
            }
            sleep(INTERVAL).await;
        }
    }

    /// Asked once, also where the time is over by now.
    async fn left(&self, rules: &[DeviceTaintRule], end: Instant) -> Result<Vec<Left>, Failure> {
        let rest = end.saturating_duration_since(Instant::now());
        let lister = self.lister.within(rest.max(INTERVAL));
        let in_use = lister.list().await.map_err(refused)?;
        let prepared = notes_beside(&self.socket)
            .map_err(|why| Failure::new(ExitStatus::Failed, why).hint(NOTES))?;
        match in_use.dialect {
            Dialect::V1 => {}
            Dialect::V1Alpha1 => {
                return Err(Failure::new(
                    ExitStatus::Failed,
                    "this kubelet is too old to say which devices of claims are in use",
                ));
            }
        }
        let held = still_held(rules, &in_use, &prepared).into_iter();
        Ok(held
            .map(|(device, objection)| Left::held(&device, &objection))
            .collect())
    }
}

/// What a kubelet without notes is to whoever wants to be sure.
const NOTES: &str =
    "the notes say what pods hold that were deleted by force; without them nothing can be verified";
