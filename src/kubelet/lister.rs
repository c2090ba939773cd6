//! The call `List` of a kubelet's podresources API.
//!
//! Upstream: `pkg/kubelet/apis/podresources`. A kubelet accepts 100 calls a second of all clients, and rejects the others.

use std::error::Error;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::uri::PathAndQuery;
use http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::body::Body;
use tonic::client::Grpc;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Status, Streaming};
use tower::Service;

use crate::model::InUse;
use crate::wire::podresources::ListPodResourcesResponse;

/// Socket of a kubelet, unless it has another root folder.
pub const SOCKET: &str = "/var/lib/kubelet/pod-resources/kubelet.sock";
/// The longest answer that is read, as other clients of kubelets have it: a node has some hundred pods, and
/// this is room for ten thousand.
const LONGEST: usize = 16 << 20;
/// Maximum size of a decoded response; ten thousand pods with claims take the half of it.
const HEAVIEST: usize = 32 << 20;
/// For how long is waited after a refusal for asking too often.
const PAUSE: Duration = Duration::from_millis(50);

const LIST: &str = "/v1.PodResourcesLister/List";

/// Client of the kubelet of this node.
#[derive(Clone, Debug)]
pub struct Lister {
    path: PathBuf,
    limit: Duration,
}

impl Lister {
    /// A client of the kubelet at `path`, which must respond within `limit`.
    pub fn new(path: &Path, limit: Duration) -> Self {
        Self {
            path: path.to_owned(),
            limit,
        }
    }

    /// Everything in use; a request that the kubelet rejects for too many requests is repeated until the limit.
    ///
    /// # Errors
    ///
    /// If there is no response in time, or it is not that of a kubelet.
    pub async fn list(&self) -> Result<InUse, KubeletError> {
        let deadline = Instant::now()
            .checked_add(self.limit)
            .unwrap_or_else(Instant::now);
        let limit = seconds(self.limit);
        let mut late = self.error(
            KubeletErrorKind::TimedOut,
            &format!("did not respond within {limit}s"),
        );
        loop {
            // An attempt that ends with the deadline tells less than the rejections before it.
            let Ok(response) = timeout_at(deadline, self.request()).await else {
                return Err(late);
            };
            match response {
                Ok(response) => return Ok(response.into_facts()),
                Err(error) if error.kind != KubeletErrorKind::Busy => return Err(error),
                Err(error) => late = error,
            }
            if deadline.saturating_duration_since(Instant::now()) <= PAUSE {
                return Err(late);
            }
            // The kubelet's limiter lets the next call pass after 10 ms (100 per second for all clients).
            sleep(PAUSE).await;
        }
    }

    async fn request(&self) -> Result<ListPodResourcesResponse, KubeletError> {
        let (connection, ended) = Connection::open(&self.path).await?;
        // The name of the host plays no part on a socket.
        let mut client = Grpc::with_origin(connection, Uri::from_static("http://localhost"))
            .max_decoding_message_size(LONGEST);
        let ready = client.ready().await;
        ready.map_err(|error| self.foreign(&error.to_string()))?;
        let method = PathAndQuery::from_static(LIST);
        // On the wire a unary call is a stream of one message; read as a stream, a second one can be refused.
        let response = client.server_streaming(tonic::Request::new(()), method, RawCodec);
        let response = match response.await {
            Ok(response) => only(response.into_inner()).await,
            Err(status) => Err(status),
        };
        match response {
            Ok(message) => self.decoded(&message),
            Err(status) if is_transport(&status) => {
                // The connection task ends, and gives its error, only after its last sender is dropped.
                drop(client);
                Err(self.broken(&status, ended).await)
            }
            Err(status) if status.message().contains(TOO_LARGE) => {
                let most = LONGEST >> 20;
                Err(self.foreign(&format!("its response is longer than {most} MiB")))
            }
            Err(status) => Err(self.rejected(&status)),
        }
    }

    /// The response, if it is one, and if there is room for it.
    fn decoded(&self, message: &[u8]) -> Result<ListPodResourcesResponse, KubeletError> {
        // Weighed before decoding, because an oversized response must never be built in memory.
        let weight = ListPodResourcesResponse::SHAPE.weight(message);
        let weight =
            weight.ok_or_else(|| self.foreign("its response is not a message of this API"))?;
        if weight > HEAVIEST {
            let most = HEAVIEST >> 20;
            let why = format!("its response takes more than {most} MiB once decoded");
            return Err(self.foreign(&why));
        }
        let response = ListPodResourcesResponse::decode(message)
            .map_err(|error| self.foreign(&error.to_string()))?;
        match response.oddity() {
            None => Ok(response),
            Some(odd) => Err(self.foreign(&odd)),
        }
    }

    fn foreign(&self, why: &str) -> KubeletError {
        foreign(&self.path, why)
    }

    /// The error of a broken connection: a peer that does not speak HTTP/2 or gRPC is no kubelet, one that hung up is.
    async fn broken(&self, status: &Status, ended: Ended) -> KubeletError {
        // Only the connection knows its error.
        let ended = timeout(PAUSE, ended.known()).await;
        if let Ok(Some(error)) = ended
            && !hung_up(&error)
        {
            return self.foreign(&chain(&error));
        }
        let why = chain(status);
        // tonic misses the trailer that ends every gRPC response: the peer speaks HTTP/2 but not gRPC.
        if why.contains("grpc-status") {
            return self.foreign(&why);
        }
        broken(&self.path, &why)
    }

    fn rejected(&self, status: &Status) -> KubeletError {
        let why = format!("{} ({})", status.message(), status.code().description());
        if status.code() == Code::Unimplemented {
            // gRPC returns UNIMPLEMENTED for a service that the server lacks.
            self.foreign("it does not support v1")
        } else if status.code() == Code::ResourceExhausted {
            let limit = seconds(self.limit);
            let what =
                format!("is overloaded, and accepted no attempt of this request within {limit}s");
            self.error(KubeletErrorKind::Busy, &what)
        } else if status.code() == Code::Unavailable {
            let what = format!("is unavailable: {why}");
            self.error(KubeletErrorKind::Restarting, &what)
        } else {
            let what = format!("rejected the request: {why}");
            self.error(KubeletErrorKind::Rejected, &what)
        }
    }

    fn error(&self, kind: KubeletErrorKind, what: &str) -> KubeletError {
        KubeletError {
            kind,
            message: format!("the kubelet at {} {what}", self.path.display()),
        }
    }
}

/// Message of tonic for a message that is longer than allowed.
///
/// Upstream: `StreamingInner::decode_chunk` in `tonic/src/codec/decode.rs`.
const TOO_LARGE: &str = "message length too large";

/// The one message of a response, once it is known that no other follows: an endless response is
/// an error.
async fn only(mut answer: Streaming<Bytes>) -> Result<Bytes, Status> {
    let missing = || Status::internal("Missing response message");
    let message = answer.message().await?.ok_or_else(missing)?;
    // tonic ends a stream at its trailers, and finds bytes that belong to no message only when it is read once more.
    for _ in 0..2 {
        if answer.message().await?.is_some() {
            return Err(Status::internal(
                "the response has several messages and no grpc-status, so it is not from a kubelet",
            ));
        }
    }
    Ok(message)
}

/// True if the status was made here, of a failure on the way, and not sent by the kubelet.
fn is_transport(status: &Status) -> bool {
    // tonic uses these codes for statuses of its own, and so does a kubelet: only the text tells them apart.
    let is_ours = status.code() == Code::Internal || status.code() == Code::Unknown;
    let words = [
        "protobuf",
        "Missing response message",
        "Unexpected EOF",
        "grpc-status",
        "HTTP status",
    ];
    std::error::Error::source(status).is_some()
        || is_ours && words.iter().any(|word| status.message().contains(word))
}

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

/// Failed request to a kubelet over its socket.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct KubeletError {
    pub(super) kind: KubeletErrorKind,
    pub(super) message: String,
}

/// Causes of failed requests, as far as hints and retries differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KubeletErrorKind {
    /// There is no socket.
    Missing,
    /// Only root may open it.
    Denied,
    /// No process listens on the socket.
    NotListening,
    /// It is not the socket of a kubelet's podresources API.
    OtherSocket,
    /// There was no response in time.
    TimedOut,
    /// The kubelet gets too many requests, also from other clients.
    Busy,
    /// The kubelet starts, or has closed the connection.
    Restarting,
    /// The kubelet rejected the request for another reason.
    Rejected,
}

/// A limit of time in seconds, rounded: what is left of a limit is a number of nanoseconds.
pub(super) fn seconds(limit: Duration) -> f64 {
    let parts = if limit < Duration::from_secs(1) {
        1000.0
    } else {
        10.0
    };
    (limit.as_secs_f64() * parts).round() / parts
}

impl KubeletError {
    /// The way out.
    pub fn hint(&self) -> &'static str {
        match self.kind {
            KubeletErrorKind::Missing => {
                "run this on the node; if the kubelet has another root directory, set \
                 --socket ROOT/pod-resources/kubelet.sock"
            }
            KubeletErrorKind::Denied => {
                "run as root on the node (sudo), or in a pod that runs as root and mounts \
                 /var/lib/kubelet/pod-resources"
            }
            KubeletErrorKind::NotListening => {
                "check whether the kubelet is running and ready: systemctl status kubelet"
            }
            KubeletErrorKind::OtherSocket => {
                "use the kubelet's own socket: /var/lib/kubelet/pod-resources/kubelet.sock, unless the \
                 kubelet has another root directory"
            }
            KubeletErrorKind::TimedOut => {
                "check the kubelet's log: journalctl -u kubelet; or wait longer with \
                 --request-timeout"
            }
            KubeletErrorKind::Busy => {
                "try again, or stop other clients of this socket: a kubelet accepts 100 requests per \
                 second in total"
            }
            KubeletErrorKind::Restarting => "try again: the kubelet may have just restarted",
            KubeletErrorKind::Rejected => "check the kubelet's log: journalctl -u kubelet",
        }
    }

    /// True if a retry may help.
    pub fn passes(&self) -> bool {
        match self.kind {
            KubeletErrorKind::NotListening
            | KubeletErrorKind::TimedOut
            | KubeletErrorKind::Busy
            | KubeletErrorKind::Restarting => true,
            KubeletErrorKind::Missing
            | KubeletErrorKind::Denied
            | KubeletErrorKind::OtherSocket
            | KubeletErrorKind::Rejected => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_rounded() {
        let left = Duration::from_nanos(5_999_922_504);
        for (limit, shown) in [
            (left, 6.0),
            (Duration::from_millis(1500), 1.5),
            (Duration::from_millis(50), 0.05),
        ] {
            assert!((seconds(limit) - shown).abs() < 1e-9, "{limit:?}");
        }
    }
}
