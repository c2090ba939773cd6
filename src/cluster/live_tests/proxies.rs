//! Proxies, and what is trusted behind them.

use std::io;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::ways::{ask, self_made};
use crate::cluster::{ClusterError, Environment};

/// A proxy that leads everything to `target`; gives its address, and what it was asked for.
pub(super) async fn proxy(target: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = pass(stream, &target, &noted).await;
        }
    });
    (address, asked)
}

async fn pass(mut stream: TcpStream, target: &str, asked: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    asked.lock().expect("no panic").push(head);
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    let mut server = TcpStream::connect(target).await?;
    tokio::spawn(async move { copy_bidirectional(&mut stream, &mut server).await });
    Ok(())
}

/// A SOCKS proxy that lets in only alice.
pub(super) async fn socks_proxy(target: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let _ = pass_socks(stream, &target, &noted).await;
        }
    });
    (address, asked)
}

/// RFC 1928, and RFC 1929 for the login.
async fn pass_socks(
    mut stream: TcpStream,
    target: &str,
    asked: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let text = async |stream: &mut TcpStream| -> io::Result<String> {
        let mut text = vec![0; usize::from(stream.read_u8().await?)];
        stream.read_exact(&mut text).await?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    stream.read_u8().await?;
    text(&mut stream).await?;
    stream.write_all(&[5, 2]).await?;
    stream.read_u8().await?;
    let login = (text(&mut stream).await?, text(&mut stream).await?);
    let welcome = login == ("alice".to_owned(), "hunter2".to_owned());
    stream.write_all(&[1, u8::from(!welcome)]).await?;
    let mut request = [0; 4];
    stream.read_exact(&mut request).await?;
    if !welcome || request != [5, 1, 0, 3] {
        // Version, CONNECT, reserved, a name: nothing else is known here.
        return Ok(());
    }
    let name = text(&mut stream).await?;
    let port = stream.read_u16().await?;
    asked
        .lock()
        .expect("no panic")
        .push(format!("{name}:{port}"));
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    let mut server = TcpStream::connect(target).await?;
    tokio::spawn(async move { copy_bidirectional(&mut stream, &mut server).await });
    Ok(())
}

/// Both kinds of proxies to `target`, as a kubeconfig has them.
pub(super) async fn proxies(target: &str) -> [String; 2] {
    let (tunnel, _) = proxy(target.to_owned()).await;
    let (socks, _) = socks_proxy(target.to_owned()).await;
    [
        format!("http://alice:hunter2@{tunnel}"),
        format!("socks5://alice:hunter2@{socks}"),
    ]
}

#[tokio::test]
async fn socks_proxy_finds_the_server_and_is_told_the_password() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, authority) = self_made(2100).await;
    let (proxy, asked) = socks_proxy(address).await;
    let cluster = |login: &str| {
        format!(
            "{{server: 'https://localhost.example.com:6443', tls-server-name: localhost, \
             proxy-url: 'socks5://{login}{proxy}', certificate-authority-data: {}}}",
            STANDARD.encode(&authority)
        )
    };
    let environment = Environment::default();
    let answer = ask(
        folder.path(),
        &cluster("alice:hunter2@"),
        "{}",
        &environment,
    )
    .await;
    answer.expect("the proxy leads there");
    let told = asked.lock().expect("no panic").clone();
    assert_eq!(told, ["localhost.example.com:6443"]);
    let answer = ask(folder.path(), &cluster("alice:wrong@"), "{}", &environment).await;
    let error = answer.expect_err("the proxy does not");
    assert!(
        matches!(error, ClusterError::Unreachable { .. }),
        "{error:?}"
    );
    assert!(!error.to_string().contains("wrong"), "{error}");
}

#[tokio::test]
async fn certificate_that_is_its_own_authority_is_judged_alike_behind_proxies() {
    let folder = tempfile::tempdir().expect("a folder");
    let (address, own) = self_made(2100).await;
    let (_, other) = self_made(2100).await;
    for proxy in proxies(&address).await {
        for (authority, name, taken) in [
            (&own, "localhost", true),
            (&own, "example.com", false),
            (&other, "localhost", false),
        ] {
            let cluster = format!(
                "{{server: 'https://api.example.com:6443', proxy-url: '{proxy}', \
                 tls-server-name: {name}, certificate-authority-data: {}}}",
                STANDARD.encode(authority)
            );
            let answer = ask(folder.path(), &cluster, "{}", &Environment::default()).await;
            assert_eq!(answer.is_ok(), taken, "{proxy} {name}: {answer:?}");
            if let Err(error) = answer {
                assert!(
                    matches!(error, ClusterError::Tls { .. }),
                    "{proxy}: {error:?}"
                );
            }
        }
    }
}
