//! A server that writes down who comes, and answers as the API server does.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{Arc, Mutex},
    thread,
};

use rcgen::{CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufStream},
    net::{TcpListener, TcpStream},
    runtime::Builder,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, pem::PemObject},
        server::WebPkiClientVerifier,
    },
};

use crate::harness::ControlPlane;

/// The name that the certificate of a witness has, and that no resolver knows.
pub const NAME: &str = "api.parity.test";
/// Below this path a witness is an API server too.
pub const PREFIX: &str = "/clusters/one";

/// Who asked, and which way he came.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Visitor {
    pub authorization: String,
    /// Headers that say who is to be impersonated.
    pub impersonation: BTreeSet<(String, String)>,
    /// The name in the client certificate.
    pub certificate: String,
    /// The name of the server that was asked for.
    pub server_name: String,
    /// In front of the path that the API server knows.
    pub prefix: String,
}

/// Certificates that everything in these tests trusts, or is known by.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).expect("parameters");
        parameters.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        parameters
            .distinguished_name
            .push(DnType::CommonName, "parity");
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(parameters, key);
        Self {
            issuer: issuer.expect("a certificate"),
        }
    }

    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate and its key, both as PEM.
    pub fn certified(&self, common_name: &str, names: &[&str]) -> (String, String) {
        let names = names.iter().map(|&name| name.to_owned());
        let mut parameters = CertificateParams::new(names.collect::<Vec<_>>()).expect("parameters");
        parameters
            .distinguished_name
            .push(DnType::CommonName, common_name);
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.signed_by(&key, &self.issuer);
        let certificate = certificate.expect("a signature");
        (certificate.pem(), key.serialize_pem())
    }

    fn tls(&self) -> TlsAcceptor {
        let names = ["localhost", "127.0.0.1", "::1", NAME];
        let (certificate, key) = self.certified("witness", &names);
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.issuer.der().clone()).expect("a root");
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .allow_unauthenticated()
                .build();
        let chain = [certificate.as_bytes()].map(|pem| {
            tokio_rustls::rustls::pki_types::CertificateDer::from_pem_slice(pem).expect("PEM")
        });
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(clients.expect("a verifier"))
            .with_single_cert(
                chain.to_vec(),
                PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key"),
            );
        TlsAcceptor::from(Arc::new(config.expect("a certificate with its key")))
    }
}

/// A running witness; it ends with the test binary.
pub struct Witness {
    pub address: SocketAddr,
    visits: Arc<Mutex<Vec<Visitor>>>,
}

impl Witness {
    /// Starts one at `address`, with TLS by `authority` if there is one.
    pub fn start(plane: &'static ControlPlane, address: &str, tls: Option<&Authority>) -> Self {
        let listener = std::net::TcpListener::bind(address).expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("an address");
        let visits = Arc::<Mutex<Vec<Visitor>>>::default();
        let noted = Arc::clone(&visits);
        let tls = tls.map(Authority::tls);
        thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async move {
                let listener = TcpListener::from_std(listener).expect("a socket");
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(welcome(plane, stream, tls.clone(), Arc::clone(&noted)));
                }
            });
        });
        Self { address, visits }
    }

    /// What was seen since the last time.
    pub fn take(&self) -> Vec<Visitor> {
        std::mem::take(&mut *self.visits.lock().expect("no panic"))
    }
}

async fn welcome(
    plane: &'static ControlPlane,
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    visits: Arc<Mutex<Vec<Visitor>>>,
) {
    let mut visitor = Visitor::default();
    let Some(tls) = tls else {
        let _ = serve(plane, BufStream::new(stream), &visitor, &visits).await;
        return;
    };
    // Whoever does not trust the certificate goes away.
    let Ok(stream) = tls.accept(stream).await else {
        return;
    };
    let session = stream.get_ref().1;
    visitor.server_name = session.server_name().unwrap_or_default().to_owned();
    let certificate = session.peer_certificates().and_then(<[_]>::first);
    visitor.certificate = certificate.map_or_else(String::new, |der| name_in(der));
    let _ = serve(plane, BufStream::new(stream), &visitor, &visits).await;
}

/// The common name in a certificate: the last text before its key.
fn name_in(der: &[u8]) -> String {
    let text = String::from_utf8_lossy(der);
    let known = ["alice", "bob"];
    let found = known.iter().find(|name| text.contains(**name));
    found.map_or("somebody", |name| name).to_owned()
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    plane: &'static ControlPlane,
    mut stream: BufStream<S>,
    visitor: &Visitor,
    visits: &Mutex<Vec<Visitor>>,
) -> Result<(), Error> {
    while let Some((path, headers)) = read(&mut stream).await? {
        let mut visitor = visitor.clone();
        let mut accepted = Vec::new();
        for (name, value) in headers {
            match name.as_str() {
                "authorization" => visitor.authorization = value,
                "accept" => accepted.push((name, value)),
                _ if name.starts_with("impersonate-") => {
                    visitor.impersonation.insert((name, value));
                }
                _ => {}
            }
        }
        let plain = path.strip_prefix(PREFIX);
        visitor.prefix = plain.map_or("", |_| PREFIX).to_owned();
        let plain = plain.unwrap_or(&path).to_owned();
        visits.lock().expect("no panic").push(visitor);
        let (status, kind, body) = plane.raw(&plain, &accepted).await?;
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nAudit-Id: 1\r\nDate: {}\r\nContent-Length: {}\r\n\r\n",
            jiff::fmt::rfc2822::DateTimePrinter::new()
                .timestamp_to_rfc9110_string(&jiff::Timestamp::now())?,
            body.len()
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&body).await?;
        stream.flush().await?;
    }
    Ok(())
}

type Error = Box<dyn std::error::Error + Send + Sync>;
type Headers = Vec<(String, String)>;

/// The path and the headers of the next request, if there is one.
async fn read<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufStream<S>,
) -> Result<Option<(String, Headers)>, Error> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    let Some(path) = line.split_whitespace().nth(1).map(str::to_owned) else {
        return Ok(None);
    };
    let mut headers = Headers::new();
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
    stream.read_exact(&mut vec![0; length]).await?;
    Ok(Some((path, headers)))
}
