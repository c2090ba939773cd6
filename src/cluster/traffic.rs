//! Progress of reads: requests under way, and bytes received.

use std::collections::BTreeMap;

use super::observer::Event;
use super::path::resource_in;

/// Bytes that have arrived, by the request that is under way.
#[derive(Debug, Default)]
pub struct Traffic {
    finished: u64,
    under_way: BTreeMap<String, u64>,
}

impl Traffic {
    /// Takes an event into account.
    pub fn count(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { path, .. } => {
                self.under_way.insert((*path).to_owned(), 0);
            }
            Event::Progress { path, bytes } => {
                if let Some(so_far) = self.under_way.get_mut(*path) {
                    *so_far = *bytes;
                }
            }
            Event::Finished { path, .. } | Event::Failed { path, .. } => {
                let read = self.under_way.remove(*path).unwrap_or_default();
                self.finished = self.finished.saturating_add(read);
            }
            Event::Notice(_) => {}
        }
    }

    /// Current reads in one line; nothing while there is none.
    pub fn describe(&self) -> Option<String> {
        let under_way = self.under_way.values().copied();
        let total = under_way.fold(self.finished, u64::saturating_add);
        let paths = self.under_way.keys();
        let mut names: Vec<&str> = paths.map(|path| resource_in(path)).collect();
        names.sort_unstable();
        names.dedup();
        let megabytes = total / 1_000_000;
        let tenths = total / 100_000 % 10;
        (!names.is_empty()).then(|| {
            let names = names.join(", ");
            format!("reading {names} ({megabytes}.{tenths} MB so far)")
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_has_arrived_is_counted_and_only_what_is_under_way_is_named() {
        let (pods, claims) = ("/api/v1/pods", "/apis/resource.k8s.io/v1/resourceclaims");
        let mut traffic = Traffic::default();
        assert_eq!(traffic.describe(), None);
        for path in [pods, claims] {
            let method = "GET";
            traffic.count(&Event::Started { method, path });
        }
        let bytes = 1_250_000;
        traffic.count(&Event::Progress { path: pods, bytes });
        let told = "reading pods, resourceclaims (1.2 MB so far)";
        assert_eq!(traffic.describe().as_deref(), Some(told));
        let finished = Event::Finished {
            method: "GET",
            path: pods,
            status: 200,
            bytes,
            elapsed: Duration::from_millis(7),
        };
        traffic.count(&finished);
        let told = "reading resourceclaims (1.2 MB so far)";
        assert_eq!(traffic.describe().as_deref(), Some(told));
        assert_eq!(
            finished.to_string(),
            "GET /api/v1/pods 200 1250000 bytes in 7 ms"
        );
    }
}
