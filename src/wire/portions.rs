//! A list in JSON, decoded while it is read: its text is never in memory as a whole.

use std::fmt;
use std::io::Read;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Unexpected, Visitor};

use super::document::{Documents, TypeMeta};
use super::shape::WireObject;
use super::versions::{Lookup, Version, lookup};
use super::walk::{Head, Rest, is_of_no_interest};

/// Bytes that are read at a time, unless one object is longer.
const PORTION: usize = 1 << 20;
/// The key of the objects of a list. Quotes in texts stand behind a backslash.
const ITEMS: &str = "\"items\"";
/// Most bytes that may follow the objects of a list, or stand before them.
const MOST_BEHIND: usize = 4 << 20;

impl Documents {
    /// Decodes a list of objects while it is read, and what follows it: a `List` as kubectl prints it, whose objects
    /// say first what they are. Of the text, only a portion of a MiB is in memory, or the longest object.
    ///
    /// `None` if the text is anything else, cannot be read, or if anything is wrong with it: it is to be read as a
    /// whole then, which tells what is wrong, and where.
    pub fn list_from(reader: impl Read) -> Option<Self> {
        Self::list_by_portions(reader, PORTION)
    }

    pub(super) fn list_by_portions(reader: impl Read, portion: usize) -> Option<Self> {
        let mut text = Portions {
            reader,
            portion,
            text: String::new(),
            taken: 0,
            incomplete: Vec::new(),
        };
        let begin = text.first_item()?;
        // The list without its objects.
        let mut envelope = text.unread()[..begin].to_owned();
        text.taken = begin;
        let mut documents = Self::new();
        for index in 0.. {
            documents.add_list_item(text.next_item()?, index)?;
            match text.next_character()? {
                ',' => {}
                ']' => break,
                _ => return None,
            }
        }
        envelope.push(']');
        envelope.push_str(text.rest()?);
        documents.decode_json_directly(&envelope).ok()?;
        Some(documents)
    }
}

/// Text that is read as it is needed.
struct Portions<R> {
    reader: R,
    portion: usize,
    text: String,
    /// Bytes of the text that were consumed.
    taken: usize,
    /// The first bytes of a character whose others were not read yet.
    incomplete: Vec<u8>,
}

impl<R: Read> Portions<R> {
    fn unread(&self) -> &str {
        &self.text[self.taken..]
    }

    /// Reads on; `Some(false)` at the end, `None` if it cannot be read or is no text.
    fn read_more(&mut self) -> Option<bool> {
        self.text.drain(..self.taken);
        self.taken = 0;
        // At least as much again, or a long object would be parsed once for every portion of it.
        let most = self.portion.max(self.text.len()) as u64;
        let mut bytes = std::mem::take(&mut self.incomplete);
        bytes.reserve(self.portion);
        let read = self.reader.by_ref().take(most).read_to_end(&mut bytes);
        let is_end = read.ok()? == 0;
        match std::str::from_utf8(&bytes) {
            Ok(text) => self.text.push_str(text),
            Err(error) if error.error_len().is_none() && !is_end => {
                let (text, incomplete) = bytes.split_at_checked(error.valid_up_to())?;
                self.text.push_str(std::str::from_utf8(text).ok()?);
                self.incomplete = incomplete.to_owned();
            }
            Err(_) => return None,
        }
        Some(!is_end)
    }

    /// Position in the unread text of the first object of the list; `None` if the text is no list with objects.
    fn first_item(&mut self) -> Option<usize> {
        loop {
            let text = self.unread();
            let list = text.find(ITEMS).and_then(|at| {
                let rest = text.get(at.saturating_add(ITEMS.len())..)?;
                let rest = rest.trim_start().strip_prefix(':')?.trim_start();
                let items = rest.strip_prefix('[')?.trim_start();
                items
                    .chars()
                    .next()
                    .map(|_| text.len().saturating_sub(items.len()))
            });
            // Other fields of a list are short.
            if list.is_some() || text.len() > self.portion.max(MOST_BEHIND) || !self.read_more()? {
                return list;
            }
        }
    }

    /// Takes the next object; `None` if there is none that is right.
    fn next_item(&mut self) -> Option<ListItem> {
        loop {
            let mut items = serde_json::Deserializer::from_str(self.unread()).into_iter();
            match items.next() {
                Some(Ok(item)) => {
                    self.taken = self.taken.saturating_add(items.byte_offset());
                    return Some(item);
                }
                Some(Err(error)) if !error.is_eof() => return None,
                Some(Err(_)) | None => {
                    if !self.read_more()? {
                        return None;
                    }
                }
            }
        }
    }

    /// Takes the next character that is no white space.
    fn next_character(&mut self) -> Option<char> {
        loop {
            let rest = self.unread().trim_start_matches([' ', '\n', '\t', '\r']);
            let length = rest.len();
            let next = rest.chars().next();
            let behind = length.saturating_sub(next.map_or(0, char::len_utf8));
            self.taken = self.text.len().saturating_sub(behind);
            if next.is_some() {
                return next;
            }
            if !self.read_more()? {
                return None;
            }
        }
    }

    /// All that is left; `None` if that is much, as of several lists in a row.
    fn rest(&mut self) -> Option<&str> {
        while self.read_more()? {
            if self.unread().len() > MOST_BEHIND {
                return None;
            }
        }
        Some(self.unread())
    }
}

/// An object of a list, decoded on its own.
struct ListItem {
    type_meta: TypeMeta,
    /// Absent if it is of no interest.
    object: Option<(&'static Version, WireObject)>,
}

impl<'de> Deserialize<'de> for ListItem {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(ListItemVisitor)
    }
}

struct ListItemVisitor;

impl<'de> Visitor<'de> for ListItemVisitor {
    type Value = ListItem;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object that begins with apiVersion and kind")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ListItem, A::Error> {
        let mut head = Head::default();
        while let Some(key) = map.next_key::<String>()? {
            if head.take(&key, &mut map)? {
                continue;
            }
            let Some(type_meta) = head.type_meta(None) else {
                break;
            };
            let (api_version, kind) = (&type_meta.api_version, &type_meta.kind);
            if is_of_no_interest(api_version, kind) {
                map.next_value::<IgnoredAny>()?;
                head.skip_rest(&mut map)?;
                return Ok(ListItem {
                    type_meta,
                    object: None,
                });
            }
            let Lookup::Read(version) = lookup(api_version, kind) else {
                break;
            };
            let fields = MapAccessDeserializer::new(Rest::new(key, map));
            let object = Some((version, WireObject::from_text(version, fields)?));
            return Ok(ListItem { type_meta, object });
        }
        Err(A::Error::invalid_type(Unexpected::Map, &self))
    }
}

impl Documents {
    fn add_list_item(&mut self, item: ListItem, index: usize) -> Option<()> {
        self.found.position = vec![0, index];
        let object = item.object.as_ref();
        let object = object.map(|(version, object)| (*version, object));
        let added = self.found.add::<serde_json::Error>(item.type_meta, object);
        added.ok()
    }
}
