//! Stands between the plugin and the API server, and spoils answers.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};

use http::{Request, header::ACCEPT};
use http_body_util::BodyExt;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{TlsAcceptor, rustls, server::TlsStream};

use crate::harness::{ControlPlane, random_suffix};

/// What goes wrong with the answers to some requests.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The body ends after so many thousandths of it, and nothing shows that it has.
    Ends(usize),
    /// The connection ends after so many thousandths of the body.
    Breaks(usize),
    /// Something follows the body.
    Appended(Vec<u8>),
    /// Another answer: status line and headers.
    Answer(&'static str),
    /// The connection is reset instead of an answer.
    Reset,
    /// No answer comes.
    Silence,
}

/// A running proxy; ends with the test.
pub struct Proxy {
    pub server: String,
    /// The certificate to trust.
    pub authority: PathBuf,
    seen: Arc<Mutex<Vec<String>>>,
}

/// Which requests are spoiled, and how often.
struct Plan {
    /// What the path begins with.
    path: String,
    fault: Fault,
    left: Mutex<usize>,
}

struct Shared {
    upstream: Client,
    plan: Plan,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Spoils the first `times` answers to requests for `path`.
    pub async fn start(plane: &ControlPlane, path: &str, fault: Fault, times: usize) -> Self {
        let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
            .expect("a certificate can be made");
        let authority = plane
            .folder()
            .join(format!("proxy-{}.pem", random_suffix()));
        std::fs::write(&authority, certified.cert.pem()).expect("a file");
        let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der())
            .expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], key)
            .expect("a certificate with its key");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let shared = Arc::new(Shared {
            upstream: upstream(plane).await,
            plan: Plan {
                path: path.to_owned(),
                fault,
                left: Mutex::new(times),
            },
            seen: Arc::clone(&seen),
        });
        tokio::spawn(accept(
            listener,
            TlsAcceptor::from(Arc::new(config)),
            shared,
        ));
        Self {
            server: format!("https://127.0.0.1:{port}"),
            authority,
            seen,
        }
    }

    /// How often something that begins with `path` was asked for.
    pub fn count(&self, path: &str) -> usize {
        let seen = self.seen.lock().expect("seen");
        seen.iter().filter(|found| found.starts_with(path)).count()
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

async fn upstream(plane: &ControlPlane) -> Client {
    let kubeconfig = Kubeconfig::read_from(plane.kubeconfig()).expect("a kubeconfig");
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.expect("a configuration")).expect("a client")
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, shared) = (tls.clone(), Arc::clone(&shared));
        tokio::spawn(async move {
            if let Ok(stream) = tls.accept(stream).await {
                serve(stream, &shared).await;
            }
        });
    }
}

/// Answers request after request until the connection ends.
async fn serve(mut stream: TlsStream<TcpStream>, shared: &Shared) {
    while let Some(head) = head(&mut stream).await {
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        shared.seen.lock().expect("seen").push(path.clone());
        let fault = shared.plan.next(&path);
        match fault {
            Some(Fault::Silence) => std::future::pending().await,
            Some(Fault::Reset) => {
                let (tcp, _) = stream.get_ref();
                let _ = tcp.set_zero_linger();
                return;
            }
            Some(Fault::Answer(answer)) => {
                let answer = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n");
                let _ = stream.write_all(answer.as_bytes()).await;
            }
            fault => {
                let goes_on = pass(&mut stream, shared, &head, &path, fault).await;
                if !goes_on {
                    return;
                }
            }
        }
    }
}

/// Passes an answer on, and says whether the connection is still of use.
async fn pass(
    stream: &mut TlsStream<TcpStream>,
    shared: &Shared,
    head: &str,
    path: &str,
    fault: Option<Fault>,
) -> bool {
    let accept = head
        .lines()
        .find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("accept").then(|| value.trim())
        })
        .unwrap_or("*/*");
    let request = Request::get(path)
        .header(ACCEPT, accept)
        .body(Body::empty())
        .expect("a request");
    let response = shared.upstream.send(request).await.expect("the server");
    let status = response.status();
    let kind = response.headers().get("content-type").cloned();
    let date = response.headers().get("date").cloned();
    let mut body = response
        .into_body()
        .collect()
        .await
        .expect("a complete answer")
        .to_bytes()
        .to_vec();
    let text = |value: Option<http::HeaderValue>| {
        value.map_or(String::new(), |value| {
            value.to_str().unwrap_or_default().to_owned()
        })
    };
    let announced = body.len();
    let mut length = announced;
    let mut breaks = false;
    match fault {
        Some(Fault::Ends(thousandths)) => {
            body.truncate(announced * thousandths / 1000);
            length = body.len();
        }
        Some(Fault::Breaks(thousandths)) => {
            body.truncate(announced * thousandths / 1000);
            breaks = true;
        }
        Some(Fault::Appended(more)) => {
            body.extend(more);
            length = body.len();
        }
        Some(Fault::Answer(_) | Fault::Reset | Fault::Silence) | None => {}
    }
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {}\r\nDate: {}\r\nContent-Length: {length}\r\n\r\n",
        text(kind),
        text(date),
    );
    let sent = stream.write_all(answer.as_bytes()).await.is_ok()
        && stream.write_all(&body).await.is_ok()
        && stream.flush().await.is_ok();
    sent && !breaks
}

/// The next request without its body, which reads do not have.
async fn head(stream: &mut TlsStream<TcpStream>) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte).await {
            Ok(1) => head.push(byte[0]),
            _ => return None,
        }
    }
    String::from_utf8(head).ok()
}

impl Plan {
    fn next(&self, path: &str) -> Option<Fault> {
        let mut left = self.left.lock().expect("left");
        if *left == 0 || !path.starts_with(&self.path) {
            return None;
        }
        *left -= 1;
        Some(self.fault.clone())
    }
}
