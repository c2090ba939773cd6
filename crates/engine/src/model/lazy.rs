//! A value that is decoded on first use.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

/// A value, or the bytes that say what it is: they are decoded when the value is looked at first.
///
/// There are thousands of devices, and an answer looks at a few.
pub struct Lazy<T> {
    value: OnceLock<T>,
    kept: Option<Box<EncodedBytes<T>>>,
}

/// Bytes that are known to say what a value is.
#[derive(Clone)]
struct EncodedBytes<T> {
    bytes: Box<[u8]>,
    decode: fn(&[u8]) -> T,
}

impl<T> Lazy<T> {
    /// Result of `decode` on `bytes`, computed at the first use.
    pub fn of(bytes: &[u8], decode: fn(&[u8]) -> T) -> Self {
        Self {
            value: OnceLock::new(),
            kept: Some(Box::new(EncodedBytes {
                bytes: bytes.into(),
                decode,
            })),
        }
    }
}

impl<T> From<T> for Lazy<T> {
    fn from(value: T) -> Self {
        Self {
            value: value.into(),
            kept: None,
        }
    }
}

impl<T: Default> Default for Lazy<T> {
    fn default() -> Self {
        Self::from(T::default())
    }
}

impl<T: Default> Deref for Lazy<T> {
    type Target = T;

    fn deref(&self) -> &T {
        let decoded = || self.kept.as_ref().map(|kept| (kept.decode)(&kept.bytes));
        // The bytes stay beside the value: only its owner could take them away, and readers borrow it. Without
        // bytes there is a value from the start, so that the default is never taken.
        self.value.get_or_init(|| decoded().unwrap_or_default())
    }
}

/// Tests make devices by hand.
#[cfg(test)]
impl<T: Default> std::ops::DerefMut for Lazy<T> {
    fn deref_mut(&mut self) -> &mut T {
        let _decoded = self.deref();
        self.kept = None;
        self.value.get_mut().expect("a value that was read")
    }
}

impl<'a, T: Default> IntoIterator for &'a Lazy<T>
where
    &'a T: IntoIterator,
{
    type Item = <&'a T as IntoIterator>::Item;
    type IntoIter = <&'a T as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.deref().into_iter()
    }
}

impl<T: Default + FromIterator<Item>, Item> FromIterator<Item> for Lazy<T> {
    fn from_iter<I: IntoIterator<Item = Item>>(items: I) -> Self {
        Self::from(items.into_iter().collect::<T>())
    }
}

impl<T: Clone> Clone for Lazy<T> {
    fn clone(&self) -> Self {
        Self {
            // With the bytes, so that copying a snapshot decodes nothing.
            value: self.value.clone(),
            kept: self.kept.clone(),
        }
    }
}

impl<T: Default + fmt::Debug> fmt::Debug for Lazy<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(formatter)
    }
}

impl<T: Default + PartialEq> PartialEq for Lazy<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Default + Eq> Eq for Lazy<T> {}
