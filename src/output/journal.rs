//! What goes on, line by line, for programs.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long the end of a command waits for a reader that does not read.
const PATIENCE: Duration = Duration::from_secs(2);

/// Lines that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the lines of --events to {name}")]
pub struct JournalError {
    name: String,
    #[source]
    source: io::Error,
}

/// Lines that are written one by one while a command goes on, each whole and at once.
///
/// A thread of its own writes them, so that a reader that is slow or gone, or a disk that is full, keeps
/// no command from what it does. After the first line that cannot be written none is tried any more:
/// a gap would look as if nothing had happened.
#[derive(Debug)]
pub struct Journal {
    name: String,
    lines: Mutex<Option<Sender<String>>>,
    ended: Mutex<Option<Receiver<io::Result<()>>>>,
}

/// Where lines go.
trait Sink: Write + Send {
    /// Takes back what was written of a line that did not fit.
    fn take_back(&mut self, length: Option<u64>);

    /// How much was written so far; absent where that cannot be taken back.
    fn length(&self) -> Option<u64>;
}

impl Sink for File {
    fn take_back(&mut self, length: Option<u64>) {
        if let Some(length) = length {
            // There is nothing else to try: the failure that led here is told.
            let _ = self.set_len(length);
        }
    }

    fn length(&self) -> Option<u64> {
        let metadata = self.metadata().ok()?;
        // What a pipe or a device has taken cannot be taken back.
        metadata.is_file().then_some(metadata.len())
    }
}

impl Sink for io::Stdout {
    fn take_back(&mut self, _: Option<u64>) {}

    fn length(&self) -> Option<u64> {
        None
    }
}

impl Journal {
    /// Adds lines to the end of a file, which is made where there is none. To be called where it does
    /// no harm to wait: a pipe is open once somebody reads it.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened.
    pub fn at_the_end_of(path: &Path) -> Result<Self, JournalError> {
        let name = path.display().to_string();
        match OpenOptions::new().append(true).create(true).open(path) {
            Ok(file) => Ok(Self::on(file, name)),
            Err(source) => Err(JournalError { name, source }),
        }
    }

    /// Writes lines to standard output.
    #[must_use]
    pub fn on_standard_output() -> Self {
        Self::on(io::stdout(), "standard output".to_owned())
    }

    fn on(sink: impl Sink + 'static, name: String) -> Self {
        let (lines, received) = mpsc::channel::<String>();
        let (sender, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let mut sink = sink;
            let written = received
                .iter()
                .try_for_each(|line| write_whole(&mut sink, &line));
            // Whoever has not waited for it needs no answer.
            let _ = sender.send(written);
        });
        Self {
            name,
            lines: Mutex::new(Some(lines)),
            ended: Mutex::new(Some(ended)),
        }
    }

    /// Writes a line, which ends with a line break, as soon as the ones before it are written. One that
    /// cannot be written is told by [`Journal::close`].
    pub fn write(&self, line: String) {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lines) = lines.as_ref() {
            // The writer is gone once it has failed.
            let _ = lines.send(line);
        }
    }

    /// Waits until everything is written.
    ///
    /// # Errors
    ///
    /// When a line could not be written, also because nobody read it for too long.
    pub fn close(&self) -> Result<(), JournalError> {
        // Dropping the sender ends the thread once it has written all lines.
        let lines = self
            .lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(lines);
        let ended = self
            .ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let written = match ended.map(|ended| ended.recv_timeout(PATIENCE)) {
            None => Ok(()),
            Some(Ok(written)) => written,
            Some(Err(_)) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "no process reads them",
            )),
        };
        written.map_err(|source| JournalError {
            name: self.name.clone(),
            source,
        })
    }
}

fn write_whole(sink: &mut impl Sink, line: &str) -> io::Result<()> {
    // A line that is written half would make the whole file unreadable as JSON Lines.
    let before = sink.length();
    let written = sink.write_all(line.as_bytes()).and_then(|()| sink.flush());
    if written.is_err() {
        sink.take_back(before);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A disk on which there is room for so many bytes.
    #[derive(Clone, Default)]
    struct Disk {
        bytes: Arc<Mutex<Vec<u8>>>,
        room: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut kept = self.bytes.lock().unwrap();
            let fits = self.room.saturating_sub(kept.len()).min(bytes.len());
            if fits == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            kept.extend_from_slice(&bytes[..fits]);
            Ok(fits)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Sink for Disk {
        fn take_back(&mut self, length: Option<u64>) {
            let length = usize::try_from(length.unwrap()).unwrap();
            self.bytes.lock().unwrap().truncate(length);
        }

        fn length(&self) -> Option<u64> {
            u64::try_from(self.bytes.lock().unwrap().len()).ok()
        }
    }

    #[test]
    fn lines_are_there_in_their_order_when_it_is_closed() {
        let disk = Disk {
            room: 1000,
            ..Disk::default()
        };
        let journal = Journal::on(disk.clone(), "x".to_owned());
        for number in 0..10 {
            journal.write(format!("{number}\n"));
        }
        journal.close().unwrap();
        journal.close().unwrap();
        let text = String::from_utf8(disk.bytes.lock().unwrap().clone()).unwrap();
        assert_eq!(text, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    }

    #[test]
    fn a_line_that_does_not_fit_leaves_nothing_and_none_follows_it() {
        let disk = Disk {
            room: 8,
            ..Disk::default()
        };
        let journal = Journal::on(disk.clone(), "x".to_owned());
        for line in ["12345\n", "67890\n", "1\n"] {
            journal.write(line.to_owned());
        }
        assert!(journal.close().is_err());
        assert_eq!(*disk.bytes.lock().unwrap(), b"12345\n");
    }
}
