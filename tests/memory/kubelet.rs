//! A kubelet's socket at which a server answers without end.
//!
//! HTTP/2 is written by hand, frame by frame, since no server does this; windows are kept where the other
//! side would otherwise hang up.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// The only question of a connection.
const STREAM: u32 = 1;
/// `:status: 200` and `content-type: application/grpc`.
const OK: &[u8] = b"\x88\x0f\x10\x10application/grpc";
/// `grpc-status: 0`.
const DONE: &[u8] = b"\x00\x0bgrpc-status\x010";
/// One header of nothing.
const NOTHING: &[u8] = b"\x00\x01a\x01b";
/// A frame as long as any may be.
const LONGEST: usize = 16_384;

/// Data after the question, endless unless otherwise noted.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// Not even HTTP.
    Zeros,
    /// Nothing at all.
    Silence,
    /// A header behind the other.
    Headers,
    /// A message of 4 GiB.
    LongMessage,
    /// A message as long as may be, of pods that take two bytes each; it ends.
    HeavyMessage,
    /// One small message behind the other.
    Messages,
    /// A message of a byte a second.
    Trickle,
    /// A trailer behind the other.
    Trailers,
    /// Pings of the connection.
    Pings,
}

impl Answer {
    pub const ALL: [Self; 9] = [
        Self::Zeros,
        Self::Silence,
        Self::Headers,
        Self::LongMessage,
        Self::HeavyMessage,
        Self::Messages,
        Self::Trickle,
        Self::Trailers,
        Self::Pings,
    ];
}

/// Bytes that may be sent before the other side grants more.
#[derive(Clone, Default)]
struct Room(Arc<(Mutex<[i64; 2]>, Condvar)>);

impl Room {
    fn grow(&self, place: usize, by: i64) {
        self.0.0.lock().expect("no panic")[place] += by;
        self.0.1.notify_all();
    }

    /// Waits until there is room for so much on the connection and on its stream.
    fn take(&self, length: usize) {
        let length = i64::try_from(length).expect("small");
        let room = self.0.0.lock().expect("no panic");
        let is_full = |room: &mut [i64; 2]| room.iter().any(|room| *room < length);
        let mut room = self.0.1.wait_while(room, is_full).expect("no panic");
        room.iter_mut().for_each(|room| *room -= length);
    }
}

struct Peer {
    stream: UnixStream,
    room: Room,
}

/// A folder with a socket at which every client is answered so.
pub fn socket(folder: &Path, answer: Answer) -> PathBuf {
    let path = folder.join(format!("{answer:?}")).join("pod-resources");
    std::fs::create_dir_all(&path).expect("a folder");
    let path = path.join("s");
    let listener = UnixListener::bind(&path).expect("a socket");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let room = Room::default();
                // Initial window of HTTP/2.
                room.grow(0, 65_535);
                room.grow(1, 65_535);
                // A client that hangs up has heard enough.
                let _ = Peer { stream, room }.answer(answer);
            });
        }
    });
    path
}

impl Peer {
    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).expect("small").to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.stream.write_all(&frame)
    }

    fn data(&mut self, bytes: &[u8], flags: u8) -> io::Result<()> {
        for part in bytes.chunks(LONGEST) {
            self.room.take(part.len());
            self.frame(DATA, flags, STREAM, part)?;
        }
        Ok(())
    }

    /// A message of gRPC with a header for so many bytes.
    fn message(&mut self, length: u32, bytes: &[u8]) -> io::Result<()> {
        let mut message = vec![0];
        message.extend(length.to_be_bytes());
        message.extend(bytes);
        self.data(&message, 0)
    }

    fn heavy(&mut self) -> io::Result<()> {
        // Not held here: memory of this process counts as the child's, too.
        let pods = [0x0a, 0].repeat(LONGEST / 2);
        self.message(14 << 20, &[])?;
        (0..(14 << 20) / LONGEST).try_for_each(|_| self.data(&pods, 0))
    }

    fn wait_for_question(&mut self) -> io::Result<()> {
        let mut reader = self.stream.try_clone()?;
        let mut preface = [0; 24];
        reader.read_exact(&mut preface)?;
        let (asked, question) = std::sync::mpsc::channel();
        let room = self.room.clone();
        thread::spawn(move || {
            let mut head = [0; 9];
            while reader.read_exact(&mut head).is_ok() {
                let number = |bytes: &[u8]| {
                    bytes
                        .iter()
                        .fold(0, |sum, byte| sum << 8 | i64::from(*byte))
                };
                let mut payload = vec![0; usize::try_from(number(&head[..3])).expect("small")];
                if reader.read_exact(&mut payload).is_err() {
                    return;
                }
                match (head[3], number(&head[5..])) {
                    (HEADERS, _) => {
                        let _ = asked.send(());
                    }
                    (WINDOW_UPDATE, 0) => room.grow(0, number(&payload)),
                    (WINDOW_UPDATE, _) => room.grow(1, number(&payload)),
                    (SETTINGS, _) => {
                        for setting in payload.chunks_exact(6).filter(|it| it[..2] == [0, 4]) {
                            room.grow(1, number(&setting[2..]) - 65_535);
                        }
                    }
                    _ => {}
                }
            }
        });
        let _ = question.recv();
        Ok(())
    }

    fn answer(mut self, answer: Answer) -> io::Result<()> {
        if let Answer::Zeros = answer {
            loop {
                self.stream.write_all(&[0; 1 << 16])?;
            }
        }
        self.frame(SETTINGS, 0, 0, &[])?;
        self.wait_for_question()?;
        let many = NOTHING.repeat(LONGEST / NOTHING.len());
        match answer {
            Answer::Zeros | Answer::Silence => {}
            Answer::Headers => {
                self.frame(HEADERS, 0, STREAM, OK)?;
                loop {
                    self.frame(CONTINUATION, 0, STREAM, &many)?;
                }
            }
            Answer::Pings => loop {
                self.frame(PING, 0, 0, &[0; 8])?;
            },
            Answer::LongMessage
            | Answer::HeavyMessage
            | Answer::Messages
            | Answer::Trickle
            | Answer::Trailers => self.body(answer, &many)?,
        }
        loop {
            thread::park();
        }
    }

    fn body(&mut self, answer: Answer, many: &[u8]) -> io::Result<()> {
        self.frame(HEADERS, END_HEADERS, STREAM, OK)?;
        match answer {
            Answer::LongMessage => {
                self.message(u32::MAX, &[])?;
                loop {
                    self.data(&[0; LONGEST], 0)?;
                }
            }
            Answer::HeavyMessage => {
                self.heavy()?;
                self.frame(HEADERS, END_HEADERS | END_STREAM, STREAM, DONE)
            }
            Answer::Trickle => {
                self.message(1 << 20, &[])?;
                loop {
                    self.data(&[0], 0)?;
                    thread::sleep(std::time::Duration::from_secs(1));
                }
            }
            Answer::Trailers => {
                self.message(0, &[])?;
                self.frame(HEADERS, END_STREAM, STREAM, DONE)?;
                loop {
                    self.frame(CONTINUATION, 0, STREAM, many)?;
                }
            }
            Answer::Zeros
            | Answer::Silence
            | Answer::Headers
            | Answer::Messages
            | Answer::Pings => loop {
                self.message(2, &[0x0a, 0])?;
            },
        }
    }
}
