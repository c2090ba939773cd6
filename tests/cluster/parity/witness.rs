//! A server with TLS that records credentials and routes, and answers as the API server does; and a proxy to it.

use std::{
    collections::BTreeSet,
    io::{self, BufRead, BufReader, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use rcgen::{CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tokio_rustls::rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};

use crate::harness::{ControlPlane, block_on};

/// A name in the certificate of the witness that no resolver knows.
pub const NAME: &str = "api.parity.test";
/// Below this path the witness is an API server too.
pub const PREFIX: &str = "/clusters/one";

type Headers = Vec<(String, String)>;
/// Descriptions of requests, each once.
type Record = Arc<Mutex<BTreeSet<String>>>;

fn take(record: &Record) -> Vec<String> {
    let seen = std::mem::take(&mut *record.lock().expect("no panic"));
    seen.into_iter().collect()
}

/// The authority of the certificates of servers and users.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).expect("parameters");
        parameters.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(parameters, key).expect("a certificate"))
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate and its key, both as PEM.
    pub fn certified(&self, common_name: &str, names: &[&str]) -> (String, String) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut parameters = CertificateParams::new(names).expect("parameters");
        let subject = &mut parameters.distinguished_name;
        subject.push(DnType::CommonName, common_name);
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.signed_by(&key, &self.0).expect("a signature");
        (certificate.pem(), key.serialize_pem())
    }

    fn server(&self) -> ServerConfig {
        let (certificate, key) = self.certified("witness", &["127.0.0.1", NAME]);
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).expect("a root");
        let clients =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .allow_unauthenticated()
                .build();
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(clients.expect("a verifier"))
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(certificate.as_bytes()).expect("PEM")],
                PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key"),
            )
            .expect("a certificate with its key")
    }
}

/// A running witness; it ends with the test binary.
pub struct Witness {
    pub address: SocketAddr,
    record: Record,
}

impl Witness {
    pub fn start(plane: &'static ControlPlane, authority: &Authority) -> Self {
        let (listener, record) = (
            TcpListener::bind("127.0.0.1:0").expect("a port"),
            Record::default(),
        );
        let address = listener.local_addr().expect("an address");
        let (config, seen) = (Arc::new(authority.server()), Arc::clone(&record));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, seen) = (Arc::clone(&config), Arc::clone(&seen));
                thread::spawn(move || serve(plane, stream, config, &seen));
            }
        });
        Self { address, record }
    }

    /// Users since the last time, with their certificates, headers and path prefixes.
    pub fn take(&self) -> Vec<String> {
        take(&self.record)
    }
}

/// Answers requests until the connection ends; one without trust ends in the handshake.
fn serve(
    plane: &ControlPlane,
    stream: TcpStream,
    config: Arc<ServerConfig>,
    record: &Record,
) -> io::Result<()> {
    let session = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut stream = BufReader::new(StreamOwned::new(session, stream));
    while let Some((path, mut headers)) = read(&mut stream)? {
        let accept: Vec<(String, String)> = headers
            .iter()
            .filter(|(name, _)| name == "accept")
            .cloned()
            .collect();
        headers.retain(|(name, _)| name == "authorization" || name.starts_with("impersonate-"));
        headers.sort_unstable();
        let mut parts: Vec<String> = headers
            .into_iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        let session = &stream.get_ref().conn;
        parts.extend(
            session
                .server_name()
                .map(|name| format!("server name {name}")),
        );
        let certificate = session.peer_certificates().and_then(<[_]>::first);
        parts.extend(certificate.map(|der| {
            let name = if String::from_utf8_lossy(der).contains("alice") {
                "alice"
            } else {
                "another"
            };
            format!("certificate of {name}")
        }));
        let plain = path.strip_prefix(PREFIX);
        parts.extend(plain.map(|_| format!("below {PREFIX}")));
        record.lock().expect("no panic").insert(parts.join(", "));
        let answer = plane.raw(plain.unwrap_or(&path), &accept);
        let (status, kind, body) = block_on(answer).map_err(io::Error::other)?;
        let date = jiff::fmt::rfc2822::DateTimePrinter::new()
            .timestamp_to_rfc9110_string(&jiff::Timestamp::now())
            .expect("a date");
        let length = body.len();
        let stream = stream.get_mut();
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nAudit-Id: 1\r\nDate: {date}\r\nContent-Length: {length}\r\n\r\n"
        )?;
        stream.write_all(&body)?;
        stream.flush()?;
    }
    Ok(())
}

/// The path and the headers of the next GET, if there is one.
fn read(stream: &mut impl BufRead) -> io::Result<Option<(String, Headers)>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        if line.trim_end().is_empty() {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let Some(path) = lines.first().and_then(|line| line.split(' ').nth(1)) else {
        return Ok(None);
    };
    let headers = lines.iter().filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    Ok(Some((path.to_owned(), headers.collect())))
}

/// A proxy for CONNECT that leads to one server; it ends with the test binary.
pub struct Tunnel {
    pub address: SocketAddr,
    record: Record,
}

impl Tunnel {
    pub fn start(target: SocketAddr) -> Self {
        let (listener, record) = (
            TcpListener::bind("127.0.0.1:0").expect("a port"),
            Record::default(),
        );
        let address = listener.local_addr().expect("an address");
        let seen = Arc::clone(&record);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                thread::spawn(move || pass(stream, target, &seen));
            }
        });
        Self { address, record }
    }

    /// Targets and logins since the last time.
    pub fn take(&self) -> Vec<String> {
        take(&self.record)
    }
}

fn pass(client: TcpStream, target: SocketAddr, record: &Record) -> io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let Some((path, headers)) = read(&mut reader)? else {
        return Ok(());
    };
    let login = headers
        .into_iter()
        .find(|(name, _)| name == "proxy-authorization");
    let login = login.map_or_else(String::new, |(_, login)| format!(" as {login}"));
    record
        .lock()
        .expect("no panic")
        .insert(format!("tunnel to {path}{login}"));
    let (mut server, mut back) = (TcpStream::connect(target)?, client);
    back.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let mut answers = server.try_clone()?;
    thread::spawn(move || {
        let _ = io::copy(&mut answers, &mut back);
        let _ = back.shutdown(Shutdown::Both);
    });
    io::copy(&mut reader, &mut server)?;
    server.shutdown(Shutdown::Both)
}
