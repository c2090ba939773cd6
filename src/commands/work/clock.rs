//! This machine's clock, for when nobody else says what time it is.

use jiff::Timestamp;

/// What time it is here. A server's time goes before it wherever there is one.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place that reads the clock"
)]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
