//! A proxy in front of the API server that counts requests, and at the n-th of them does harm.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};

use super::support::{Run, World};
use crate::harness::{PLUGIN, block_on, random_suffix};

/// What happens to the n-th request, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// The program gets a signal before the server sees the request.
    SignalBefore(&'static str),
    /// The program gets a signal after the server has done what was asked.
    SignalAfter(&'static str),
    /// The server does what was asked, and the answer is lost.
    LoseAnswer,
    /// Somebody else does something before the server sees the request.
    Meanwhile,
    /// The server cannot be reached from this request on.
    Down,
}

/// A request as the program sent it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub body: String,
}

#[derive(Default)]
struct State {
    seen: Vec<Seen>,
    harm: Option<(usize, Harm)>,
    reached: Option<mpsc::Sender<()>>,
    ended: Option<mpsc::Receiver<()>>,
}

/// The proxy, and the kubeconfig that leads to it.
pub struct Proxy {
    state: Arc<Mutex<State>>,
    kubeconfig: PathBuf,
}

impl Proxy {
    /// Starts a proxy in front of the world's API server.
    pub fn start(world: &World<'_>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let kubeconfig = world
            .plane
            .folder()
            .join(format!("proxy-{}.yaml", random_suffix()));
        std::fs::write(
            &kubeconfig,
            format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: p\ncontexts: [{{name: p, context: {{cluster: p, user: p}}}}]\nclusters: [{{name: p, cluster: {{server: \"http://{address}\"}}}}]\nusers: [{{name: p, user: {{}}}}]\n"
            ),
        )
        .expect("a file");
        let real = Kubeconfig::read_from(world.plane.kubeconfig()).expect("a kubeconfig");
        let client = block_on(async {
            let options = KubeConfigOptions::default();
            let config = kube::Config::from_custom_kubeconfig(real, &options).await;
            kube::Client::try_from(config.expect("complete")).expect("a client")
        });
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (client, state) = (client.clone(), Arc::clone(&shared));
                thread::spawn(move || {
                    // A program that is gone reads no answer.
                    let _ = serve(&stream, &client, &state);
                });
            }
        });
        Self { state, kubeconfig }
    }

    /// The requests of the latest run.
    pub fn seen(&self) -> Vec<Seen> {
        self.state.lock().expect("no panic").seen.clone()
    }

    /// Runs the program through the proxy, and does something before its n-th request is served.
    pub fn run_while(
        &self,
        world: &World<'_>,
        line: &str,
        number: usize,
        meanwhile: impl FnOnce() + Send,
    ) -> Run {
        let (at_reached, end) = self.arm(Some((number, Harm::Meanwhile)));
        let child = self.spawn(world, line);
        thread::scope(|scope| {
            scope.spawn(move || {
                if at_reached.recv_timeout(Duration::from_secs(60)).is_ok() {
                    meanwhile();
                    let _ = end.send(());
                }
            });
            child.wait_with_output().expect("it ends").into()
        })
    }

    /// Forgets the latest run, and decides what happens in the next.
    fn arm(&self, harm: Option<(usize, Harm)>) -> (mpsc::Receiver<()>, mpsc::Sender<()>) {
        let (reached, at_reached) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        *self.state.lock().expect("no panic") = State {
            seen: Vec::new(),
            harm,
            reached: Some(reached),
            ended: Some(ended),
        };
        (at_reached, end)
    }

    fn spawn(&self, world: &World<'_>, line: &str) -> Child {
        Command::new(PLUGIN)
            .args(world.words(line))
            .env_clear()
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    }

    /// Runs the program through the proxy, which does `harm` to the n-th request.
    pub fn run(&self, world: &World<'_>, line: &str, harm: Option<(usize, Harm)>) -> Run {
        let (at_reached, end) = self.arm(harm);
        let child = self.spawn(world, line);
        let process = child.id();
        let signal = match harm {
            Some((_, Harm::SignalBefore(signal) | Harm::SignalAfter(signal))) => Some(signal),
            Some((_, Harm::LoseAnswer | Harm::Meanwhile | Harm::Down)) | None => None,
        };
        let killer = signal.map(|signal| {
            thread::spawn(move || {
                if at_reached.recv_timeout(Duration::from_secs(60)).is_ok() {
                    let status = Command::new("kill")
                        .args([format!("-{signal}"), process.to_string()])
                        .status();
                    assert!(status.is_ok_and(|status| status.success()), "it was there");
                }
            })
        });
        let output = child.wait_with_output().expect("it ends");
        let _ = end.send(());
        if let Some(killer) = killer {
            // Without the sender, a killer that was never needed ends too.
            self.state.lock().expect("no panic").reached = None;
            killer.join().expect("no panic");
        }
        output.into()
    }
}

fn serve(
    stream: &TcpStream,
    client: &kube::Client,
    state: &Mutex<State>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(());
    };
    let (method, path) = (method.to_owned(), path.to_owned());
    let headers = headers(&mut reader)?;
    let length = headers
        .get("content-length")
        .map_or(Ok(0), |text| text.parse())?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;

    let harm = {
        let mut state = state.lock().expect("no panic");
        state.seen.push(Seen {
            method: method.clone(),
            path: path.clone(),
            body: String::from_utf8_lossy(&body).into_owned(),
        });
        let number = state.seen.len();
        match state.harm {
            Some((from, Harm::Down)) if number >= from => Some(Harm::Down),
            Some((at, harm)) if number == at => Some(harm),
            _ => None,
        }
    };
    match harm {
        Some(Harm::Down) => return Ok(()),
        Some(Harm::SignalBefore(_)) => {
            signal_and_wait(state);
            return Ok(());
        }
        Some(Harm::Meanwhile) => signal_and_wait(state),
        Some(Harm::SignalAfter(_) | Harm::LoseAnswer) | None => {}
    }
    let mut request = Request::builder().method(method.as_str()).uri(&path);
    for name in ["accept", "content-type"] {
        if let Some(value) = headers.get(name) {
            request = request.header(name, value);
        }
    }
    let request = request.body(Body::from(body))?;
    let (head, bytes) = block_on(async {
        let response = client
            .send(request)
            .await
            .map_err(|error| error.to_string())?;
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.map_err(|error| error.to_string())?;
        Ok::<_, String>((head, bytes.to_bytes()))
    })?;
    match harm {
        Some(Harm::SignalAfter(_)) => {
            signal_and_wait(state);
            return Ok(());
        }
        Some(Harm::LoseAnswer) => return Ok(()),
        Some(Harm::SignalBefore(_) | Harm::Meanwhile | Harm::Down) | None => {}
    }
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n",
        head.status,
        bytes.len()
    )?;
    for name in ["content-type", "date", "warning", "retry-after"] {
        if let Some(value) = head.headers.get(name) {
            write!(stream, "{name}: {}\r\n", value.to_str()?)?;
        }
    }
    write!(stream, "\r\n")?;
    stream.write_all(&bytes)?;
    Ok(stream.flush()?)
}

fn signal_and_wait(state: &Mutex<State>) {
    let (reached, ended) = {
        let mut state = state.lock().expect("no panic");
        (state.reached.take(), state.ended.take())
    };
    if let Some(reached) = reached {
        let _ = reached.send(());
    }
    if let Some(ended) = ended {
        let _ = ended.recv_timeout(Duration::from_secs(60));
    }
}

fn headers(reader: &mut impl BufRead) -> std::io::Result<BTreeMap<String, String>> {
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.insert(name.to_lowercase(), value.to_owned()),
            None => return Ok(headers),
        };
    }
}
