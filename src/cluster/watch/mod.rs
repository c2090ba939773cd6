//! Objects that are read once, and then kept current by watches.
//!
//! ```text
//! Reading ─▶ Watched::keep ─▶ a feed per kind ─▶ changed().await ─▶ reading()
//! ```
//!
//! A [`Watched`] starts from a reading and resumes each of its lists where that ended, so that a list
//! is read once however long it is looked at. Dropping it ends all requests.

mod feed;
mod watched;

pub use watched::Watched;
