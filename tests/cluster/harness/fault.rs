//! Faults of a request or its answer.

use std::{
    sync::{Arc, Mutex, mpsc},
    time::{Duration, Instant},
};

use tokio::sync::oneshot;

use super::DEADLINE;

/// Fault of a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// Nothing: it is passed on, and so is its answer.
    Passed,
    /// The proxy answers; the server does not see the request.
    Answer(Reply),
    /// The connection is reset; the server does not see the request.
    Reset,
    /// No answer ever comes; the server does not see the request.
    Silence,
    /// The request waits that long before the server sees it.
    Late(Duration),
    /// The request waits at the gate; then the server sees it if this is true, else the connection ends.
    HeldBefore(Gate, bool),
    /// The server handles the request; then everything waits at the gate, and no answer comes.
    HeldAfter(Gate),
    /// The server handles the request, and its answer is lost.
    Lost,
    /// The server handles the request, and the proxy answers.
    Replaced(Reply),
    /// The server gets the request twice, and the client the first answer, or the second.
    Doubled(Twin),
    /// The server handles the request, and the object of its answer is another.
    Another(Another),
    /// The server handles the request, and answers that much later.
    Tardy(Duration),
    /// So many thousandths of the server's answer arrive, then nothing, on a connection that stays.
    Hangs(usize),
    /// The server handles the request, and a bit of the encrypted answer flips.
    Garbled,
    /// The server's answer arrives in another shape.
    Spoiled(Spoiled),
}

/// Fault in the object of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Another {
    /// It has another UID.
    Uid,
    /// It has another name and UID.
    Name,
    /// It is another one that the server has of the same kind.
    Stored,
    /// It is being deleted.
    Leaving,
}

/// Selects which of two answers arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twin {
    First,
    Second,
}

/// Changes of an answer on its way, in the order of the fields.
#[derive(Clone, Debug, Default)]
pub struct Spoiled {
    /// Only so many thousandths of the body arrive.
    pub kept: Option<usize>,
    /// The connection ends where the body does, instead of a length that fits the rest.
    pub breaks: bool,
    /// Something follows the body.
    pub more: Vec<u8>,
    /// The answer has no date.
    pub undated: bool,
}

/// An answer that is not the server's.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Status and reason: `404 Not Found`.
    pub status: &'static str,
    /// Lines without their ends.
    pub headers: Vec<String>,
    pub body: String,
}

impl Fault {
    /// The body ends after so many thousandths of it, and nothing shows that it has.
    pub fn ends(thousandths: usize) -> Self {
        Self::Spoiled(Spoiled {
            kept: Some(thousandths),
            ..Spoiled::default()
        })
    }

    /// The connection ends after so many thousandths of the body.
    pub fn breaks(thousandths: usize) -> Self {
        Self::Spoiled(Spoiled {
            kept: Some(thousandths),
            breaks: true,
            ..Spoiled::default()
        })
    }

    /// Something follows the body.
    pub fn appended(more: &[u8]) -> Self {
        Self::Spoiled(Spoiled {
            more: more.to_vec(),
            ..Spoiled::default()
        })
    }

    /// The answer has no date.
    pub fn undated() -> Self {
        Self::Spoiled(Spoiled {
            undated: true,
            ..Spoiled::default()
        })
    }
}

impl Spoiled {
    /// Changes the body, and gives the length to announce.
    pub(super) fn spoil(&self, body: &mut Vec<u8>) -> usize {
        let announced = body.len();
        if let Some(thousandths) = self.kept {
            body.truncate(announced * thousandths / 1000);
        }
        body.extend(&self.more);
        if self.breaks { announced } else { body.len() }
    }

    pub(super) fn is_harmful(&self) -> bool {
        self.kept.is_some() || self.breaks || !self.more.is_empty()
    }
}

impl Reply {
    /// Nothing but a status and headers.
    pub fn bare(status: &'static str, headers: &[&str]) -> Self {
        Self {
            status,
            headers: headers.iter().map(|&header| header.to_owned()).collect(),
            body: String::new(),
        }
    }

    /// Reply of an API server.
    pub fn json(status: &'static str, body: impl Into<String>) -> Self {
        Self {
            status,
            headers: vec!["Content-Type: application/json".to_owned()],
            body: body.into(),
        }
    }

    /// A refusal in the words of an API server, about the requested object or about nothing.
    pub fn refusal(status: &'static str, reason: &str) -> Self {
        let code = &status[..3];
        Self::json(
            status,
            format!(
                r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"it was said after the change","reason":"{reason}","code":{code}}}"#
            ),
        )
    }

    /// A success of something, in the words of an API server.
    pub fn success(details: &str) -> Self {
        Self::json(
            "200 OK",
            format!(
                r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Success"{details}}}"#
            ),
        )
    }

    /// Reply of a middlebox.
    pub fn html(status: &'static str) -> Self {
        Self {
            status,
            headers: vec!["Content-Type: text/html; charset=utf-8".to_owned()],
            body: format!("<html><head><title>{status}</title></head><body>proxy</body></html>\n"),
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let headers: String = self
            .headers
            .iter()
            .map(|header| format!("{header}\r\n"))
            .collect();
        let (status, length, body) = (self.status, self.body.len(), &self.body);
        format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}").into_bytes()
    }
}

/// Where a request is held until a test lets it go.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Mutex<Option<Inside>>>);

#[derive(Debug)]
struct Inside {
    reached: mpsc::Sender<()>,
    opened: oneshot::Receiver<()>,
}

/// The test's side of a gate. The gate opens when this is dropped.
pub struct Keeper {
    reached: mpsc::Receiver<()>,
    open: oneshot::Sender<()>,
}

impl Gate {
    /// A closed gate for one request.
    pub fn new() -> (Self, Keeper) {
        let (sender, reached) = mpsc::channel();
        let (open, opened) = oneshot::channel();
        let inside = Inside {
            reached: sender,
            opened,
        };
        (
            Self(Arc::new(Mutex::new(Some(inside)))),
            Keeper { reached, open },
        )
    }

    /// Waits until the keeper opens; a second request does not wait.
    pub(super) async fn hold(&self) {
        let inside = self.0.lock().expect("no panic").take();
        if let Some(inside) = inside {
            let _ = inside.reached.send(());
            let _ = tokio::time::timeout(DEADLINE, inside.opened).await;
        }
    }
}

impl Keeper {
    /// Waits until a request is at the gate; false when none came as long as one could.
    pub fn wait_while(&self, mut possible: impl FnMut() -> bool) -> bool {
        let end = Instant::now() + DEADLINE;
        loop {
            // Read first: a request from before the end of the possible is still there after it.
            let possible = possible() && Instant::now() < end;
            match self.reached.recv_timeout(Duration::from_millis(20)) {
                Ok(()) => return true,
                Err(mpsc::RecvTimeoutError::Timeout) if possible => {}
                Err(_) => return false,
            }
        }
    }

    /// Lets it go.
    pub fn open(self) {
        let _ = self.open.send(());
    }
}
