//! Progress line while the cluster is read.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::cluster::{Event, Observer, Traffic};
use crate::output::Printer;

/// Shows on standard error the reads that the user waits for, and with `-v` every request.
pub(crate) struct ReadProgress {
    printer: Arc<Printer<'static>>,
    verbose: bool,
    /// Traffic so far.
    traffic: Mutex<Traffic>,
}

/// Interval of updating the progress line.
const LOOK: Duration = Duration::from_millis(100);

impl ReadProgress {
    /// Watches for `printer`, every request if `verbosity` is more than 0.
    pub(crate) fn new(printer: &Arc<Printer<'static>>, verbosity: u8) -> Self {
        Self {
            printer: Arc::clone(printer),
            verbose: verbosity > 0,
            traffic: Mutex::default(),
        }
    }

    /// Shows the progress, also while nothing arrives; never ends.
    pub(crate) async fn watch(self: Arc<Self>) {
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

impl fmt::Debug for ReadProgress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ReadProgress")
            .field("verbose", &self.verbose)
            .finish_non_exhaustive()
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
