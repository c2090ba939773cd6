//! Writing of a file on a thread of its own, which the caller can stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use futures::channel::oneshot;

use super::file::{Destination, SaveError};
use crate::cluster::files::SavedNotes;
use crate::cluster::read::everything::Saved;

/// Maximum time for the cleanup of an interrupted program.
const TIDYING: Duration = Duration::from_secs(1);

impl Destination {
    /// As [`Destination::save`]. Dropping this, as on an interruption of the program, removes what
    /// is half-written.
    ///
    /// # Errors
    ///
    /// As [`Destination::save`].
    pub async fn save_apart(self, saved: Saved, notes: SavedNotes) -> Result<(), SaveError> {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let (sender, result) = oneshot::channel();
        let (finished, done) = mpsc::channel();
        let gone = self.stopped();
        // A thread of its own: the program does not wait for it at the end, should the file be a pipe
        // without a reader.
        std::thread::spawn(move || {
            let result = self.save(&saved, &notes, &seen);
            // A caller that has gone meanwhile needs no answer.
            let _ = sender.send(result);
            let _ = finished.send(());
        });
        let _tidying = WriterGuard { stop, done };
        result.await.unwrap_or(Err(gone))
    }
}

/// Stops the writing thread when it is dropped, and gives it time to tidy up.
struct WriterGuard {
    stop: Arc<AtomicBool>,
    done: mpsc::Receiver<()>,
}

impl Drop for WriterGuard {
    fn drop(&mut self) {
        // Relaxed is enough: no other data depend on the flag.
        self.stop.store(true, Ordering::Relaxed);
        // Too late is no failure: the program ends all the same.
        let _ = self.done.recv_timeout(TIDYING);
    }
}
