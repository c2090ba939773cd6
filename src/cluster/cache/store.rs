//! The cache of one server.

use std::path::PathBuf;

use jiff::Timestamp;

use super::{file, folder};

/// What is remembered of one server. Reading and writing it never fails: there is something, or not.
#[derive(Clone, Debug)]
pub(in crate::cluster) struct Cache {
    /// The whole cache.
    root: PathBuf,
    /// The server's part in it.
    server: PathBuf,
    /// When the program began.
    now: Timestamp,
}

impl Cache {
    /// That of the server at `address`, in the folder `root` of all caches; the program began `now`. `None` for
    /// an address that is none.
    pub(in crate::cluster) fn of(address: &str, root: PathBuf, now: Timestamp) -> Option<Self> {
        Some(Self {
            root,
            server: folder::of_server(address)?,
            now,
        })
    }

    /// What the version `api_version` of an API has, as the server once described it.
    pub(in crate::cluster) fn resources(&self, api_version: &str) -> Option<Vec<u8>> {
        file::read(&self.place(api_version), self.now)
    }

    /// Remembers it.
    pub(in crate::cluster) fn keep_resources(&self, api_version: &str, body: &[u8]) {
        // As kubectl: a cache that cannot be written is no cache.
        let _ = file::write(&self.place(api_version), body);
    }

    /// Forgets what turned out not to be so.
    pub(in crate::cluster) fn forget_resources(&self, api_version: &str) {
        let _ = std::fs::remove_file(self.place(api_version));
    }

    /// How far away the server was.
    pub(in crate::cluster) fn link(&self) -> Option<Vec<u8>> {
        file::read(&self.root.join(folder::of_link(&self.server)), self.now)
    }

    /// Remembers it.
    pub(in crate::cluster) fn keep_link(&self, body: &[u8]) {
        let _ = file::write(&self.root.join(folder::of_link(&self.server)), body);
    }

    fn place(&self, api_version: &str) -> PathBuf {
        let file = folder::of_resources(&self.server, api_version);
        self.root.join(file)
    }
}
