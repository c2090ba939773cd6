//! The way to a server as it is measured, and remembered for the next run.

use std::sync::{Mutex, PoisonError};

use super::link_quality::{LinkQuality, ResponseTiming};
use crate::cluster::cache::Cache;

/// How far away the server is, as far as is known.
#[derive(Debug)]
pub(super) struct LinkMonitor {
    cache: Option<Cache>,
    /// Whether the user lets answers be compressed at all.
    is_allowed: bool,
    remembered: Option<LinkQuality>,
    measured: Mutex<LinkMeasurement>,
}

#[derive(Debug, Default)]
struct LinkMeasurement {
    link: LinkQuality,
    /// What the next run will find.
    kept: Option<LinkQuality>,
}

impl LinkMonitor {
    /// That of the server whose `cache` this is.
    pub(super) fn new(cache: Option<Cache>, is_allowed: bool) -> Self {
        let bytes = cache.as_ref().and_then(Cache::link);
        let remembered = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        Self {
            cache,
            is_allowed,
            remembered,
            measured: Mutex::new(LinkMeasurement {
                link: LinkQuality::default(),
                kept: remembered,
            }),
        }
    }

    /// Whether to ask for a compressed answer.
    pub(super) fn compresses(&self) -> bool {
        self.is_allowed && self.known().is_compression_worth_it()
    }

    /// Notes an answer.
    pub(super) fn note(&self, answer: ResponseTiming) {
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        measured.link = measured.link.after(answer);
        let known = LinkQuality::known(measured.link, self.remembered);
        let worth = LinkQuality::is_compression_worth_it;
        // Only what changes something for the next run is worth a file.
        if measured.kept.map(worth) != Some(worth(known))
            && let Some(cache) = &self.cache
            && let Ok(text) = serde_json::to_vec(&known)
        {
            cache.keep_link(&text);
            measured.kept = Some(known);
        }
    }

    fn known(&self) -> LinkQuality {
        let measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        LinkQuality::known(measured.link, self.remembered)
    }
}
