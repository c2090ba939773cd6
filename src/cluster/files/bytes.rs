//! From files to text: compression, character sets, and limits by the byte that is read.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read};
use std::rc::Rc;

use flate2::read::MultiGzDecoder;

use super::sources::{FileSource, InputError, Limits};

/// First bytes of every gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Position and text of the mark of a tar archive: in the header of its first file.
const TAR: (usize, &[u8]) = (257, b"ustar");
/// Bytes that are read before the next check.
const PORTION: u64 = 1 << 20;

/// Content of a file.
pub(crate) enum Content<'a> {
    /// All of it.
    Text(String),
    /// JSON that is too long to be held: what has been read of it, and the rest.
    Json(Vec<u8>, Box<Bytes<'a>>),
}

/// Reads one file, or only its beginning if it is JSON and longer than `limits` allow to be held.
///
/// # Errors
///
/// If it cannot be read, is larger than `limits` say, or is not text.
pub(crate) fn content<'a>(
    source: &FileSource,
    stdin: &'a mut dyn Read,
    limits: &Limits,
) -> Result<Content<'a>, InputError> {
    let mut bytes = Bytes::open(source, stdin, limits)?;
    let mut text = Vec::new();
    let is_long = bytes.length.is_some_and(|length| length > limits.held);
    let mut checked = 0;
    while bytes.append_to(&mut text)? {
        if is_tar(&text) {
            return Err(InputError::Unusable {
                message: format!("cannot read {}: it is a tar archive", bytes.file),
                hint: Some("unpack it into a directory, and set --from to that directory"),
            });
        }
        checked = check(&text, checked).map_err(|problem| bytes.not_text(problem))?;
        if is_long || text.len() as u64 > limits.held {
            let without_mark = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
            if without_mark.trim_ascii_start().starts_with(b"{") {
                let mark = text.len().saturating_sub(without_mark.len());
                text.drain(..mark);
                return Ok(Content::Json(text, Box::new(bytes)));
            }
            if bytes.length.is_none() {
                return Err(bytes.too_long(limits.held));
            }
        }
    }
    decode(text)
        .map(Content::Text)
        .map_err(|problem| bytes.not_text(problem))
}

/// Opens a file that can be read again, and that is longer than other text may be to be held.
pub(crate) fn long_file(source: &FileSource, limits: &Limits) -> Option<impl Read> {
    let FileSource::Path(path) = source else {
        return None;
    };
    let file = fs::metadata(path).ok()?;
    let is_long = file.is_file() && file.len() > limits.held;
    let file = is_long.then(|| File::open(path).ok()).flatten()?;
    Some(file.take(limits.bytes))
}

/// The bytes of one file as they are unpacked, with an eye on how many they are.
pub(crate) struct Bytes<'a> {
    file: String,
    reader: Box<dyn Read + 'a>,
    /// Length in bytes, if it is neither compressed nor anything but a file.
    length: Option<u64>,
    limits: Limits,
    /// Bytes that were read from the file itself, and bytes after decompression.
    packed: Option<Rc<Cell<u64>>>,
    unpacked: u64,
    failure: Option<InputError>,
}

impl<'a> Bytes<'a> {
    fn open(
        source: &FileSource,
        stdin: &'a mut dyn Read,
        limits: &Limits,
    ) -> Result<Self, InputError> {
        let name = source.name();
        let failed = |source| InputError::Read {
            file: name.clone(),
            source,
        };
        let (mut reader, length): (Box<dyn Read + 'a>, Option<u64>) = match source {
            FileSource::Path(path) => {
                let file = File::open(path).map_err(failed)?;
                let found = file.metadata().map_err(failed)?;
                (Box::new(file), found.is_file().then_some(found.len()))
            }
            FileSource::Stdin => (Box::new(stdin), None),
        };
        let mut head = Vec::new();
        let first = reader
            .by_ref()
            .take(GZIP.len() as u64)
            .read_to_end(&mut head);
        first.map_err(failed)?;
        let is_packed = head == GZIP;
        // Standard input cannot seek, so the two bytes are put back in front.
        let reader = Cursor::new(head).chain(reader);
        let packed = is_packed.then(Rc::default);
        Ok(Self {
            file: name,
            reader: match &packed {
                // A gzip file is a series of members (RFC 1952, 2.2); `GzDecoder` would stop after the first.
                Some(packed) => Box::new(MultiGzDecoder::new(Counting {
                    reader,
                    read: Rc::clone(packed),
                })),
                None => Box::new(reader),
            },
            length: length.filter(|_| !is_packed),
            limits: *limits,
            packed,
            unpacked: 0,
            failure: None,
        })
    }

    /// Adds the next portion to `text`; `false` at the end.
    fn append_to(&mut self, text: &mut Vec<u8>) -> Result<bool, InputError> {
        let read = self.by_ref().take(PORTION).read_to_end(text);
        read.map(|read| read > 0).map_err(|source| {
            let file = self.file.clone();
            self.failed().unwrap_or(InputError::Read { file, source })
        })
    }

    /// Error of the read, if it has failed.
    pub(crate) fn failed(&mut self) -> Option<InputError> {
        self.failure.take()
    }

    /// Most bytes that may come out by now.
    fn most(&self) -> u64 {
        let Some(packed) = &self.packed else {
            return self.limits.bytes;
        };
        // A few kilobytes can unpack to gigabytes of nothing.
        let proportion = packed.get().saturating_mul(self.limits.gzip_ratio);
        proportion
            .max(self.limits.gzip_always)
            .min(self.limits.bytes)
    }

    fn not_text(&self, problem: String) -> InputError {
        InputError::NotText {
            file: self.file.clone(),
            problem,
        }
    }

    fn too_long(&self, held: u64) -> InputError {
        InputError::unusable(format!(
            "{} is too large: it is larger than {} MiB; only JSON and uncompressed files may be larger",
            self.file,
            held >> 20
        ))
    }
}

impl Read for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self.reader.read(buffer) {
            Ok(read) => read,
            // `read_to_end` and the parsers retry this by themselves, so it is not a failure.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(source) => {
                let told = io::Error::from(source.kind());
                self.failure = Some(InputError::Read {
                    file: self.file.clone(),
                    source,
                });
                return Err(told);
            }
        };
        self.unpacked = self.unpacked.saturating_add(read as u64);
        let most = self.most();
        if self.unpacked > most {
            let (file, most) = (&self.file, most >> 20);
            let message = format!("{file} is too large: it is larger than {most} MiB");
            self.failure = Some(InputError::unusable(message));
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(read)
    }
}

/// Counts what is read.
struct Counting<R> {
    reader: R,
    read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.read.set(self.read.get().saturating_add(read as u64));
        Ok(read)
    }
}

/// Reader of `head` followed by `rest`, for a parser.
pub(crate) fn joined<'a>(head: Vec<u8>, rest: impl Read + 'a) -> impl Read + 'a {
    BufReader::with_capacity(1 << 16, Cursor::new(head).chain(rest))
}

/// True if `bytes` begin as an archive of files does.
fn is_tar(bytes: &[u8]) -> bool {
    let (place, mark) = TAR;
    bytes
        .split_at_checked(place)
        // Text, too, may have `ustar` at this offset, but no NUL before it.
        .is_some_and(|(name, rest)| name.contains(&0) && rest.starts_with(mark))
}

/// Looks whether `bytes` can be text, from `place` on, where a character begins; gives the place to go
/// on from. What is no text is found before more of it is read.
fn check(bytes: &[u8], place: usize) -> Result<usize, String> {
    let news = &bytes[place..];
    if let Some(found) = news.iter().position(|byte| *byte == 0) {
        return Err(nul(place.saturating_add(found)));
    }
    let Err(error) = std::str::from_utf8(news) else {
        return Ok(bytes.len());
    };
    let valid = place.saturating_add(error.valid_up_to());
    match error.error_len() {
        // The last character is incomplete; its other bytes are in the next portion.
        None => Ok(valid),
        Some(_) => Err(not_utf8(bytes, valid)),
    }
}

fn nul(place: usize) -> String {
    format!("it is not text: byte 0x00 at offset {place}")
}

fn not_utf8(bytes: &[u8], place: usize) -> String {
    let byte = bytes.get(place).copied().unwrap_or_default();
    format!("it is not text: byte {byte:#04x} at offset {place} is not UTF-8")
}

/// Text in UTF-8, with or without a byte order mark.
fn decode(bytes: Vec<u8>) -> Result<String, String> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        not_utf8(error.as_bytes(), place)
    })?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    match text.find('\0') {
        None => Ok(text),
        Some(place) => Err(nul(place)),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// Text without end, and how much of it was read.
    struct Endless {
        text: &'static [u8],
        read: usize,
    }

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let offset = self.read % self.text.len();
            let block = self.text.repeat(1 << 12);
            for chunk in buffer.chunks_mut(block.len() - self.text.len()) {
                chunk.copy_from_slice(&block[offset..offset + chunk.len()]);
            }
            self.read += buffer.len();
            Ok(buffer.len())
        }
    }

    const LIMITS: Limits = Limits {
        bytes: 1 << 40,
        held: 3 << 20,
        gzip_ratio: 200,
        gzip_always: 8 << 20,
        files: 1,
    };

    #[test]
    fn what_does_not_end_is_read_only_until_it_is_known_to_be_too_much() {
        for (name, text, most, expected) in [
            ("zeros", &b"\0"[..], 2 << 20, "byte 0x00 at offset 0"),
            ("noise", b"abc\xff", 2 << 20, "byte 0xff at offset 3"),
            ("words", b"y\n", 5 << 20, "larger than 3 MiB"),
        ] {
            let mut stdin = Endless { text, read: 0 };
            let error = match content(&FileSource::Stdin, &mut stdin, &LIMITS) {
                Err(error) => error.to_string(),
                Ok(_) => panic!("{name} was read"),
            };
            assert!(error.contains(expected), "{name}: {error}");
            assert!(stdin.read <= most, "{name}: {} bytes", stdin.read);
        }
    }

    #[test]
    fn json_that_goes_on_is_not_held() {
        let mut stdin = Endless {
            text: b"{\"a\":1} ",
            read: 0,
        };
        let content = content(&FileSource::Stdin, &mut stdin, &LIMITS).expect("JSON");
        let Content::Json(head, mut rest) = content else {
            panic!("all of it was held");
        };
        assert!(head.len() as u64 <= LIMITS.held + PORTION);
        let mut more = [0; 8];
        rest.read_exact(&mut more).expect("more");
    }

    #[test]
    fn gzip_is_unpacked_in_proportion_to_what_has_been_read_of_it() {
        let spaces = vec![b' '; 1 << 20];
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        for _ in 0..2 {
            encoder.write_all(&spaces).expect("memory");
        }
        let packed = encoder.finish().expect("memory");
        let limits = Limits {
            held: 1 << 30,
            gzip_always: 1 << 20,
            ..LIMITS
        };
        let mut stdin = packed.as_slice();
        let error = match content(&FileSource::Stdin, &mut stdin, &limits) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("it was read"),
        };
        assert_eq!(error, "stdin is too large: it is larger than 1 MiB");
    }

    #[test]
    fn a_byte_order_mark_is_no_text() {
        for (name, bytes) in [
            ("UTF-8", "kind: Pöd".as_bytes().to_vec()),
            ("UTF-8 with a mark", "\u{feff}kind: Pöd".as_bytes().to_vec()),
        ] {
            assert_eq!(decode(bytes).as_deref(), Ok("kind: Pöd"), "{name}");
        }
    }
}
