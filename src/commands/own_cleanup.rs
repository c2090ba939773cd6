//! A section of a command that hears of signals itself, since it has something to take back.

use tokio::sync::watch;

/// Whether such a section is under way: whoever stops the program lets it end first.
#[derive(Debug)]
pub(crate) struct OwnCleanup(watch::Sender<bool>);

/// The section; it ends when this is dropped.
#[must_use]
pub(crate) struct CleanupSection<'a>(&'a OwnCleanup);

impl Default for OwnCleanup {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl OwnCleanup {
    /// Begins the section.
    pub(crate) fn begin(&self) -> CleanupSection<'_> {
        self.0.send_replace(true);
        CleanupSection(self)
    }

    /// Waits until no section is under way.
    pub(crate) async fn over(&self) {
        let mut state = self.0.subscribe();
        // Its sender is here, so that it cannot be gone.
        let _ = state.wait_for(|is_open| !is_open).await;
    }

    /// Whether a section is under way.
    pub(crate) fn is_open(&self) -> bool {
        *self.0.borrow()
    }
}

impl Drop for CleanupSection<'_> {
    fn drop(&mut self) {
        self.0.0.send_replace(false);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_signal_waits_until_the_section_is_over() {
        let cleanup = OwnCleanup::default();
        let moment = Duration::from_millis(1);
        assert!(!cleanup.is_open());
        assert!(timeout(moment, cleanup.over()).await.is_ok());
        let section = cleanup.begin();
        assert!(cleanup.is_open());
        assert!(timeout(moment, cleanup.over()).await.is_err());
        drop(section);
        assert!(!cleanup.is_open());
        assert!(timeout(moment, cleanup.over()).await.is_ok());
    }
}
