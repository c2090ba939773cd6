//! Proxies that lead to one server, whatever they are asked for, and write down what that was.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A running proxy; it ends with the test binary.
pub struct Way {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

type Meet = fn(&mut TcpStream) -> io::Result<String>;

impl Way {
    /// One that is asked with CONNECT.
    pub fn tunnel(target: SocketAddr) -> Self {
        Self::start(target, meet_tunnel)
    }

    /// One that speaks SOCKS.
    pub fn socks(target: SocketAddr) -> Self {
        Self::start(target, meet_socks)
    }

    fn start(target: SocketAddr, meet: Meet) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let noted = Arc::clone(&noted);
                thread::spawn(move || pass(stream, target, meet, &noted));
            }
        });
        Self { address, asked }
    }

    /// What it was asked for since the last time, each thing once.
    pub fn take(&self) -> Vec<String> {
        let mut asked = std::mem::take(&mut *self.asked.lock().expect("no panic"));
        asked.sort();
        asked.dedup();
        asked
    }
}

fn pass(
    mut stream: TcpStream,
    target: SocketAddr,
    meet: Meet,
    noted: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let asked = meet(&mut stream)?;
    noted.lock().expect("no panic").push(asked);
    let mut server = TcpStream::connect(target)?;
    let (mut back, mut there) = (stream.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut there, &mut back);
        let _ = back.shutdown(Shutdown::Both);
    });
    io::copy(&mut stream, &mut server)?;
    server.shutdown(Shutdown::Both)
}

/// `HOST:PORT`, and the login if there is one.
fn meet_tunnel(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(byte(stream)?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split_whitespace().nth(1).unwrap_or_default();
    let login = head.lines().find_map(|line| {
        line.split_once(": ")
            .filter(|(name, _)| name.eq_ignore_ascii_case("proxy-authorization"))
    });
    let login = login.map_or("", |(_, login)| login);
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    Ok(format!("{target} {login}"))
}

/// RFC 1928, and RFC 1929 for the login.
fn meet_socks(stream: &mut TcpStream) -> io::Result<String> {
    let [_version, count] = bytes(stream)?;
    let methods = text(stream, count)?;
    let mut login = String::new();
    if methods.contains(&2) {
        stream.write_all(&[5, 2])?;
        let [_version, length] = bytes(stream)?;
        let name = text(stream, length)?;
        let length = byte(stream)?;
        let password = text(stream, length)?;
        login = format!(
            "{}:{}",
            String::from_utf8_lossy(&name),
            String::from_utf8_lossy(&password)
        );
        stream.write_all(&[1, 0])?;
    } else {
        stream.write_all(&[5, 0])?;
    }
    let [_version, _command, _reserved, kind] = bytes(stream)?;
    let host = match kind {
        1 => bytes::<4>(stream)?.map(|part| part.to_string()).join("."),
        3 => {
            let length = byte(stream)?;
            String::from_utf8_lossy(&text(stream, length)?).into_owned()
        }
        _ => format!("{:?}", bytes::<16>(stream)?),
    };
    let port = u16::from_be_bytes(bytes(stream)?);
    stream.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 0])?;
    Ok(format!("{host}:{port} {login}"))
}

fn byte(stream: &mut TcpStream) -> io::Result<u8> {
    Ok(bytes::<1>(stream)?[0])
}

fn bytes<const COUNT: usize>(stream: &mut TcpStream) -> io::Result<[u8; COUNT]> {
    let mut bytes = [0; COUNT];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn text(stream: &mut TcpStream, length: u8) -> io::Result<Vec<u8>> {
    let mut text = vec![0; usize::from(length)];
    stream.read_exact(&mut text)?;
    Ok(text)
}
