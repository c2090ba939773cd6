//! What becomes of a body while it arrives.

use super::retry::AttemptFailure;

/// Takes a body while it arrives.
pub(in crate::cluster) trait BodyReader {
    /// What it makes of the body.
    type Output;

    /// Takes the next bytes.
    fn push(&mut self, bytes: &[u8]) -> Result<(), AttemptFailure>;

    /// Takes the end of the body, and judges whether that was all of it.
    fn finish(self) -> Result<Self::Output, AttemptFailure>;
}

/// More than this is no object and no account of what a server has: etcd takes 1.5 MB for an object. A page
/// of a list that is longer is asked for in smaller ones.
const LONGEST: usize = 32 << 20;

/// Holds a whole body, up to a limit: the one place where bytes of a server pile up.
#[derive(Debug)]
pub(in crate::cluster) struct BodyCollector {
    bytes: Vec<u8>,
    limit: usize,
}

impl Default for BodyCollector {
    fn default() -> Self {
        Self::up_to(LONGEST)
    }
}

impl BodyCollector {
    /// Holds a body that is made of another.
    pub(in crate::cluster) fn of(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            limit: LONGEST,
        }
    }

    fn up_to(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            limit,
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    ///
    /// When there are more of them than can be meant; nothing of them is kept then.
    pub(in crate::cluster) fn push(&mut self, bytes: &[u8]) -> Result<(), AttemptFailure> {
        // Checked before it is appended, so that memory never exceeds the limit.
        if bytes.len() > self.limit.saturating_sub(self.bytes.len()) {
            return Err(AttemptFailure::TooLong(format!(
                "it is longer than {} MiB",
                self.limit >> 20
            )));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// What has arrived so far.
    pub(in crate::cluster) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All that has arrived.
    pub(in crate::cluster) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_taken_up_to_its_limit() {
        let mut body = BodyCollector::up_to(1 << 20);
        body.push(&[0; 1 << 20]).expect("as much as it may");
        let Err(AttemptFailure::TooLong(reason)) = body.push(b"x") else {
            panic!("one byte more is too many");
        };
        assert_eq!(reason, "it is longer than 1 MiB");
        assert_eq!(body.into_bytes().len(), 1 << 20);
    }
}
