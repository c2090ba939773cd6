//! The newest time in the text of files: when a dump was taken that does not state it.
//!
//! Times are found in the text and not in the objects, since those of containers, heartbeats and managed fields are in
//! fields that nothing else needs, and in kinds that are not decoded.

use std::io::{self, Read};

use jiff::Timestamp;
use memchr::memchr;

/// Fields with a time that had passed when the object was read. Deletions and expiries may be in the future.
const PAST: [&[u8]; 20] = [
    b"acquireTime",
    b"allocationTimestamp",
    b"completionTime",
    b"creationTimestamp",
    b"eventTime",
    b"finishedAt",
    b"firstTimestamp",
    b"lastHeartbeatTime",
    b"lastObservedTime",
    b"lastProbeTime",
    b"lastScheduleTime",
    b"lastSuccessfulTime",
    b"lastTimestamp",
    b"lastTransitionTime",
    b"lastUpdateTime",
    b"renewTime",
    b"startTime",
    b"startedAt",
    b"time",
    b"timeAdded",
];
/// Most bytes of a field with its time.
const LONGEST: usize = 96;

/// Newest time of the text so far.
#[derive(Debug, Default)]
pub(in crate::cluster) struct NewestTime {
    newest: Option<Timestamp>,
    /// The newest time as it is written: times in UTC are ordered as their text is.
    written: Vec<u8>,
    /// Text before the next `Z`.
    pending: Vec<u8>,
}

impl NewestTime {
    /// The newest time.
    pub(in crate::cluster) fn get(&self) -> Option<Timestamp> {
        self.newest
    }

    /// Looks at more text, which need not end at the end of a line.
    pub(in crate::cluster) fn add(&mut self, text: &[u8]) {
        let mut rest = text;
        // All times of Kubernetes are in UTC, and end with a digit and this letter.
        while let Some(end) = memchr(b'Z', rest) {
            let before = rest[..end].last().or(self.pending.last());
            if before.is_some_and(u8::is_ascii_digit) {
                self.keep(&rest[..end]);
                self.look();
            }
            self.pending.clear();
            rest = &rest[end..][1..];
        }
        self.keep(rest);
    }

    /// Gives a reader on whose text this looks.
    pub(in crate::cluster) fn of<R: Read>(&mut self, reader: R) -> impl Read {
        Watched {
            newest: self,
            reader,
        }
    }

    fn keep(&mut self, text: &[u8]) {
        let text = &text[text.len().saturating_sub(LONGEST)..];
        self.pending.extend_from_slice(text);
        let excess = self.pending.len().saturating_sub(LONGEST);
        self.pending.drain(..excess);
    }

    /// Takes the pending text for a field of the past with its time, if it ends with one.
    fn look(&mut self) {
        let is_of_time = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b':' | b'.' | b'T');
        let (before, time) = split_behind(&self.pending, |byte| !is_of_time(byte));
        if time <= self.written.as_slice() {
            return;
        }
        let before = without_quote(before).trim_ascii_end();
        let Some(before) = before.strip_suffix(b":") else {
            return;
        };
        // A key within a string of JSON has a backslash before its quotes, and one of an annotation has a domain.
        let (before, key) = split_behind(without_quote(before), |byte| !byte.is_ascii_alphabetic());
        let begins = before
            .last()
            .is_none_or(|byte| b" \n\t\"'{,".contains(byte));
        let parsed = std::str::from_utf8(time).map(|time| format!("{time}Z").parse());
        if PAST.contains(&key)
            && begins
            && let Ok(Ok(parsed)) = parsed
        {
            self.newest = Some(parsed);
            self.written = time.to_vec();
        }
    }
}

/// The text up to its last byte that `ends`, and the text behind it.
fn split_behind(text: &[u8], ends: impl Fn(&u8) -> bool) -> (&[u8], &[u8]) {
    let begin = text.iter().rposition(ends);
    text.split_at(begin.map_or(0, |place| place.saturating_add(1)))
}

fn without_quote(text: &[u8]) -> &[u8] {
    text.strip_suffix(b"\"")
        .or(text.strip_suffix(b"'"))
        .unwrap_or(text)
}

/// A reader on whose text a [`NewestTime`] looks.
struct Watched<'a, R> {
    newest: &'a mut NewestTime,
    reader: R,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.newest.add(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_time_of_the_past_is_found_however_the_text_is_cut() {
        let old = r#""startedAt":"2026-01-01T00:00:00Z""#;
        for (field, newest) in [
            (r#""lastHeartbeatTime":"2026-01-02T00:00:00Z""#, true),
            ("- lastTransitionTime: 2026-01-02T00:00:00Z\n", true),
            (r#"{time: "2026-01-02T00:00:00.000000Z"}"#, true),
            ("eventTime: '2026-01-02T00:00:00Z'", true),
            (r#""deletionTimestamp": "2026-01-02T00:00:00Z""#, false),
            (r#""example.com/renewTime": "2026-01-02T00:00:00Z""#, false),
            (r#""a": "{\"renewTime\":\"2026-01-02T00:00:00Z\"}""#, false),
            (r#""renewTime": "2026-99-02T00:00:00Z""#, false),
        ] {
            let expected = if newest { "2026-01-02" } else { "2026-01-01" };
            let text = format!("{field}, {old}");
            for cut in 0..text.len() {
                let mut found = NewestTime::default();
                found.add(&text.as_bytes()[..cut]);
                let rest = io::copy(&mut found.of(&text.as_bytes()[cut..]), &mut io::sink());
                rest.expect("memory");
                let found = found.get().expect("a time").to_string();
                assert!(found.starts_with(expected), "{field} at {cut}: {found}");
            }
        }
    }
}
