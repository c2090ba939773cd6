//! Sources of the facts: the connection to a cluster, with the kinds that it serves and the messages when it does not
//! answer; or saved files. And permissions, which are checked before anything is changed.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::channel::oneshot;
use futures::future::try_join_all;
use jiff::Timestamp;
use serde_json::Value;

use crate::cluster::{
    self, AccessQuery, ApiClient, ClusterError, Connection, Event, FileSource, InputError, Limits,
    Manifests, Observer, Purpose, Rules, ServedKinds, Traffic, WriteAnswer, WriteMode, discover,
    evict, is_allowed, user_name,
};
use crate::commands::context::Context;
use crate::decide::change_log::ChangeLog;
use crate::decide::drain::EvictionReply;
use crate::decide::version::{behaviour_of, require_predictions, semantics_of};
use crate::engine::Semantics;
use crate::error::{ExitStatus, Failure};
use crate::model::{DeviceTaintRule, Minor, NamespacedName, Uid};
use crate::naming::phrase::few;
use crate::output::Printer;

/// A cluster that answers, and its kinds.
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) client: ApiClient,
    pub(crate) served: ServedKinds,
}

/// Behavior of the version `found`, unless that of another version is `asked` for.
///
/// # Errors
///
/// A version that the command of this purpose does not support.
pub(crate) fn semantics_for(
    purpose: Option<Purpose>,
    asked: Option<Minor>,
    found: Option<Minor>,
) -> Result<Semantics, Failure> {
    let semantics = semantics_of(asked, found)?;
    if !purpose.is_some_and(Purpose::works_without_predictions) {
        require_predictions(&semantics)?;
    }
    Ok(semantics)
}

/// Connects by the flags and the environment, and asks the server for its kinds.
///
/// # Errors
///
/// When that fails, or the command does not support the version of the server.
pub(crate) async fn connect(context: &Context) -> Result<Live, Failure> {
    let live = reach(context).await?;
    live.semantics(None)?;
    Ok(live)
}

/// As [`connect`], for commands that choose the version whose behavior applies.
pub(crate) async fn reach(context: &Context) -> Result<Live, Failure> {
    let client = connect_client(context).await?;
    // On the heap: it asks several questions, and every command does so.
    let served = Box::pin(discover(&client)).await.map_err(failed)?;
    Ok(Live { client, served })
}

/// Connects as the flags and the environment say, and asks the server nothing yet.
pub(crate) async fn connect_client(context: &Context) -> Result<ApiClient, Failure> {
    let observer = Arc::new(ReadProgress::new(
        &context.printer,
        context.connection.verbosity,
    ));
    let connection = Connection::load(&context.connection, &context.environment, observer.as_ref())
        .await
        .map_err(failed)?;
    if context.printer.progress().is_seen() {
        tokio::spawn(Arc::clone(&observer).watch());
    }
    let client = ApiClient::new(connection, observer).map_err(failed)?;
    context.asked(&client);
    Ok(client)
}

/// Failure of a request to the cluster, with the way out, and if trying again is one.
pub(crate) fn failed(error: ClusterError) -> Failure {
    let status = if error.passes() {
        ExitStatus::TryAgain
    } else {
        ExitStatus::Failed
    };
    let hint = error.hint();
    let failure = Failure::from(error).ending(status);
    hint.into_iter().fold(failure, Failure::hint)
}

impl Live {
    /// Behavior of the cluster, unless that of another version is `asked` for; a failure if the command does
    /// not support the version.
    pub(crate) fn semantics(&self, asked: Option<Minor>) -> Result<Semantics, Failure> {
        semantics_for(self.client.purpose(), asked, self.served.version)
    }

    /// The rules of the cluster; a failure with what to switch on where it serves none.
    pub(crate) fn rules(&self) -> Result<Rules, Failure> {
        Rules::new(&self.client, &self.served).map_err(failed)
    }

    /// Prints the warnings of the server.
    pub(crate) fn tell(&self, printer: &Printer<'_>) {
        for warning in self.client.warnings() {
            printer.server_warning(&warning);
        }
    }
}

/// The server's clock, which decides what is due and what has expired.
pub(crate) fn server_time(live: &Live) -> Result<Timestamp, Failure> {
    live.client.server_time().ok_or_else(|| {
        Failure::new(
            ExitStatus::Failed,
            format!(
                "{} sends no Date header, so the time is unknown",
                live.client.server()
            ),
        )
    })
}

/// Shows on standard error the reads that the user waits for, and with `-v` every request.
#[derive(Debug)]
struct ReadProgress {
    printer: Arc<Printer<'static>>,
    verbose: bool,
    /// Traffic so far.
    traffic: Mutex<Traffic>,
}

/// Interval of updating the progress line.
const LOOK: Duration = Duration::from_millis(100);

impl ReadProgress {
    /// Watches for `printer`, every request if `verbosity` is more than 0.
    fn new(printer: &Arc<Printer<'static>>, verbosity: u8) -> Self {
        Self {
            printer: Arc::clone(printer),
            verbose: verbosity > 0,
            traffic: Mutex::default(),
        }
    }

    /// Shows the progress, also while nothing arrives; never ends.
    async fn watch(self: Arc<Self>) {
        loop {
            if let Some(text) = self.traffic().describe() {
                self.printer.progress().update(&text);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for ReadProgress {
    fn event(&self, event: &Event<'_>) {
        self.traffic().count(event);
        match event {
            Event::Notice(text) => self.printer.note(text),
            Event::Finished { .. } | Event::Failed { .. } if self.verbose => {
                self.printer.note(&event.to_string());
            }
            Event::Started { .. }
            | Event::Progress { .. }
            | Event::Finished { .. }
            | Event::Failed { .. } => {}
        }
    }
}

/// Where the cluster's state comes from, and how it is understood.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Source {
    /// Read saved objects: a file, a directory or `-`
    ///
    /// A file that `snapshot` wrote, or the output of `kubectl get -o yaml`. Repeatable; `-` reads stdin.
    #[arg(long, value_name = "FILENAME", help_heading = "Source")]
    pub(crate) from: Vec<PathBuf>,

    /// Kubernetes version whose behavior applies, such as 1.36; default: the detected version, else 1.37
    #[arg(long, value_name = "VERSION", value_parser = parse_version, help_heading = "Source", hide_short_help = true)]
    pub(crate) kubernetes: Option<Minor>,

    /// With --from, time to evaluate at, as RFC 3339
    ///
    /// Default: the time that `snapshot` recorded in its file. If there is none, the newest time of any object.
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "from", help_heading = "Source", hide_short_help = true)]
    pub(crate) now: Option<Timestamp>,
}

/// Reads manifests of rules, each with the object as it is written, and notes which other objects are skipped.
pub(crate) async fn manifests(
    files: &[PathBuf],
    context: &Context,
) -> Result<Vec<(DeviceTaintRule, Value)>, Failure> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let Manifests { rules, skipped } = read_files(files, cluster::read_manifests).await?;
    let kinds: BTreeSet<String> = skipped.into_iter().map(|(_, kind)| kind).collect();
    if !kinds.is_empty() {
        let kinds = few(Vec::from_iter(kinds));
        context
            .printer
            .note(&format!("other kinds are skipped: {kinds}"));
    }
    Ok(rules)
}

/// As [`read_files`], instead of a cluster. Warns if a cluster was named as well: the user may take the
/// answer for that cluster's.
pub(crate) async fn read_instead<T: Send + 'static>(
    files: &[PathBuf],
    context: &Context,
    read: impl FnOnce(&[FileSource], &mut dyn Read, &Limits) -> Result<T, InputError> + Send + 'static,
) -> Result<T, Failure> {
    let named = &context.connection;
    let flags = [
        ("--context", &named.context),
        ("--cluster", &named.cluster),
        ("--server", &named.server),
    ];
    for (flag, name) in flags {
        if let Some(name) = name {
            let message = format!("{flag} {name} is ignored: --from reads saved files");
            context.printer.warn(&message);
        }
    }
    read_files(files, read).await
}

/// Reads files, folders or stdin by `read`, on a thread of its own, so that its caller can be stopped: a pipe
/// may stay silent, and nothing interrupts a read from it. The end of the program does not wait for that
/// thread, as a runtime would for one of its own.
pub(crate) async fn read_files<T: Send + 'static>(
    files: &[PathBuf],
    read: impl FnOnce(&[FileSource], &mut dyn Read, &Limits) -> Result<T, InputError> + Send + 'static,
) -> Result<T, Failure> {
    let sources: Vec<FileSource> = files
        .iter()
        .map(|path| FileSource::from(path.as_path()))
        .collect();
    let (sender, result) = oneshot::channel();
    let reader = std::thread::Builder::new().name("files".to_owned());
    reader.spawn(move || {
        let result = read(&sources, &mut io::stdin().lock(), &Limits::default());
        // A caller that has gone meanwhile needs no answer.
        let _ = sender.send(result);
    })?;
    result.await?.map_err(unreadable)
}

/// A file that cannot be read, with the way out.
fn unreadable(error: InputError) -> Failure {
    let hint = error.hint();
    hint.into_iter().fold(Failure::from(error), Failure::hint)
}

fn parse_version(text: &str) -> Result<Minor, String> {
    let version = Minor::parse(text)
        .ok_or_else(|| format!("{text:?} is not a Kubernetes version such as 1.36 or 1.37.1"))?;
    behaviour_of(version).map(|_| version)
}

fn parse_time(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not a time such as 2026-11-21T01:00:00Z"))
}

/// Refuses to begin where the user may not do one of these things.
///
/// # Errors
///
/// Something is not allowed, all of which is named; or the server does not say whether it is.
pub(crate) async fn refuse_missing(
    queries: impl IntoIterator<Item = AccessQuery>,
    purpose: Purpose,
    client: &ApiClient,
) -> Result<(), Failure> {
    let asked = queries.into_iter().map(async |query| {
        let is_allowed = is_allowed(client, &query).await;
        is_allowed.map(|is_allowed| (query, is_allowed))
    });
    // All at once, so that every missing permission is listed and not only the first.
    let answers = try_join_all(asked).await;
    let answers = answers.map_err(|error| {
        failed(error)
            .context("cannot check whether you have the required permissions")
            .detail("nothing was changed")
    })?;
    let missing = answers.into_iter().filter(|(_, is_allowed)| !is_allowed);
    let mut missing = missing.map(|(query, _)| query);
    let Some(first) = missing.next() else {
        return Ok(());
    };
    let place = |query: &AccessQuery| match &query.namespace {
        Some(namespace) => format!(" in namespace {namespace}"),
        None => String::new(),
    };
    let first_place = place(&first);
    let denied = failed(ClusterError::Forbidden {
        permission: first.permission,
        user: user_name(client).await,
        purpose: Some(purpose),
    });
    let denied = if first_place.is_empty() {
        denied
    } else {
        denied.detail(format!("needed{first_place}"))
    };
    let others = missing.fold(denied, |failure, query| {
        let text = format!("also missing: {}{}", query.permission, place(&query));
        failure.detail(text)
    });
    Err(others.detail("nothing was changed"))
}

/// Tries one eviction in each namespace without carrying it out: permissions are granted by namespace, and admission may
/// refuse an eviction. A budget that refuses now may allow the eviction later.
///
/// # Errors
///
/// An eviction is not permitted, or cannot be tried. Nothing was changed.
pub(crate) async fn try_evictions<'p>(
    pods: impl IntoIterator<Item = (&'p NamespacedName, &'p Uid)>,
    client: &ApiClient,
) -> Result<(), Failure> {
    let mut namespaces = BTreeSet::new();
    for (pod, uid) in pods {
        if namespaces.insert(&pod.namespace) {
            let tried = evict(client, pod, uid, None, WriteMode::DryRun).await;
            tried.map_err(|error| failed(error).detail("nothing was changed"))?;
        }
    }
    Ok(())
}

/// Evicts a pod through the Eviction API, with this grace period or its own.
///
/// # Errors
///
/// The request was not answered by the API.
pub(crate) async fn evict_pod(
    log: &ChangeLog,
    client: &ApiClient,
    pod: &NamespacedName,
    uid: &Uid,
    grace: Option<i64>,
) -> Result<EvictionReply, Failure> {
    logged(log, pod, evict(client, pod, uid, grace, WriteMode::Store)).await
}

/// Sends an eviction or a deletion of a pod, which the log names.
///
/// # Errors
///
/// The pod was not evicted.
pub(crate) async fn logged(
    log: &ChangeLog,
    pod: &NamespacedName,
    request: impl Future<Output = Result<WriteAnswer, ClusterError>>,
) -> Result<EvictionReply, Failure> {
    log.begin_eviction(pod);
    let reply = request.await.map(reply);
    let is_evicted = match &reply {
        Ok(EvictionReply::Accepted) => Some(true),
        Ok(EvictionReply::Refused(_)) | Err(_) => Some(false),
        // An earlier request may have evicted it.
        Ok(EvictionReply::Gone | EvictionReply::Unknown(_)) => None,
    };
    log.end_eviction(pod, is_evicted);
    reply.map_err(failed)
}

/// A reply of the Eviction API, or to a deletion.
fn reply(answer: WriteAnswer) -> EvictionReply {
    match answer {
        WriteAnswer::Accepted => EvictionReply::Accepted,
        WriteAnswer::Outdated => EvictionReply::Gone,
        WriteAnswer::Refused(message) => EvictionReply::Refused(message),
        WriteAnswer::Unknown(error) => EvictionReply::Unknown(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::ready;

    #[tokio::test]
    async fn log_names_a_pod_unless_its_eviction_is_known_to_have_failed() {
        let error = || ClusterError::configuration("lost");
        let pod = crate::engine::testing::name("ml", "train-0");
        for (answer, expected) in [
            (Ok(WriteAnswer::Accepted), "evicted: ml/train-0"),
            (
                Ok(WriteAnswer::Refused(String::new())),
                "nothing was changed",
            ),
            (Err(error()), "nothing was changed"),
            (
                Ok(WriteAnswer::Outdated),
                "may have been evicted: ml/train-0",
            ),
            (
                Ok(WriteAnswer::Unknown(error())),
                "may have been evicted: ml/train-0",
            ),
        ] {
            let log = ChangeLog::default();
            let _ = logged(&log, &pod, ready(answer)).await;
            let stopped = log.account(Failure::usage("stopped"), None);
            assert_eq!(stopped.details(), [expected]);
        }
    }

    #[test]
    fn typed_version_is_read_as_that_of_a_server() {
        for text in ["v1.37.2-rc.0", "1.36", "v1.36.2-gke.100", "1.37.1"] {
            assert_eq!(parse_version(text).ok(), Minor::parse(text), "{text}");
        }
        assert!(parse_version("1.32").is_err());
        assert!(parse_version("newest").is_err());
    }
}
