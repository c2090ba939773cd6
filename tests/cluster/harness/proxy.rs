//! Proxy between the plugin and the API server, with the faults of networks, middleboxes and overloaded servers.
//!
//! It ends TLS, so that its changes look genuine, and forwards requests as administrator. Every request is
//! recorded, and gets the [`Fault`] that is planned for it ([`At`]).

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, rustls, server::TlsStream};

use super::{
    ControlPlane, DEADLINE,
    fault::{Another, Fault, Reply, Spoiled, Twin},
    random_suffix, wait,
    wire::Wire,
};

/// Headers of an answer that are about the connection to the server, not about the answer.
const HOP: [&str; 5] = [
    "connection",
    "content-encoding",
    "content-length",
    "keep-alive",
    "transfer-encoding",
];

/// A UID that no object has.
const UID: &str = "00000000-0000-4000-8000-000000000000";

/// A request as the plugin sent it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub body: String,
    /// True if the response may be compressed.
    pub takes_gzip: bool,
    /// When it had arrived completely.
    pub at: Instant,
}

impl Seen {
    /// True if it changes an object of the cluster: a dry run and a review of permissions do not.
    pub fn is_change(&self) -> bool {
        self.method != "GET" && !self.path.contains("dryRun") && !self.path.contains("reviews")
    }
}

/// Requests that get a fault, counted since [`Proxy::plan`].
#[derive(Clone, Debug)]
pub enum At {
    /// The request of this number, counted from one.
    Number(usize),
    /// The request of this number and all that follow.
    From(usize),
    /// The first so many with this prefix of the path.
    Path(String, usize),
    /// The request of this number among those that change an object.
    Change(usize),
    /// The request of this number among those that change an object, and all that follow.
    FromChange(usize),
}

/// A running proxy; it ends with the test binary.
pub struct Proxy {
    /// Its address, as `--server` takes it.
    pub server: String,
    /// The certificate to trust.
    pub authority: PathBuf,
    /// A file that leads the plugin here.
    pub kubeconfig: PathBuf,
    state: Arc<Mutex<State>>,
    /// Requests that the server may still see.
    busy: Arc<AtomicUsize>,
}

/// A request that the server may still see.
struct Busy(Arc<AtomicUsize>);

impl Busy {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    plan: Vec<(At, Fault)>,
}

type Stream = BufStream<TlsStream<Wire>>;

impl Proxy {
    /// Starts one that passes everything on.
    pub fn start(plane: &ControlPlane) -> Self {
        let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
            .expect("a certificate can be made");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let proxy = Self {
            server: format!("https://127.0.0.1:{port}"),
            authority: plane
                .folder()
                .join(format!("proxy-{}.pem", random_suffix())),
            kubeconfig: plane
                .folder()
                .join(format!("proxy-{}.yaml", random_suffix())),
            state: Arc::default(),
            busy: Arc::default(),
        };
        std::fs::write(&proxy.authority, certified.cert.pem()).expect("a file");
        std::fs::write(&proxy.kubeconfig, proxy.kubeconfig_text()).expect("a file");
        let (client, state) = (plane.client.kube(), Arc::clone(&proxy.state));
        let busy = Arc::clone(&proxy.busy);
        let tls = acceptor(&certified);
        wait::runtime().spawn(async move {
            listener.set_nonblocking(true).expect("a socket");
            let listener = TcpListener::from_std(listener).expect("a socket");
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, client) = (tls.clone(), client.clone());
                let (state, busy) = (Arc::clone(&state), Arc::clone(&busy));
                tokio::spawn(async move {
                    let garbled = Arc::<AtomicBool>::default();
                    let wire = Wire::new(stream, Arc::clone(&garbled));
                    if let Ok(stream) = tls.accept(wire).await {
                        // A program that is gone reads no answer.
                        let _ =
                            serve(BufStream::new(stream), &client, (&state, &busy), &garbled).await;
                    }
                });
            }
        });
        proxy
    }

    fn kubeconfig_text(&self) -> String {
        format!(
            "{{apiVersion: v1, kind: Config, current-context: p, \
             contexts: [{{name: p, context: {{cluster: p, user: p}}}}], \
             clusters: [{{name: p, cluster: {{server: '{}', tls-server-name: localhost, certificate-authority: '{}'}}}}], \
             users: [{{name: p, user: {{token: anybody}}}}]}}\n",
            self.server,
            self.authority.display()
        )
    }

    /// Forgets the recorded requests, and plans the next faults. Where two fit, the first applies.
    pub fn plan(&self, plan: impl IntoIterator<Item = (At, Fault)>) {
        *self.state.lock().expect("no panic") = State {
            seen: Vec::new(),
            plan: plan.into_iter().collect(),
        };
    }

    /// The requests since the plan was made.
    pub fn seen(&self) -> Vec<Seen> {
        self.state.lock().expect("no panic").seen.clone()
    }

    /// Waits until the server has seen all of the sent requests.
    pub fn rest(&self) {
        let end = Instant::now() + DEADLINE;
        while self.busy.load(Ordering::SeqCst) > 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Flags that lead the plugin here.
    pub fn flags(&self) -> Vec<String> {
        vec![
            format!("--server={}", self.server),
            format!("--certificate-authority={}", self.authority.display()),
            "--tls-server-name=localhost".to_owned(),
        ]
    }
}

impl State {
    /// Records the request, and returns its fault.
    fn next(&mut self, seen: Seen) -> Fault {
        self.seen.push(seen);
        let number = self.seen.len();
        let seen = &self.seen[number - 1];
        let count =
            |fits: &dyn Fn(&Seen) -> bool| self.seen.iter().filter(|seen| fits(seen)).count();
        let happens = |at: &At| match at {
            At::Number(at) => number == *at,
            At::From(at) => number >= *at,
            At::Path(begin, times) => {
                let fits = |seen: &Seen| seen.path.starts_with(begin);
                fits(seen) && count(&fits) <= *times
            }
            At::Change(at) => seen.is_change() && count(&Seen::is_change) == *at,
            At::FromChange(at) => count(&Seen::is_change) >= *at,
        };
        let planned = self.plan.iter().find(|(at, _)| happens(at));
        planned.map_or(Fault::Passed, |(_, fault)| fault.clone())
    }
}

fn acceptor(certified: &rcgen::CertifiedKey<rcgen::KeyPair>) -> TlsAcceptor {
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der())
        .expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .expect("a certificate with its key");
    TlsAcceptor::from(Arc::new(config))
}

/// Parts of a request, beside the recorded ones.
struct Asked {
    seen: Seen,
    headers: Vec<(String, String)>,
}

/// Answers request after request until the connection ends.
async fn serve(
    mut stream: Stream,
    client: &kube::Client,
    (state, busy): (&Mutex<State>, &Arc<AtomicUsize>),
    garbled: &AtomicBool,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    while let Some(asked) = read(&mut stream).await? {
        let fault = state.lock().expect("no panic").next(asked.seen.clone());
        // A watch is under way until it is ended.
        let at_work = (asked.seen.method != "GET").then(|| Busy::new(busy));
        match fault {
            Fault::Silence => {
                drop(at_work);
                std::future::pending().await
            }
            Fault::Doubled(twin) => {
                let first = collected(ask(client, &asked).await?).await?;
                let second = collected(ask(client, &asked).await?).await?;
                let (head, body) = match twin {
                    Twin::First => first,
                    Twin::Second => second,
                };
                write_answer(&mut stream, &head, &body).await?;
            }
            Fault::Another(another) => {
                let (head, body) = collected(ask(client, &asked).await?).await?;
                let body = match another {
                    Another::Stored => stored(client, &asked, body).await?,
                    Another::Uid | Another::Name | Another::Leaving => changed(another, body),
                };
                write_answer(&mut stream, &head, &body).await?;
            }
            Fault::Tardy(pause) => {
                let (head, body) = collected(ask(client, &asked).await?).await?;
                drop(at_work);
                tokio::time::sleep(pause).await;
                write_answer(&mut stream, &head, &body).await?;
            }
            Fault::Hangs(thousandths) => {
                let (head, body) = collected(ask(client, &asked).await?).await?;
                let head = format!("{head}Content-Length: {}\r\n\r\n", body.len() + 1);
                stream.write_all(head.as_bytes()).await?;
                stream
                    .write_all(&body[..body.len() * thousandths / 1000])
                    .await?;
                stream.flush().await?;
                drop(at_work);
                std::future::pending().await
            }
            Fault::Reset => {
                stream.get_ref().get_ref().0.reset();
                return Ok(());
            }
            Fault::Answer(reply) => write_reply(&mut stream, &reply).await?,
            Fault::HeldBefore(gate, passes) => {
                gate.hold().await;
                if !passes {
                    return Ok(());
                }
                pass(&mut stream, client, &asked, &Spoiled::default()).await?;
            }
            Fault::HeldAfter(gate) => {
                ask(client, &asked).await?;
                gate.hold().await;
                return Ok(());
            }
            Fault::Lost => {
                collected(ask(client, &asked).await?).await?;
                return Ok(());
            }
            Fault::Replaced(reply) => {
                collected(ask(client, &asked).await?).await?;
                write_reply(&mut stream, &reply).await?;
            }
            Fault::Late(pause) => {
                tokio::time::sleep(pause).await;
                pass(&mut stream, client, &asked, &Spoiled::default()).await?;
            }
            Fault::Garbled => {
                collected(ask(client, &asked).await?).await?;
                garbled.store(true, Ordering::Relaxed);
                write_reply(&mut stream, &Reply::json("200 OK", "{}")).await?;
            }
            Fault::Spoiled(spoiled) => {
                pass(&mut stream, client, &asked, &spoiled).await?;
                if spoiled.breaks {
                    return Ok(());
                }
            }
            Fault::Passed => pass(&mut stream, client, &asked, &Spoiled::default()).await?,
        }
        stream.flush().await?;
    }
    Ok(())
}

/// The next request, if there is one.
async fn read(
    stream: &mut Stream,
) -> Result<Option<Asked>, Box<dyn std::error::Error + Send + Sync>> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(Ok(0), |(_, length)| length.parse())?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let takes_gzip = headers
        .iter()
        .any(|(name, value)| name == "accept-encoding" && value == "gzip");
    Ok(Some(Asked {
        seen: Seen {
            method: method.to_owned(),
            path: path.to_owned(),
            body: String::from_utf8_lossy(&body).into_owned(),
            takes_gzip,
            at: Instant::now(),
        },
        headers,
    }))
}

/// Answer of the server.
async fn ask(
    client: &kube::Client,
    asked: &Asked,
) -> Result<http::Response<Body>, Box<dyn std::error::Error + Send + Sync>> {
    let mut request = Request::builder()
        .method(asked.seen.method.as_str())
        .uri(&asked.seen.path);
    for (name, value) in &asked.headers {
        if ["accept", "content-type"].contains(&name.as_str()) {
            request = request.header(name, value);
        }
    }
    let request = request.body(Body::from(asked.seen.body.clone().into_bytes()))?;
    Ok(client.send(request).await?)
}

async fn collected(
    response: http::Response<Body>,
) -> Result<(String, Vec<u8>), Box<dyn std::error::Error + Send + Sync>> {
    let (head, body) = response.into_parts();
    let bytes = body.collect().await?.to_bytes().to_vec();
    Ok((head_text(head.status, &head.headers), bytes))
}

/// The beginning of an answer, as the server has it.
fn head_text(status: http::StatusCode, headers: &HeaderMap) -> String {
    let mut text = format!("HTTP/1.1 {status}\r\n");
    for (name, value) in headers {
        if !HOP.contains(&name.as_str())
            && let Ok(value) = value.to_str()
        {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    text
}

/// The object of an answer, as if it were another.
fn changed(another: Another, body: Vec<u8>) -> Vec<u8> {
    let Ok(mut answer) = serde_json::from_slice::<Value>(&body) else {
        return body;
    };
    for place in ["metadata", "details"] {
        if !answer[place]["uid"].is_string() {
            continue;
        }
        let object = &mut answer[place];
        match another {
            Another::Uid => object["uid"] = UID.into(),
            Another::Name => {
                object["uid"] = UID.into();
                object["name"] = "other".into();
            }
            Another::Leaving if place == "metadata" => {
                object["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
                object["deletionGracePeriodSeconds"] = 0.into();
            }
            Another::Leaving | Another::Stored => {}
        }
    }
    answer.to_string().into_bytes()
}

/// Another object of the requested kind, if the server has one, instead of the `body`.
async fn stored(
    client: &kube::Client,
    asked: &Asked,
    body: Vec<u8>,
) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
    let Ok(answer) = serde_json::from_slice::<Value>(&body) else {
        return Ok(body);
    };
    let path = asked.seen.path.split('?').next().unwrap_or_default();
    let (collection, name) = match answer["metadata"]["name"].as_str() {
        Some(name) if path.ends_with(&format!("/{name}")) => {
            (path.trim_end_matches(name).trim_end_matches('/'), name)
        }
        Some(name) => (path, name),
        // A Status, of a deletion.
        None => match path.rsplit_once('/') {
            Some(parts) => parts,
            None => return Ok(body),
        },
    };
    let request = Request::builder().uri(collection);
    let request = request.body(Body::from(Vec::new()))?;
    let (_, list) = collected(client.send(request).await?).await?;
    let list: Value = serde_json::from_slice(&list)?;
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let lane = name.rsplit('-').next().unwrap_or_default();
    let is_near = |item: &&Value| {
        let other = item["metadata"]["name"].as_str().unwrap_or_default();
        other != name && other.ends_with(lane)
    };
    let Some(mut other) = items.iter().find(is_near).cloned() else {
        return Ok(changed(Another::Name, body));
    };
    other["apiVersion"] = list["apiVersion"].clone();
    other["kind"] = list["kind"]
        .as_str()
        .map_or("", |kind| kind.trim_end_matches("List"))
        .into();
    Ok(other.to_string().into_bytes())
}

async fn write_answer(stream: &mut Stream, head: &str, body: &[u8]) -> std::io::Result<()> {
    let head = format!("{head}Content-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.flush().await
}

/// Passes the server's answer on, as it comes if it is a watch's.
async fn pass(
    stream: &mut Stream,
    client: &kube::Client,
    asked: &Asked,
    spoiled: &Spoiled,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let response = ask(client, asked).await?;
    if asked.seen.path.contains("watch=") && response.status().is_success() {
        return stream_on(stream, response, spoiled).await;
    }
    let (mut head, mut body) = collected(response).await?;
    if spoiled.undated {
        let dated = head
            .split_inclusive("\r\n")
            .filter(|line| !line.starts_with("date:"));
        head = dated.collect();
    }
    let length = spoiled.spoil(&mut body);
    let head = format!("{head}Content-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    Ok(stream.flush().await?)
}

/// Passes events on as they come; one that is spoiled is the last.
async fn stream_on(
    stream: &mut Stream,
    response: http::Response<Body>,
    spoiled: &Spoiled,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let (head, mut body) = response.into_parts();
    let head = head_text(head.status, &head.headers);
    let head = format!("{head}Transfer-Encoding: chunked\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.flush().await?;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else {
            continue;
        };
        let mut data = data.to_vec();
        if spoiled.is_harmful() {
            spoiled.spoil(&mut data);
            stream
                .write_all(format!("{:x}\r\n", data.len()).as_bytes())
                .await?;
            stream.write_all(&data).await?;
            stream.flush().await?;
            return Err("the watch ends here".into());
        }
        stream
            .write_all(format!("{:x}\r\n", data.len()).as_bytes())
            .await?;
        stream.write_all(&data).await?;
        stream.write_all(b"\r\n").await?;
        stream.flush().await?;
    }
    stream.write_all(b"0\r\n\r\n").await?;
    Ok(stream.flush().await?)
}

async fn write_reply(stream: &mut Stream, reply: &Reply) -> std::io::Result<()> {
    stream.write_all(&reply.bytes()).await?;
    stream.flush().await
}
