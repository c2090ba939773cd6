//! An API server of a few lines, which answers what a test tells it to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::encode;
use crate::cluster::client::target::Target;
use crate::cluster::{
    ApiClient, ClusterError, Connection, ConnectionOptions, Detail, Environment, Event, Observer,
    discover, read_devices,
};
use crate::model::Reading;

/// Scripted response.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Whole(u16, Vec<String>, Vec<u8>),
    /// The body ends after this number of bytes, as if that were all of it.
    Ends(Vec<u8>, usize),
    /// With this status, the connection ends after this number of bytes of the body, in the middle of it.
    Breaks(u16, Vec<u8>, usize),
    /// The connection is reset.
    Resets,
    /// Nothing comes.
    Silence,
    /// Half of the body, and then nothing.
    Stalls(Vec<u8>),
    /// All of this, and then nothing, although it is not the end.
    Holds(Vec<u8>),
    /// A body that never ends, as fast as it is read.
    Pours,
}

impl Answer {
    pub(super) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::Whole(200, Vec::new(), body.into())
    }

    pub(crate) fn json(body: &str) -> Self {
        Self::ok(body)
    }

    pub(super) fn refused(status: u16, body: &str) -> Self {
        Self::Whole(status, Vec::new(), body.into())
    }

    pub(crate) fn busy(status: u16, seconds: u64) -> Self {
        Self::Whole(status, vec![format!("Retry-After: {seconds}")], Vec::new())
    }

    /// A refusal as an API server explains it.
    pub(super) fn status(code: u16, reason: &str, message: &str) -> Self {
        let body = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code,
        });
        Self::refused(code, &body.to_string())
    }

    /// Response of an API server to an unknown path.
    pub(super) fn unknown_path() -> Self {
        let text = "Content-Type: text/plain; charset=utf-8".to_owned();
        Self::Whole(404, vec![text], b"404 page not found\n".to_vec())
    }

    /// The first half of what an API server says about an object that it does not have.
    pub(super) fn half_absent(resource: &str, name: &str) -> Self {
        let body = not_found(resource, name).into_bytes();
        let half = body.len() / 2;
        Self::Breaks(404, body, half)
    }

    /// Response of an API server for an object that does not exist.
    pub(crate) fn absent(resource: &str, name: &str) -> Self {
        Self::refused(404, &not_found(resource, name))
    }

    /// A page of something else than an API server.
    pub(super) fn page(status: u16) -> Self {
        let html = "Content-Type: text/html".to_owned();
        Self::Whole(status, vec![html], b"<html>\nno</html>\n".to_vec())
    }

    pub(crate) fn forbidden(user: &str) -> Self {
        let words = format!("it is forbidden: User \"{user}\" cannot list resource");
        Self::Whole(403, Vec::new(), encode::status(403, "Forbidden", &words))
    }
}

/// Requests, and the credentials that are refused.
#[derive(Debug, Default)]
struct Visitors {
    /// Path and query, and the `Authorization` header.
    requests: Vec<(String, String)>,
    /// All of each request but its body, in small letters.
    heads: Vec<String>,
    expired: Vec<String>,
}

type Scripts = Arc<Mutex<BTreeMap<String, Vec<Answer>>>>;

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(super) url: String,
    scripts: Scripts,
    visitors: Arc<Mutex<Visitors>>,
}

pub(crate) const SLICES: &str = "/apis/resource.k8s.io/v1/resourceslices";
pub(crate) const CLAIMS: &str = "/apis/resource.k8s.io/v1/resourceclaims";
pub(crate) const RULES: &str = "/apis/resource.k8s.io/v1/devicetaintrules";
pub(crate) const TEMPLATES: &str = "/apis/resource.k8s.io/v1/resourceclaimtemplates";
pub(crate) const PODS: &str = "/api/v1/pods";

impl Server {
    /// A server at 1.37 with two nodes, a claim on each, and no rules.
    pub(crate) async fn start() -> Self {
        Self::start_with(None).await
    }

    /// Starts a server behind TLS, with an untrusted certificate.
    pub(crate) async fn start_secure() -> Self {
        Self::start_with(Some(acceptor())).await
    }

    async fn start_with(acceptor: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let scheme = if acceptor.is_some() { "https" } else { "http" };
        let address = listener.local_addr().expect("an address");
        let url = format!("{scheme}://{address}");
        let scripts = Scripts::default();
        let visitors = Arc::<Mutex<Visitors>>::default();
        tokio::spawn(accept(
            listener,
            acceptor,
            Arc::clone(&scripts),
            Arc::clone(&visitors),
        ));
        let server = Self {
            url,
            scripts,
            visitors,
        };
        server.answer("/version", [Answer::json(r#"{"gitVersion":"v1.37.0"}"#)]);
        server.answer(
            "/apis/resource.k8s.io",
            [Answer::json(
                r#"{"kind":"APIGroup","versions":[{"groupVersion":"resource.k8s.io/v1"}]}"#,
            )],
        );
        server.answer(
            "/apis/resource.k8s.io/v1",
            [resources(&[
                "resourceslices",
                "resourceclaims",
                "devicetaintrules",
                "deviceclasses",
                "resourceclaimtemplates",
            ])],
        );
        server.answer(TEMPLATES, [templates(None)]);
        server.answer(SLICES, [Answer::ok(slices())]);
        server.answer(CLAIMS, [Answer::ok(claims())]);
        server.answer(
            RULES,
            [Answer::json(
                r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRuleList","metadata":{"resourceVersion":"7"},"items":[]}"#,
            )],
        );
        server
    }

    /// Answers requests for `path` in this order, and with the last one from then on. With a method in
    /// front, such as `DELETE /path`, only those.
    pub(crate) fn answer(&self, path: &str, answers: impl IntoIterator<Item = Answer>) {
        let mut scripts = self.scripts.lock().expect("scripts");
        let mut answers: Vec<_> = answers.into_iter().collect();
        answers.reverse();
        scripts.insert(path.to_owned(), answers);
    }

    /// From now on what it was told to answer says nothing of the time.
    pub(crate) fn forget_the_time(&self) {
        let mut scripts = self.scripts.lock().expect("scripts");
        for answer in scripts.values_mut().flatten() {
            if let Answer::Whole(200, _, body) = answer {
                *answer = Answer::Ends(body.clone(), body.len());
            }
        }
    }

    /// Answers with pod-1, which uses a claim from a template, as the only pod with devices.
    pub(crate) fn answer_generated(&self) {
        let list = |kind, item| Answer::ok(encode::list("resource.k8s.io/v1", kind, &[item], ""));
        self.answer(CLAIMS, [list("ResourceClaim", encode::generated_claim())]);
        let classes = "/apis/resource.k8s.io/v1/deviceclasses";
        self.answer(classes, [list("DeviceClass", encode::class())]);
        let pod = encode::object("v1", "Pod", &encode::pod_of_template());
        self.answer("/api/v1/namespaces/ml/pods/pod-1", [Answer::ok(pod)]);
        let nodes = r#""items":[{"metadata":{"name":"node-1"}},{"metadata":{"name":"node-2"}}]"#;
        let kind = r#""apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList""#;
        let nodes = Answer::json(&format!(r#"{{{kind},"metadata":{{}},{nodes}}}"#));
        self.answer("/api/v1/nodes", [nodes]);
        let cordoned = "/api/v1/nodes?fieldSelector=spec.unschedulable%3Dtrue&limit=1000";
        let none = r#"{"apiVersion":"v1","kind":"NodeList","metadata":{},"items":[]}"#;
        self.answer(cordoned, [Answer::json(none)]);
    }

    /// Requests, in order.
    pub(crate) fn requests(&self) -> Vec<String> {
        let visitors = self.visitors.lock().expect("visitors");
        let requests = visitors.requests.iter();
        requests.map(|(target, _)| target.clone()).collect()
    }

    /// Everything that was said in front of each request, in small letters.
    pub(crate) fn heads(&self) -> Vec<String> {
        let visitors = self.visitors.lock().expect("visitors");
        visitors.heads.clone()
    }

    /// Credentials of the requests for `path`, in order.
    pub(super) fn authorizations(&self, path: &str) -> Vec<String> {
        let visitors = self.visitors.lock().expect("visitors");
        let asked = visitors
            .requests
            .iter()
            .filter(|(target, _)| target == path);
        asked.map(|(_, who)| who.clone()).collect()
    }

    /// Refuses this `Authorization` from now on.
    pub(super) fn expire(&self, who: &str) {
        let mut visitors = self.visitors.lock().expect("visitors");
        visitors.expired.push(who.to_owned());
    }

    /// Number of requests whose path begins with `path`.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.requests()
            .iter()
            .filter(|request| request.starts_with(path))
            .count()
    }

    pub(crate) fn options(&self) -> ConnectionOptions {
        ConnectionOptions {
            server: Some(self.url.clone()),
            insecure_skip_tls_verify: self.url.starts_with("https").then_some(true),
            request_timeout: Some(Duration::from_secs(5)),
            ..ConnectionOptions::default()
        }
    }

    pub(super) async fn client(&self) -> (ApiClient, Arc<Notices>) {
        client(&self.options()).await
    }

    /// Devices as a whole run reads them, and what the user is told meanwhile.
    pub(super) async fn devices(&self) -> (Result<Reading, ClusterError>, Vec<String>) {
        let (client, notices) = self.client().await;
        let reading = match discover(&client).await {
            Ok(served) => read_devices(&client, &served, Detail::Names).await,
            Err(error) => Err(error),
        };
        (reading, notices.texts())
    }
}

/// An environment in which a shell is found.
pub(super) fn with_programs() -> Environment {
    Environment {
        path: Some("/usr/bin:/bin".into()),
        ..Environment::default()
    }
}

pub(super) async fn client(options: &ConnectionOptions) -> (ApiClient, Arc<Notices>) {
    let notices = Arc::<Notices>::default();
    let connection = Connection::load(options, &Environment::default(), &*notices)
        .await
        .expect("a connection");
    let client = ApiClient::new(connection, Arc::clone(&notices) as Arc<dyn Observer>);
    (client.expect("a client"), notices)
}

/// Remembers what the user would be told.
#[derive(Debug, Default)]
pub(super) struct Notices(Mutex<Vec<String>>);

impl Notices {
    pub(super) fn texts(&self) -> Vec<String> {
        self.0.lock().expect("notices").clone()
    }
}

impl Observer for Notices {
    fn event(&self, event: &Event<'_>) {
        if let Event::Notice(text) = event {
            self.0.lock().expect("notices").push((*text).to_owned());
        }
    }
}

pub(crate) fn resources(names: &[&str]) -> Answer {
    let resources: Vec<String> = names
        .iter()
        .map(|name| format!(r#"{{"name":"{name}","verbs":["get","list"]}}"#))
        .collect();
    Answer::json(&format!(
        r#"{{"kind":"APIResourceList","resources":[{}]}}"#,
        resources.join(",")
    ))
}

/// Templates: the one that claims are made from, for so many devices; none where that is absent.
pub(crate) fn templates(count: Option<u64>) -> Answer {
    let items: Vec<_> = count.map(encode::template).into_iter().collect();
    let kind = "ResourceClaimTemplate";
    Answer::ok(encode::list("resource.k8s.io/v1", kind, &items, ""))
}

pub(super) fn slices() -> Vec<u8> {
    let items = [
        encode::slice("node-1", &["gpu-0", "gpu-1"]),
        encode::slice("node-2", &["gpu-0", "gpu-1"]),
    ];
    encode::list("resource.k8s.io/v1", "ResourceSlice", &items, "")
}

pub(super) fn claims() -> Vec<u8> {
    let items = [
        encode::claim("claim-1", "node-1", "gpu-0", "pod-1"),
        encode::claim("claim-2", "node-2", "gpu-0", "pod-2"),
    ];
    encode::list("resource.k8s.io/v1", "ResourceClaim", &items, "")
}

fn acceptor() -> TlsAcceptor {
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let certificate = key.cert.der().clone();
    let private =
        tokio_rustls::rustls::pki_types::PrivateKeyDer::try_from(key.signing_key.serialize_der())
            .expect("a key");
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = tokio_rustls::rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], private)
        .expect("a configuration");
    TlsAcceptor::from(Arc::new(config))
}

/// A connection, encrypted or not.
trait Line: AsyncRead + AsyncWrite + Unpin + Send {
    /// Underlying socket.
    fn socket(&mut self) -> &mut TcpStream;
}

impl Line for TcpStream {
    fn socket(&mut self) -> &mut TcpStream {
        self
    }
}

impl Line for TlsStream<TcpStream> {
    fn socket(&mut self) -> &mut TcpStream {
        self.get_mut().0
    }
}

async fn accept(
    listener: TcpListener,
    acceptor: Option<TlsAcceptor>,
    scripts: Scripts,
    visitors: Arc<Mutex<Visitors>>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        // An answer goes out in parts; without this each would wait 40 ms for the one before it.
        let _ = stream.set_nodelay(true);
        let (scripts, visitors) = (Arc::clone(&scripts), Arc::clone(&visitors));
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            match acceptor {
                None => serve(stream, scripts, visitors).await,
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve(stream, scripts, visitors).await;
                    }
                }
            }
        });
    }
}

async fn serve(mut stream: impl Line, scripts: Scripts, visitors: Arc<Mutex<Visitors>>) {
    let mut input = Vec::new();
    loop {
        while !input.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            match stream.read(&mut byte).await {
                Ok(1) => input.push(byte[0]),
                _ => return,
            }
        }
        let head = String::from_utf8_lossy(&input).into_owned();
        let mut words = head.split(' ');
        let method = words.next().unwrap_or_default();
        let target = words.next().unwrap_or_default().to_owned();
        input.clear();
        let header = |name: &str| {
            let mut lines = head.lines();
            let value = lines.find_map(|line| line.strip_prefix(name));
            value.unwrap_or_default().to_owned()
        };
        let length = header("content-length: ").parse().unwrap_or_default();
        if stream.read_exact(&mut vec![0; length]).await.is_err() {
            return;
        }
        let answer = if note(&visitors, &target, header("authorization: "), &head) {
            script_for(&scripts, method, &target)
        } else {
            Answer::status(401, "Unauthorized", "Unauthorized")
        };
        if send(&mut stream, answer).await.is_none() || stream.flush().await.is_err() {
            let _ = stream.shutdown().await;
            return;
        }
    }
}

/// Records a request, and returns true if its credentials are accepted.
fn note(visitors: &Mutex<Visitors>, target: &str, who: String, head: &str) -> bool {
    let mut visitors = visitors.lock().expect("visitors");
    let known = !visitors.expired.contains(&who);
    visitors.heads.push(head.to_lowercase());
    visitors.requests.push((target.to_owned(), who));
    known
}

fn script_for(scripts: &Scripts, method: &str, target: &str) -> Answer {
    let mut scripts = scripts.lock().expect("scripts");
    let path = target.split('?').next().unwrap_or_default();
    let written = [target, path].map(|target| format!("{method} {target}"));
    let read = [target, path].map(str::to_owned);
    let key = written
        .into_iter()
        .chain(read)
        .find(|key| scripts.contains_key(key));
    match key.and_then(|key| scripts.get_mut(&key)) {
        None => match Target::of(path) {
            Target::Object(resource) => {
                let name = path.rsplit('/').next().unwrap_or_default();
                Answer::absent(&resource.1, name)
            }
            Target::Collection(_) | Target::Discovery(_) | Target::Version | Target::Other => {
                Answer::unknown_path()
            }
        },
        Some(answers) if answers.len() > 1 => answers.pop().expect("an answer"),
        Some(answers) => answers.first().cloned().expect("an answer"),
    }
}

fn not_found(resource: &str, name: &str) -> String {
    let body = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("{resource} {name:?} not found"), "reason": "NotFound",
        "details": {"name": name, "kind": resource}, "code": 404,
    });
    body.to_string()
}

/// `None` when the connection is of no further use.
async fn send(stream: &mut impl Line, answer: Answer) -> Option<()> {
    const CHUNKED: &str = "200 OK\r\nTransfer-Encoding: chunked";
    let chunk = |body: &[u8]| [format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n"].concat();
    match answer {
        Answer::Whole(status, mut headers, body) => {
            headers.push(format!("Content-Length: {}", body.len()));
            if !headers[0].starts_with("Date: ") {
                headers.push("Date: Sat, 21 Nov 2026 04:43:27 GMT".to_owned());
            }
            let headers = headers.join("\r\n");
            write(stream, &format!("{status} X\r\n{headers}"), &body).await
        }
        Answer::Ends(body, length) => {
            let head = format!("200 OK\r\nContent-Length: {length}");
            write(stream, &head, &body[..length]).await
        }
        Answer::Breaks(status, body, length) => {
            let head = format!("{status} X\r\nContent-Length: {}", body.len());
            write(stream, &head, &body[..length]).await?;
            None
        }
        Answer::Resets => {
            let _ = stream.socket().set_zero_linger();
            None
        }
        Answer::Silence => std::future::pending().await,
        Answer::Holds(body) => {
            // A chunk of nothing would be the end.
            let body = if body.is_empty() { body } else { chunk(&body) };
            write(stream, CHUNKED, &body).await?;
            std::future::pending().await
        }
        Answer::Stalls(body) => {
            let head = format!("200 OK\r\nContent-Length: {}", body.len());
            write(stream, &head, &body[..body.len() / 2]).await?;
            std::future::pending().await
        }
        Answer::Pours => {
            let chunk = chunk(&vec![b' '; 1 << 20]);
            write(stream, CHUNKED, &chunk).await?;
            loop {
                stream.write_all(&chunk).await.ok()?;
            }
        }
    }
}

/// Sends a status with its headers, and this of the body.
async fn write(stream: &mut impl Line, head: &str, body: &[u8]) -> Option<()> {
    let head = format!("HTTP/1.1 {head}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(body).await.ok()
}
