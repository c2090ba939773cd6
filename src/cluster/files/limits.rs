//! Limits on how much is read from files.

/// Limits on input. Counted while it is read, so that oversized input is never taken
/// in as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes of one file, unpacked.
    pub bytes: u64,
    /// Most bytes of text that are held at once, unless a plain file is as large as that on the disk.
    /// JSON that goes on is decoded as it is read; anything else that goes on is refused.
    pub held: u64,
    /// Most bytes that one byte of gzip may stand for; dumps of clusters reach about 50.
    pub gzip_ratio: u64,
    /// Most bytes that any gzip may stand for, however small it is.
    pub gzip_always: u64,
    /// Most files that one directory may hold, with those below it.
    pub files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 4 << 30,
            held: 48 << 20,
            gzip_ratio: 200,
            gzip_always: 64 << 20,
            files: 100_000,
        }
    }
}
