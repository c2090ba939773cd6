//! Latency and throughput of the connection, and whether compression pays for it.
//!
//! An API server compresses at some 100 MB/s, to a tenth: that pays on every network that is slower,
//! and costs time where the server is next door. The address does not tell: a tunnel to the other side
//! of the world begins on this machine. So it is measured, in each run and from run to run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A server that answers a small question within this time, connection and all, is next door. Farther
/// away three round trips take longer.
const NEAR: Duration = Duration::from_millis(15);
/// Bytes per second: below this, a tenth of the bytes arrives sooner than all of them.
const SLOW: u64 = 50_000_000;
/// Answers up to this size say how long the way is.
const SMALL: u64 = 16 << 10;
/// Answers from this size on say how wide it is.
const LARGE: u64 = 1 << 20;

/// What is known of the way to a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cluster) struct LinkQuality {
    /// The shortest time in which a small answer came.
    micros: Option<u64>,
    /// The most at which an answer came that was not compressed.
    bytes_per_second: Option<u64>,
}

/// An answer, and how it came.
#[derive(Clone, Copy, Debug)]
pub(in crate::cluster) struct ResponseTiming {
    /// Of the body, uncompressed.
    pub(in crate::cluster) bytes: u64,
    /// From the question to the end of the answer.
    pub(in crate::cluster) elapsed: Duration,
    /// What of that the body was waited for: without the server's own work before it, and without what
    /// was done here with the bytes.
    pub(in crate::cluster) body: Duration,
    pub(in crate::cluster) is_compressed: bool,
}

impl LinkQuality {
    /// What is known after one more answer.
    pub(in crate::cluster) fn after(self, answer: ResponseTiming) -> Self {
        let mut link = self;
        let micros = u64::try_from(answer.elapsed.as_micros()).unwrap_or(u64::MAX);
        if answer.bytes <= SMALL {
            let least = link.micros.map_or(micros, |known| known.min(micros));
            link.micros = Some(least);
        }
        if answer.bytes >= LARGE && !answer.is_compressed {
            let waited = u64::try_from(answer.body.as_micros()).unwrap_or(u64::MAX);
            let speed = answer
                .bytes
                .saturating_mul(1_000_000)
                .checked_div(waited)
                .unwrap_or(u64::MAX);
            // The maximum: a busy server slows single responses down, but nothing makes them faster than the link.
            link.bytes_per_second = link.bytes_per_second.max(Some(speed));
        }
        link
    }

    /// Whether to ask for compressed answers. Where nothing is known it is the safe choice: what it
    /// costs next door is little beside what it saves far away.
    pub(in crate::cluster) fn is_compression_worth_it(self) -> bool {
        let near = u64::try_from(NEAR.as_micros()).unwrap_or(u64::MAX);
        let is_near = self.micros.is_some_and(|micros| micros <= near);
        let is_slow = self.bytes_per_second.is_some_and(|speed| speed < SLOW);
        !is_near || is_slow
    }

    /// What is known where `measured` in this run and `remembered` from others say different things.
    pub(in crate::cluster) fn known(measured: Self, remembered: Option<Self>) -> Self {
        let remembered = remembered.unwrap_or_default();
        Self {
            micros: measured.micros.or(remembered.micros),
            bytes_per_second: measured.bytes_per_second.or(remembered.bytes_per_second),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(milliseconds: u64) -> ResponseTiming {
        ResponseTiming {
            bytes: 300,
            elapsed: Duration::from_millis(milliseconds),
            body: Duration::ZERO,
            is_compressed: true,
        }
    }

    fn large(megabytes: u64, milliseconds: u64) -> ResponseTiming {
        ResponseTiming {
            bytes: megabytes << 20,
            elapsed: Duration::MAX,
            body: Duration::from_millis(milliseconds),
            is_compressed: false,
        }
    }

    #[test]
    fn compression_is_for_ways_that_are_long_or_narrow() {
        for (name, answers, expected) in [
            ("nothing is known", vec![], true),
            ("next door", vec![small(15)], false),
            ("not next door", vec![small(16)], true),
            ("a slow first answer", vec![small(40), small(3)], false),
            ("a slow last answer", vec![small(3), small(40)], false),
            ("near and wide", vec![small(3), large(50, 1000)], false),
            ("near and narrow", vec![small(3), large(47, 1000)], true),
            (
                "once narrow",
                vec![small(3), large(10, 1000), large(100, 1000)],
                false,
            ),
            ("far and wide", vec![small(100), large(500, 1000)], true),
            (
                "large answers say nothing of distance",
                vec![large(2, 1)],
                true,
            ),
            ("in no time", vec![small(0), large(2, 0)], false),
        ] {
            let link = answers
                .iter()
                .fold(LinkQuality::default(), |link, answer| link.after(*answer));
            assert_eq!(link.is_compression_worth_it(), expected, "{name}");
        }
    }

    #[test]
    fn compressed_answers_do_not_tell_how_wide_the_way_is() {
        let answer = ResponseTiming {
            is_compressed: true,
            ..large(1, 1000)
        };
        let link = LinkQuality::default().after(small(3)).after(answer);
        assert!(!link.is_compression_worth_it());
    }

    #[test]
    fn what_is_measured_goes_before_what_is_remembered() {
        let near = LinkQuality::default().after(small(3));
        let far = LinkQuality::default().after(small(300));
        let nothing = LinkQuality::default();
        for (measured, remembered, expected) in [
            (nothing, None, true),
            (nothing, Some(near), false),
            (nothing, Some(far), true),
            (far, Some(near), true),
            (near, Some(far), false),
        ] {
            let known = LinkQuality::known(measured, remembered);
            assert_eq!(
                known.is_compression_worth_it(),
                expected,
                "{measured:?} {remembered:?}"
            );
        }
        let narrow = LinkQuality::default().after(large(1, 1000));
        assert!(LinkQuality::known(near, Some(narrow)).is_compression_worth_it());
    }

    #[test]
    fn sizes_and_times_beyond_all_measure_are_no_panic() {
        let answer = ResponseTiming {
            bytes: u64::MAX,
            elapsed: Duration::MAX,
            body: Duration::MAX,
            is_compressed: false,
        };
        let link = LinkQuality::default().after(answer).after(answer);
        assert!(link.is_compression_worth_it());
    }
}
