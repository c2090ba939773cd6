//! A connection to a socket of this machine for one gRPC request, whose response is raw bytes.
//!
//! tonic's own channel reconnects, balances and buffers, none of which a single request over a socket
//! needs, and is several times the size of this.

use std::error::Error;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::task::JoinHandle;
use tonic::Status;
use tonic::body::Body;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tower::Service;

use super::error::{KubeletError, KubeletErrorKind};

/// The most that headers take, and trailers: a kubelet sends some hundred bytes of them.
const LONGEST_HEADERS: u32 = 64 << 10;
/// Bytes that may be sent before they are acknowledged: a response is read as fast as it comes.
const WINDOW: u32 = 1 << 20;

/// End of a connection, which ends once the client is dropped.
pub(super) struct Ended(JoinHandle<hyper::Result<()>>);

impl Ended {
    /// Error of the connection, if any.
    pub(super) async fn known(mut self) -> Option<hyper::Error> {
        let ended = (&mut self.0).await;
        ended.ok().and_then(Result::err)
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        // A task outlives its handle: without this the socket would stay open after the last request.
        self.0.abort();
    }
}

/// An open connection.
#[derive(Clone)]
pub(super) struct Connection(SendRequest<Body>);

impl Connection {
    /// Connects to the socket at `path`; with what becomes of the connection, which ends with the last use
    /// of it.
    pub(super) async fn open(path: &Path) -> Result<(Self, Ended), KubeletError> {
        let stream = connect(path)
            .await
            .map_err(|error| cannot_open(path, &error))?;
        let shaken = Builder::new(TokioExecutor::new())
            .max_header_list_size(LONGEST_HEADERS)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .handshake(TokioIo::new(stream))
            .await;
        let (sender, connection) = shaken.map_err(|error| unshaken(path, &error))?;
        Ok((Self(sender), Ended(tokio::spawn(connection))))
    }
}

#[cfg(unix)]
async fn connect(path: &Path) -> io::Result<tokio::net::UnixStream> {
    tokio::net::UnixStream::connect(path).await
}

/// Without such sockets, there is no kubelet either.
#[cfg(not(unix))]
async fn connect(_: &Path) -> io::Result<tokio::io::DuplexStream> {
    Err(ErrorKind::Unsupported.into())
}

fn unshaken(path: &Path, error: &hyper::Error) -> KubeletError {
    let why = chain(error);
    if hung_up(error) {
        broken(path, &why)
    } else {
        foreign(path, &why)
    }
}

/// The process at the socket is not a kubelet.
pub(super) fn foreign(path: &Path, why: &str) -> KubeletError {
    let path = path.display();
    KubeletError {
        kind: KubeletErrorKind::OtherSocket,
        message: format!("{path} is not the podresources API of a kubelet: {why}"),
    }
}

/// The kubelet has closed the connection.
pub(super) fn broken(path: &Path, why: &str) -> KubeletError {
    let path = path.display();
    KubeletError {
        kind: KubeletErrorKind::Restarting,
        message: format!(
            "the kubelet at {path} closed the connection before the end of its response: {why}"
        ),
    }
}

/// True if the other side has hung up.
pub(super) fn hung_up(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        // A peer that hangs up leaves an I/O error among the causes; one
        // that speaks another protocol leaves only an error of HTTP/2.
        if error.is::<io::Error>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The error and its causes, each once.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

fn cannot_open(path: &Path, error: &io::Error) -> KubeletError {
    let (shown, kind) = (path.display(), error.kind());
    let (kind, message) = if kind == ErrorKind::NotFound || kind == ErrorKind::NotADirectory {
        let message = format!("socket {shown} not found");
        (KubeletErrorKind::Missing, message)
    } else if kind == ErrorKind::PermissionDenied {
        let message = format!("cannot open the socket {shown}: permission denied");
        (KubeletErrorKind::Denied, message)
    } else if kind == ErrorKind::ConnectionRefused && is_something_else(path) {
        let message = format!("{shown} is not a socket");
        (KubeletErrorKind::OtherSocket, message)
    } else if kind == ErrorKind::ConnectionRefused {
        let message = format!("no process listens on socket {shown}");
        (KubeletErrorKind::NotListening, message)
    } else {
        let message = format!("cannot use {shown} as a socket: {error}");
        (KubeletErrorKind::OtherSocket, message)
    };
    KubeletError { kind, message }
}

/// A file refuses connections, as a socket does on which no process listens.
#[cfg(unix)]
fn is_something_else(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;

    std::fs::metadata(path).is_ok_and(|found| !found.file_type().is_socket())
}

#[cfg(not(unix))]
fn is_something_else(_: &Path) -> bool {
    false
}

impl Service<Request<Body>> for Connection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

/// Sends an empty message, and gives the response as the bytes in which it came: they are weighed before they are decoded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawCodec;

impl Codec for RawCodec {
    type Encode = ();
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for RawCodec {
    type Item = ();
    type Error = Status;

    fn encode(&mut self, (): (), _: &mut EncodeBuf<'_>) -> Result<(), Status> {
        Ok(())
    }
}

impl Decoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}
