//! The call `List` of a kubelet's podresources API.
//!
//! Upstream: `pkg/kubelet/apis/podresources`. A kubelet accepts 100 calls a second of all clients, and rejects the others.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http::uri::PathAndQuery;
use prost::Message;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::client::Grpc;
use tonic::{Code, Request, Status, Streaming};

use super::connection::{Connection, Ended, RawCodec, broken, chain, foreign, hung_up};
use super::error::{KubeletError, KubeletErrorKind, seconds};
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
        let response = client.server_streaming(Request::new(()), method, RawCodec);
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
