//! Consumers of a body while it arrives.

use super::retry::AttemptFailure;

/// Takes a body while it arrives.
pub(in crate::cluster) trait BodyReader {
    /// Result made of the body.
    type Output;

    /// Takes the next bytes.
    fn push(&mut self, bytes: &[u8]) -> Result<(), AttemptFailure>;

    /// Takes the end of the body, and judges whether that was all of it.
    fn finish(self) -> Result<Self::Output, AttemptFailure>;
}

/// More than this is no object and no account of what a server has: etcd takes 1.5 MB for an object. A page
/// of a list that is longer is asked for in smaller ones.
const LONGEST: usize = 32 << 20;

/// Adds `bytes` to a body that is held as a whole: the one place where bytes of a server accumulate.
///
/// # Errors
///
/// When the body becomes too long; `bytes` are not kept then.
pub(in crate::cluster) fn hold(body: &mut Vec<u8>, bytes: &[u8]) -> Result<(), AttemptFailure> {
    if bytes.len() > LONGEST.saturating_sub(body.len()) {
        let limit = LONGEST >> 20;
        return Err(AttemptFailure::TooLong(format!(
            "it is longer than {limit} MiB"
        )));
    }
    body.extend_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_taken_up_to_its_limit() {
        let mut body = Vec::new();
        hold(&mut body, &[0; LONGEST]).expect("as much as it may");
        let more = hold(&mut body, b"x");
        assert!(matches!(more, Err(AttemptFailure::TooLong(_))), "{more:?}");
        assert_eq!(body.len(), LONGEST);
    }
}
