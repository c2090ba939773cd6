//! Shared state of conversions: interned names, warnings, and the newest deletion.

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::HashSet;
use jiff::Timestamp;

use super::error::FieldError;
use super::interner::Interner;
use crate::model::{ClaimSpec, Warning};

/// State of the conversion of many objects into facts.
#[derive(Debug, Default)]
pub(super) struct Context {
    interner: Interner,
    specs: HashSet<Arc<ClaimSpec>>,
    oddities: Oddities,
    /// Found in the object at hand, whose name the conversion does not know.
    found: Vec<Oddity>,
    newest: Option<Timestamp>,
}

/// A value that this plugin does not know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Oddity {
    code: &'static str,
    what: String,
}

/// Warnings about all objects, each given once however often it occurs: the first name that has it, and
/// how many have. The order in which the objects come decides nothing.
type Oddities = BTreeMap<Oddity, (String, usize)>;

impl Context {
    /// The shared copy of `text`.
    pub(super) fn intern<Name: From<Arc<str>>>(&mut self, text: &str) -> Name {
        self.interner.intern(text)
    }

    /// The shared copy of `text`, which must not be missing or empty.
    pub(super) fn required<Name: From<Arc<str>>>(
        &mut self,
        text: Option<&str>,
        field: &str,
    ) -> Result<Name, FieldError> {
        match text {
            // Go writes an empty string into protobuf where none is set.
            None | Some("") => Err(FieldError::missing(field)),
            Some(text) => Ok(self.intern(text)),
        }
    }

    /// The shared copy of `text`, unless it is missing or empty.
    pub(super) fn optional<Name: From<Arc<str>>>(&mut self, text: Option<&str>) -> Option<Name> {
        match text {
            None | Some("") => None,
            Some(text) => Some(self.intern(text)),
        }
    }

    /// The shared copy of `spec`: most claims are made from a few templates.
    pub(super) fn share(&mut self, spec: ClaimSpec) -> Arc<ClaimSpec> {
        if let Some(known) = self.specs.get(&spec) {
            return Arc::clone(known);
        }
        let shared = Arc::new(spec);
        self.specs.insert(Arc::clone(&shared));
        shared
    }

    /// Notes a time that had passed when the object was read.
    pub(super) fn saw(&mut self, time: Option<Timestamp>) {
        self.newest = self.newest.max(time);
    }

    /// The newest time that was noted.
    pub(super) fn newest(&self) -> Option<Timestamp> {
        self.newest
    }

    /// Notes that the object at hand has something unknown: `what` continues the sentence
    /// "Pod ml/train-0 has …".
    pub(super) fn odd(&mut self, code: &'static str, what: String) {
        self.found.push(Oddity { code, what });
    }

    /// Attributes what was found since the last call to the object called `name`.
    pub(super) fn attribute(&mut self, name: impl FnOnce() -> String) {
        if self.found.is_empty() {
            return;
        }
        let name = name();
        for oddity in self.found.drain(..) {
            let told = self.oddities.entry(oddity);
            let (first, times) = told.or_insert_with(|| (name.clone(), 0));
            *times = times.saturating_add(1);
            // The smallest name, not the first to arrive: concurrent requests complete in any order.
            if name < *first {
                first.clone_from(&name);
            }
        }
    }

    /// The warnings, in an order of their own.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        self.oddities
            .iter()
            .map(|(oddity, (name, times))| {
                let more = match times.saturating_sub(1) {
                    0 => String::new(),
                    1 => "; 1 more occurrence".to_owned(),
                    others => format!("; {others} more occurrences"),
                };
                Warning {
                    code: oddity.code,
                    message: format!("{name} has {}{more}", oddity.what),
                    fix: None,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oddity_is_told_once_with_its_number() {
        let mut context = Context::default();
        for name in ["a", "b", "c"] {
            context.odd("unknown-effect", "the unknown effect `Later`".to_owned());
            context.attribute(|| format!("ResourceSlice {name}"));
        }
        let messages: Vec<_> = context.warnings().into_iter().map(|w| w.message).collect();
        assert_eq!(
            messages,
            ["ResourceSlice a has the unknown effect `Later`; 2 more occurrences"]
        );
    }
}
