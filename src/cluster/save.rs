//! Writes what was read into a file, all of it or nothing.
//!
//! The text is a plain v1 List with one object a line. It goes into a file of its own beside the
//! destination and gets its name at the very end, so no reader ever sees a part of it, and a run that
//! fails or is stopped leaves nothing behind. Only the user may read it: names of pods are private.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use futures::channel::oneshot;

use crate::cluster::files::gather::{SavedNotes, annotations};
use crate::cluster::read::everything::Saved;

/// Reason why a snapshot was not written; the destination is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// Something is there already.
    #[error("{file} already exists")]
    Exists {
        /// The destination.
        file: String,
    },
    /// The system refuses.
    #[error("cannot write {file}")]
    Write {
        /// The destination.
        file: String,
        /// The system's words.
        #[source]
        source: io::Error,
    },
    /// The program was interrupted.
    #[error("stopped before {file} was complete")]
    Stopped {
        /// The destination.
        file: String,
    },
}

impl SaveError {
    /// Remedy, if any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Exists { .. } => Some("to replace it, add --force"),
            Self::Write { .. } | Self::Stopped { .. } => None,
        }
    }
}

/// Handling of a destination that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave it alone and fail.
    Keep,
    /// Put the new file into its place.
    Replace,
}

/// A file to be written, compressed if its extension is `.gz`.
#[derive(Clone, Debug)]
pub struct Destination {
    path: PathBuf,
    existing: Existing,
}

impl Destination {
    /// Checks that `path` can be written, before the user waits for a cluster.
    ///
    /// # Errors
    ///
    /// When it exists and is to be kept, or can be no file.
    pub fn new(path: &Path, existing: Existing) -> Result<Self, SaveError> {
        let destination = Self {
            path: path.to_owned(),
            existing,
        };
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                Err(destination.failed(io::ErrorKind::IsADirectory.into()))
            }
            Ok(found) if found.is_file() && existing == Existing::Keep => Err(destination.exists()),
            Ok(_) => Ok(destination),
            Err(_) => match path.parent().map(fs::metadata) {
                // The parent of a bare name is the empty path.
                Some(Err(error)) if path.parent() != Some(Path::new("")) => {
                    Err(destination.failed(error))
                }
                Some(_) | None => Ok(destination),
            },
        }
    }

    /// Writes everything, then gives it its name. `stop` ends that early.
    ///
    /// # Errors
    ///
    /// When the file cannot be written, has come into being meanwhile, or `stop` was set.
    pub fn save(
        &self,
        saved: &Saved,
        notes: &SavedNotes,
        stop: &AtomicBool,
    ) -> Result<(), SaveError> {
        let result = if self.is_stream() {
            self.write_stream(saved, notes, stop)
        } else {
            self.write_file(saved, notes, stop)
        };
        result.map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                self.exists()
            } else if stop.load(Ordering::Relaxed) {
                self.stopped()
            } else {
                self.failed(error)
            }
        })
    }

    /// The program was interrupted.
    fn stopped(&self) -> SaveError {
        SaveError::Stopped { file: self.name() }
    }

    /// Pipes and devices, such as `/dev/stdout`, have no name to give.
    fn is_stream(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|found| !found.is_file())
    }

    fn write_stream(&self, saved: &Saved, notes: &SavedNotes, stop: &AtomicBool) -> io::Result<()> {
        // Without `create`: if the pipe has gone meanwhile, no file may appear in its place.
        let file = OpenOptions::new().write(true).open(&self.path)?;
        self.encode(saved, notes, Stoppable { file, stop })
            .map(drop)
    }

    fn write_file(&self, saved: &Saved, notes: &SavedNotes, stop: &AtomicBool) -> io::Result<()> {
        // The file that a link names is replaced, not the link.
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        // For the user's eyes only, and gone with this value unless it gets its name.
        let unnamed = tempfile::Builder::new()
            .prefix(".kubectl-devicetaint-")
            .tempfile_in(folder.unwrap_or(Path::new(".")))?;
        let file = unnamed.as_file().try_clone()?;
        self.encode(saved, notes, Stoppable { file, stop })?;
        // Before the rename: after a crash the name must not lead to a file without its content.
        unnamed.as_file().sync_all()?;
        if stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let named = match self.existing {
            Existing::Replace => unnamed.persist(&path),
            Existing::Keep => unnamed.persist_noclobber(&path),
        };
        named.map(drop).map_err(|error| error.error)
    }

    fn encode<W: Write>(&self, saved: &Saved, notes: &SavedNotes, to: W) -> io::Result<()> {
        let mut to = BufWriter::with_capacity(1 << 16, to);
        if self.path.to_string_lossy().to_lowercase().ends_with(".gz") {
            let mut encoder = GzEncoder::new(to, Compression::default());
            write_json(saved, notes, &mut encoder)?;
            // Finished and flushed explicitly, because the destructors ignore errors.
            encoder.finish()?.flush()
        } else {
            write_json(saved, notes, &mut to)?;
            to.flush()
        }
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn exists(&self) -> SaveError {
        SaveError::Exists { file: self.name() }
    }

    fn failed(&self, source: io::Error) -> SaveError {
        SaveError::Write {
            file: self.name(),
            source,
        }
    }
}

/// The snapshot as text, for a stream that is not a file.
///
/// All characters beyond ASCII are escaped, so it may be shown anywhere.
pub fn to_json(saved: &Saved, notes: &SavedNotes) -> String {
    let mut text = Vec::new();
    let written = write_json(saved, notes, &mut text);
    debug_assert!(written.is_ok(), "writing to memory cannot fail");
    String::from_utf8_lossy(&text).into_owned()
}

fn write_json(saved: &Saved, notes: &SavedNotes, to: &mut dyn Write) -> io::Result<()> {
    let metadata = serde_json::json!({ "annotations": annotations(saved, notes) }).to_string();
    write!(
        to,
        "{{\"apiVersion\":\"v1\",\"kind\":\"List\",\"metadata\":{},\"items\":[",
        escaped(&metadata)
    )?;
    let items = saved.lists.iter().flat_map(|list| &list.items);
    for (place, item) in items.enumerate() {
        let separator = if place == 0 { "\n" } else { ",\n" };
        write!(to, "{separator}{}", escaped(item.get()))?;
    }
    to.write_all(b"\n]}\n")
}

/// JSON in which no character is beyond ASCII, or acts on a terminal: those are escaped, in units of 16 bits.
///
/// Outside of strings JSON has no such characters but line breaks, so every one may become an escape.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            ' '..='~' | '\n' => text.push(character),
            character => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    text
}

/// Stops taking bytes when it is told to.
struct Stoppable<'a> {
    file: File,
    stop: &'a AtomicBool,
}

impl Write for Stoppable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            // Not `Interrupted`: that would be tried again.
            return Err(io::Error::other("stopped"));
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::SavedList;
    use crate::model::Kind;
    use serde_json::Value;

    fn saved() -> Saved {
        let items = [
            r#"{"kind":"Pod","metadata":{"name":"\u202e p","note":"é𝄞\uffff"}}"#,
            "{}",
        ];
        Saved {
            lists: vec![SavedList {
                kind: Kind::Pod,
                api_version: "v1",
                resource_version: "7".to_owned(),
                items: items
                    .map(|item| serde_json::value::RawValue::from_string(item.to_owned()))
                    .map(|item| item.expect("JSON"))
                    .into(),
            }],
            ..Saved::default()
        }
    }

    #[test]
    fn text_is_json_without_anything_beyond_ascii() {
        let text = to_json(&saved(), &SavedNotes::default());
        assert!(text.is_ascii(), "{text}");
        let list: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(list["items"][0]["metadata"]["note"], "é𝄞\u{ffff}");
        assert_eq!(list["items"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    #[cfg(unix)]
    fn file_is_its_owners_and_replaces_what_a_link_names() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().expect("a folder");
        let (path, link) = (
            folder.path().join("cluster.json"),
            folder.path().join("link"),
        );
        fs::write(&path, "old").expect("a file");
        symlink(&path, &link).expect("a link");
        let destination = Destination::new(&link, Existing::Replace).expect("a destination");
        let never = AtomicBool::new(false);
        destination
            .save(&saved(), &SavedNotes::default(), &never)
            .expect("saved");
        assert!(fs::symlink_metadata(&link).expect("it").is_symlink());
        assert!(fs::read(&path).expect("it").starts_with(b"{"));
        let mode = fs::metadata(&path).expect("it").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).expect("it").count(), 2);
    }

    #[test]
    fn a_run_that_is_stopped_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cluster.json");
        let destination = Destination::new(&path, Existing::Keep).expect("a destination");
        let error = destination
            .save(&saved(), &SavedNotes::default(), &AtomicBool::new(true))
            .expect_err("stopped");
        assert!(matches!(error, SaveError::Stopped { .. }), "{error}");
        assert_eq!(fs::read_dir(folder.path()).expect("it").count(), 0);
    }

    #[test]
    fn what_came_into_being_meanwhile_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cluster.json");
        let destination = Destination::new(&path, Existing::Keep).expect("a destination");
        fs::write(&path, "mine").expect("a file");
        let never = AtomicBool::new(false);
        let error = destination
            .save(&saved(), &SavedNotes::default(), &never)
            .expect_err("it is there");
        assert!(matches!(error, SaveError::Exists { .. }), "{error}");
        assert_eq!(fs::read(&path).expect("it"), b"mine");
        assert_eq!(fs::read_dir(folder.path()).expect("it").count(), 1);
    }

    #[test]
    fn a_folder_that_is_missing_is_noticed_beforehand() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("missing").join("cluster.json");
        let error = Destination::new(&path, Existing::Keep).expect_err("no folder");
        assert!(matches!(error, SaveError::Write { .. }), "{error}");
        assert!(Destination::new(Path::new("cluster-x.json"), Existing::Keep).is_ok());
    }
}
