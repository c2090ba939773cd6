//! The questions that a kubelet answers.
//!
//! Upstream: `pkg/kubelet/apis/podresources`. A kubelet takes 100 calls a second, of all who ask, and refuses the others.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use http::uri::PathAndQuery;
use prost::Message;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::client::Grpc;
use tonic::{Code, Request, Status, Streaming};

use super::codec::Raw;
use super::connection::{Connection, Ended, chain, hung_up};
use super::error::KubeletError;
use crate::model::InUse;
use crate::wire::podresources::{Everything, ListPodResourcesResponse};

/// Where a kubelet listens, unless it has another root folder.
pub const SOCKET: &str = "/var/lib/kubelet/pod-resources/kubelet.sock";
/// The longest answer that is read, as other clients of kubelets have it: a node has some hundred pods, and
/// this is room for ten thousand.
const LONGEST: usize = 16 << 20;
/// What an answer may take once it is decoded; ten thousand pods with claims take the half of it.
const HEAVIEST: usize = 32 << 20;
/// For how long is waited after a refusal for asking too often.
const PAUSE: Duration = Duration::from_millis(50);

const LIST: &str = "/v1.PodResourcesLister/List";

/// Asks the kubelet of one node.
#[derive(Clone, Debug)]
pub struct Lister {
    path: PathBuf,
    limit: Duration,
}

/// What became of a call that was answered in time.
enum Answered {
    Said(ListPodResourcesResponse),
    Refused(Status),
}

impl Lister {
    /// A kubelet that listens at `path`, and has so long for an answer.
    #[must_use]
    pub fn new(path: &Path, limit: Duration) -> Self {
        Self {
            path: path.to_owned(),
            limit,
        }
    }

    /// Everything that is in use.
    ///
    /// # Errors
    ///
    /// When nobody answers, or not a kubelet, or not in time.
    pub async fn list(&self) -> Result<InUse, KubeletError> {
        let deadline = Instant::now()
            .checked_add(self.limit)
            .unwrap_or_else(Instant::now);
        let response = self.call(deadline);
        match response.await? {
            Answered::Said(response) => Ok(response.into_facts()),
            // gRPC returns UNIMPLEMENTED for a service that the server lacks.
            Answered::Refused(status) if status.code() == Code::Unimplemented => {
                Err(self.foreign("it does not support v1".to_owned()))
            }
            Answered::Refused(status) => Err(self.refused(&status)),
        }
    }

    /// One call, until `deadline`; again after a moment where the kubelet is asked too often.
    async fn call(&self, deadline: Instant) -> Result<Answered, KubeletError> {
        let (path, limit) = (self.path.clone(), self.limit);
        // An attempt that ends with the deadline says less than the rejections before it.
        let mut late = KubeletError::TimedOut { path, limit };
        loop {
            let Ok(answered) = timeout_at(deadline, self.once()).await else {
                return Err(late);
            };
            let answered = answered?;
            let is_busy = match &answered {
                Answered::Said(_) => false,
                Answered::Refused(status) => status.code() == Code::ResourceExhausted,
            };
            if !is_busy {
                return Ok(answered);
            }
            late = KubeletError::Busy {
                path: self.path.clone(),
                limit: self.limit,
            };
            if deadline.saturating_duration_since(Instant::now()) <= PAUSE {
                return Err(late);
            }
            // The kubelet's limiter lets the next call pass after 10 ms (100 per second for all clients).
            sleep(PAUSE).await;
        }
    }

    async fn once(&self) -> Result<Answered, KubeletError> {
        let (connection, ended) = Connection::open(&self.path).await?;
        // The name of the host plays no part on a socket.
        let mut client = Grpc::with_origin(connection, Uri::from_static("http://localhost"))
            .max_decoding_message_size(LONGEST);
        let ready = client.ready().await;
        ready.map_err(|error| self.foreign(error.to_string()))?;
        let method = PathAndQuery::from_static(LIST);
        // On the wire a unary call is a stream of one message; read as a stream, a second one can be refused.
        let asked = client.server_streaming(Request::new(Everything {}), method, Raw::new());
        let answered = match asked.await {
            Ok(answer) => only(answer.into_inner()).await,
            Err(status) => Err(status),
        };
        match answered {
            Ok(message) => self.decoded(&message).map(Answered::Said),
            Err(status) if is_transport(&status) => {
                // The connection task ends, and gives its error, only after its last sender is dropped.
                drop(client);
                Err(self.broken(&status, ended).await)
            }
            Err(status) if status.message().contains(TOO_LARGE) => Err(self.too_long()),
            Err(status) => Ok(Answered::Refused(status)),
        }
    }

    /// The answer that a message is, if it is one, and if there is room for it.
    fn decoded(&self, message: &[u8]) -> Result<ListPodResourcesResponse, KubeletError> {
        // Weighed before decoding, because an oversized response must never be built in memory.
        match ListPodResourcesResponse::SHAPE.weight(message) {
            Some(weight) if weight > HEAVIEST => {
                let most = HEAVIEST >> 20;
                Err(self.foreign(format!(
                    "its response takes more than {most} MiB once decoded"
                )))
            }
            Some(_) => {
                let answer = ListPodResourcesResponse::decode(message)
                    .map_err(|error| self.foreign(error.to_string()))?;
                match answer.oddity() {
                    None => Ok(answer),
                    Some(odd) => Err(self.foreign(odd)),
                }
            }
            None => Err(self.foreign("its response is not a message of this API".to_owned())),
        }
    }

    fn too_long(&self) -> KubeletError {
        let most = LONGEST >> 20;
        self.foreign(format!("its response is longer than {most} MiB"))
    }

    fn foreign(&self, why: String) -> KubeletError {
        KubeletError::Foreign {
            path: self.path.clone(),
            why,
        }
    }

    /// Who does not speak HTTP/2, or no gRPC, is somebody else; who hung up is a kubelet that broke.
    async fn broken(&self, status: &Status, ended: Ended) -> KubeletError {
        // What was wrong with the connection is known to the connection alone.
        let ended = timeout(PAUSE, ended.known()).await;
        if let Ok(Some(error)) = ended
            && !hung_up(&error)
        {
            return self.foreign(chain(&error));
        }
        let why = chain(status);
        // tonic misses the trailer that ends every gRPC response: the peer speaks HTTP/2 but not gRPC.
        if why.contains("grpc-status") {
            return self.foreign(why);
        }
        KubeletError::Broken {
            path: self.path.clone(),
            why,
        }
    }

    fn refused(&self, status: &Status) -> KubeletError {
        let path = self.path.clone();
        let why = format!("{} ({})", status.message(), status.code().description());
        if status.code() == Code::Unavailable {
            KubeletError::Unready { path, why }
        } else {
            KubeletError::Refused { path, why }
        }
    }
}

/// What tonic says of a message that is longer than it may be.
///
/// Upstream: `StreamingInner::decode_chunk` in `tonic/src/codec/decode.rs`.
const TOO_LARGE: &str = "message length too large";

/// The one message of an answer, once it is known that no other follows: whoever never stops answers
/// nothing.
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

/// Whether the status was made here, of what went wrong on the way, and not said by the kubelet.
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
