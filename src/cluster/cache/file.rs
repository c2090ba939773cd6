//! One file of the cache: whether it is believed, and how it is replaced.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};

use crate::cluster::bounded;

/// For how long a file is believed.
///
/// Upstream: `toDiscoveryClient` in `cli-runtime/pkg/genericclioptions/config_flags.go`.
const LIFETIME: SignedDuration = SignedDuration::from_hours(6);

/// Whether a file that was written at `written` is believed at `now`. One from the future was not
/// written by a clock that can be believed.
fn is_fresh(written: Timestamp, now: Timestamp) -> bool {
    let age = now.duration_since(written);
    // Files may be dated a moment later than the program began that reads them.
    age >= SignedDuration::from_secs(-2) && age < LIFETIME
}

/// What is in the file, if it is believed.
pub(super) fn read(path: &Path, now: Timestamp) -> Option<Vec<u8>> {
    // A pipe in place of the file would block every command at its start.
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let written = timestamp(found.modified().ok()?)?;
    if !is_fresh(written, now) {
        return None;
    }
    bounded::read(path).ok()
}

fn timestamp(time: SystemTime) -> Option<Timestamp> {
    Timestamp::try_from(time).ok()
}

/// Replaces the file as a whole: whoever reads it finds the old one or the new one.
///
/// Upstream: `writeCachedFile` in `client-go/discovery/cached/disk`, with its permissions.
pub(super) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make(folder)?;
    let mut prefix = path.file_name().unwrap_or_default().to_owned();
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o660));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(content)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o750);
    }
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn a_file_is_fresh_for_six_hours() {
        let now = at("2026-11-21T12:00:00Z");
        for (written, believed) in [
            ("2026-11-21T12:00:00Z", true),
            ("2026-11-21T06:00:01Z", true),
            ("2026-11-21T06:00:00Z", false),
            ("2020-01-01T00:00:00Z", false),
            ("2026-11-21T12:00:02Z", true),
            ("2026-11-21T12:00:03Z", false),
            ("2099-01-01T00:00:00Z", false),
        ] {
            assert_eq!(is_fresh(at(written), now), believed, "{written}");
        }
    }

    #[test]
    fn only_files_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let now = Timestamp::try_from(SystemTime::UNIX_EPOCH).expect("a time");
        assert_eq!(read(folder.path(), now), None);
        assert_eq!(read(Path::new("/dev/zero"), now), None);
        assert_eq!(read(&folder.path().join("missing"), now), None);
    }

    #[test]
    fn what_is_written_is_read_again_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a/b/serverresources.json");
        write(&path, b"old").expect("it can be written");
        write(&path, b"new").expect("it can be replaced");
        let written = fs::metadata(&path).and_then(|found| found.modified());
        let now = timestamp(written.expect("a time")).expect("a time");
        assert_eq!(read(&path, now).as_deref(), Some(&b"new"[..]));
        let left = fs::read_dir(folder.path().join("a/b")).expect("a folder");
        assert_eq!(left.count(), 1);
        let blocked = folder.path().join("a/b/serverresources.json/below");
        assert!(write(&blocked, b"x").is_err());
    }
}
