//! One copy of every name that repeats.

use std::sync::Arc;

use foldhash::HashSet;

/// Hands out shared copies of texts: a cluster repeats a few thousand names millions of times.
#[derive(Debug, Default)]
pub(super) struct Interner {
    texts: HashSet<Arc<str>>,
}

impl Interner {
    /// The shared copy of `text`, as any of the model's names.
    pub(super) fn intern<Name: From<Arc<str>>>(&mut self, text: &str) -> Name {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known).into();
        }
        let shared: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&shared));
        shared.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_one_copy() {
        let mut interner = Interner::default();
        let first: Arc<str> = interner.intern("gpu.example.com");
        let second: Arc<str> = interner.intern("gpu.example.com");
        assert!(Arc::ptr_eq(&first, &second));
    }
}
