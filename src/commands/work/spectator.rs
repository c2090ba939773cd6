//! What is shown while the cluster is asked.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::cluster::{Event, Observer, resource_in};
use crate::output::Printer;

/// Shows on standard error what the user has to wait for, and with `-v` every request.
pub(crate) struct Spectator {
    printer: Arc<Printer<'static>>,
    verbose: bool,
    /// What has arrived so far, by the request that is under way.
    bytes: Mutex<Bytes>,
}

#[derive(Debug, Default)]
struct Bytes {
    finished: u64,
    under_way: BTreeMap<String, u64>,
}

/// How often the line that shows the progress is looked after.
const LOOK: Duration = Duration::from_millis(100);

impl Spectator {
    /// Watches for `printer`, every request if `verbosity` is more than 0.
    pub(crate) fn new(printer: &Arc<Printer<'static>>, verbosity: u8) -> Self {
        Self {
            printer: Arc::clone(printer),
            verbose: verbosity > 0,
            bytes: Mutex::default(),
        }
    }

    /// Shows the progress, also while nothing arrives; never ends.
    pub(crate) async fn watch(self: Arc<Self>) {
        loop {
            if let Some(text) = self.progress() {
                self.printer.progress().update(&text);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// What is being read, or `None` while nothing is.
    fn progress(&self) -> Option<String> {
        let bytes = self.bytes();
        let under_way = bytes.under_way.values().copied();
        let total = under_way.fold(bytes.finished, u64::saturating_add);
        let mut names: Vec<&str> = bytes
            .under_way
            .keys()
            .map(|path| resource_in(path))
            .collect();
        names.sort_unstable();
        names.dedup();
        let megabytes = total / 1_000_000;
        let tenths = total / 100_000 % 10;
        (!names.is_empty()).then(|| {
            format!(
                "reading {} ({megabytes}.{tenths} MB so far)",
                names.join(", ")
            )
        })
    }

    fn count(&self, event: &Event<'_>) {
        match event {
            Event::Started { path, .. } => {
                self.bytes().under_way.insert((*path).to_owned(), 0);
            }
            Event::Progress { path, bytes } => {
                if let Some(so_far) = self.bytes().under_way.get_mut(*path) {
                    *so_far = *bytes;
                }
            }
            Event::Finished { path, .. } | Event::Failed { path, .. } => {
                let mut bytes = self.bytes();
                let read = bytes.under_way.remove(*path).unwrap_or_default();
                bytes.finished = bytes.finished.saturating_add(read);
            }
            Event::Notice(_) => {}
        }
    }

    fn bytes(&self) -> MutexGuard<'_, Bytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Spectator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Spectator")
            .field("verbose", &self.verbose)
            .finish_non_exhaustive()
    }
}

impl Observer for Spectator {
    fn event(&self, event: &Event<'_>) {
        self.count(event);
        match event {
            Event::Notice(text) => self.printer.note(text),
            Event::Finished {
                method,
                path,
                status,
                bytes,
                elapsed,
            } if self.verbose => {
                let milliseconds = elapsed.as_millis();
                self.printer.note(&format!(
                    "{method} {path} {status} {bytes} bytes in {milliseconds} ms"
                ));
            }
            Event::Failed {
                method,
                path,
                reason,
                elapsed,
            } if self.verbose => {
                let milliseconds = elapsed.as_millis();
                self.printer.note(&format!(
                    "{method} {path} failed after {milliseconds} ms: {reason}"
                ));
            }
            Event::Started { .. }
            | Event::Progress { .. }
            | Event::Finished { .. }
            | Event::Failed { .. } => {}
        }
    }
}
