//! Two builds of the same sources are the same bytes, and small.

use std::fs;

use super::program::programs;
use super::support::{own_target, pack, root, succeeded};

/// It runs in clusters too, where every start may be a download; kubectl has 60 MB.
const LARGEST: u64 = 28_000_000;

#[test]
fn two_builds_in_two_folders_are_identical() {
    let (one, other) = (&programs().one, &programs().other);
    assert_ne!(one, other);
    let (one_bytes, other_bytes) = (fs::read(one).unwrap(), fs::read(other).unwrap());
    let differs = one_bytes
        .iter()
        .zip(&other_bytes)
        .position(|(one, other)| one != other);
    assert!(
        one_bytes == other_bytes,
        "{} and {} differ: {} and {} bytes, first at {differs:?}",
        one.display(),
        other.display(),
        one_bytes.len(),
        other_bytes.len()
    );
}

#[test]
fn archives_of_the_two_are_identical() {
    let (one, other) = (&programs().one, &programs().other);
    let archive = |program: &std::path::Path| {
        let folder = tempfile::tempdir().unwrap();
        let (program, into) = (program.to_str().unwrap(), folder.path().to_str().unwrap());
        let file = succeeded(&pack(root(), &["archive", &own_target(), program, into]));
        fs::read(file.trim()).unwrap()
    };
    assert!(archive(one) == archive(other));
}

#[test]
fn the_program_is_at_most_28_megabytes() {
    let size = fs::metadata(&programs().one).unwrap().len();
    assert!(size <= LARGEST, "{size} bytes are more than {LARGEST}");
    crate::harness::say(&format!("packaging: the released program has {size} bytes"));
}

#[test]
fn nothing_of_the_machine_is_in_the_program() {
    let bytes = fs::read(&programs().one).unwrap();
    let home = std::env::var("HOME").unwrap();
    for trace in [
        root().to_str().unwrap(),
        &format!("{home}/.cargo"),
        "/registry/src/index",
    ] {
        let mut found = bytes
            .windows(trace.len())
            .enumerate()
            .filter(|(_, window)| *window == trace.as_bytes());
        let bare = found.find(|(at, _)| !bytes[..*at].ends_with(b"/cargo"));
        assert!(bare.is_none(), "{trace} is in the program");
    }
}
