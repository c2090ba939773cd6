//! Random faults on a kubelet's socket, frame by frame of HTTP/2.
//!
//! Behind it is a server made from the official Go module; its answers are spoiled on their way. No cluster
//! is needed: `check` has one from a file.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use super::verdict::nothing_is_wrong;
use crate::cluster::said::{Said, cluster, everything};
use crate::harness::{PLUGIN, Random, fresh_seed, tries};

/// Tries of an ordinary run.
const TRIES: u64 = if crate::IS_FULL { 2000 } else { 80 };
/// Tries that go on at the same time.
const LANES: usize = 12;
/// Time limit for a command: its limit is a second, and it asks twice at most, with five seconds between.
const PATIENCE: Duration = Duration::from_secs(13);
/// Limit of a run's addresses in KiB, far above its needs: an answer without an end shows at once.
const MOST: &str = "1048576";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

/// A command, and how it ends when nothing goes wrong. `CLUSTER` is a file.
const COMMANDS: [(&str, i32); 5] = [
    ("list -o json", 0),
    ("list -o wide", 0),
    // No pod uses it.
    ("check gpu.example.com/node-0/gpu-3 CLUSTER", 0),
    ("check gpu.example.com/node-0/gpu-0 CLUSTER", 4),
    ("check CLUSTER -o json", 4),
];

/// Fault of the frame of this number of an answer.
#[derive(Clone, Copy, Debug)]
struct Misfortune {
    harm: Harm,
    at: usize,
    answers: Hit,
}

/// Answers of a run that get the fault.
#[derive(Clone, Copy, Debug)]
enum Hit {
    All,
    /// The one of this number, counted from zero.
    One(usize),
    /// The one of this number, and all that follow.
    From(usize),
}

impl Hit {
    fn is(self, number: usize) -> bool {
        match self {
            Self::All => true,
            Self::One(hit) => number == hit,
            Self::From(first) => number >= first,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Harm {
    /// So many thousandths of the frame come, and then the end of the connection.
    Cut(usize),
    /// So many thousandths of the frame come, and then nothing.
    Hangs(usize),
    /// All frames come that much later.
    Late(Duration),
    /// The frame does not come.
    Dropped,
    /// The frame comes twice.
    Doubled,
    /// A bit of headers, or before the payload, flips.
    Flipped(usize),
    /// A frame of that kind comes in its place, of that stream.
    Wrong(u8, u32),
    /// A frame of that kind comes again and again.
    Endless(u8),
    /// The answer ends with an error.
    Failed,
}

fn misfortune(random: &mut Random) -> Misfortune {
    const KINDS: [u8; 9] = [
        DATA,
        HEADERS,
        RST_STREAM,
        SETTINGS,
        PUSH_PROMISE,
        PING,
        GOAWAY,
        WINDOW_UPDATE,
        0xfa,
    ];
    let harm = match random.below(11) {
        0 | 1 => Harm::Cut(random.below(1001)),
        2 => Harm::Hangs(random.below(1001)),
        3 => Harm::Late(Duration::from_millis(random.pick(&[50, 400, 1500]))),
        4 => Harm::Dropped,
        5 => Harm::Doubled,
        6 | 7 => Harm::Flipped(random.below(1000)),
        8 => Harm::Wrong(random.pick(&KINDS), random.pick(&[0, 1, 2, 3])),
        9 => Harm::Endless(random.pick(&[DATA, CONTINUATION, SETTINGS, PING, WINDOW_UPDATE, 0xfa])),
        _ => Harm::Failed,
    };
    let answers = match random.below(4) {
        0 | 1 => Hit::All,
        2 => Hit::One(random.below(4)),
        _ => Hit::From(random.below(4)),
    };
    // Settings, their acknowledgement, headers, one or more of data, trailers.
    let at = random.below(8);
    Misfortune { harm, at, answers }
}

/// A frame of HTTP/2 as it is sent.
#[derive(Clone)]
struct Frame(Vec<u8>);

impl Frame {
    fn new(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Self {
        let length = u32::try_from(payload.len()).expect("small").to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        Self([head, payload.to_vec()].concat())
    }

    fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut head = [0; 9];
        from.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut frame = head.to_vec();
        frame.resize(9 + usize::try_from(length).expect("small"), 0);
        from.read_exact(&mut frame[9..])?;
        Ok(Self(frame))
    }

    fn kind(&self) -> u8 {
        self.0[3]
    }

    fn is_end(&self) -> bool {
        [DATA, HEADERS].contains(&self.kind()) && self.0[4] & 1 == 1
    }

    fn kept(&self, thousandths: usize) -> &[u8] {
        &self.0[..self.0.len() * thousandths / 1000]
    }

    /// With a flipped bit, of which the payload of data has none: nothing protects that.
    fn flipped(mut self, thousandths: usize) -> Self {
        let length = if self.kind() == DATA { 9 } else { self.0.len() };
        self.0[length * thousandths / 1000] ^= 1 << (thousandths % 8);
        self
    }
}

/// A socket on the way to another, at which the answers suffer.
struct Relay {
    folder: tempfile::TempDir,
}

impl Relay {
    fn start(server: &Path, misfortune: Option<Misfortune>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let notes = server
            .parent()
            .and_then(Path::parent)
            .expect("a folder")
            .join("dra_manager_state");
        let _ = fs::copy(notes, folder.path().join("dra_manager_state"));
        fs::create_dir(folder.path().join("pod-resources")).expect("a folder");
        let relay = Self { folder };
        let listener = UnixListener::bind(relay.socket()).expect("a socket");
        let server = server.to_owned();
        thread::spawn(move || {
            for (number, client) in listener.incoming().map_while(Result::ok).enumerate() {
                let misfortune = misfortune.filter(|it| it.answers.is(number));
                let Ok(server) = UnixStream::connect(&server) else {
                    return;
                };
                let there = (client.try_clone(), server.try_clone());
                thread::spawn(move || {
                    if let (Ok(mut from), Ok(mut to)) = there {
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    }
                });
                thread::spawn(move || {
                    let _ = pass_on(&server, &client, misfortune);
                    let _ = client.shutdown(Shutdown::Both);
                });
            }
        });
        relay
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("pod-resources/s")
    }
}

/// Passes the server's frames on, and does harm to one of them.
fn pass_on(
    mut server: &UnixStream,
    mut client: &UnixStream,
    misfortune: Option<Misfortune>,
) -> io::Result<()> {
    let mut number = 0;
    loop {
        let frame = Frame::read(&mut server)?;
        let is_hit = misfortune.is_some_and(|it| match it.harm {
            Harm::Late(_) => number >= it.at,
            Harm::Failed => frame.is_end(),
            _ => number == it.at,
        });
        number += 1;
        let Some(Misfortune { harm, .. }) = misfortune.filter(|_| is_hit) else {
            client.write_all(&frame.0)?;
            continue;
        };
        let sent = match harm {
            Harm::Cut(thousandths) => {
                client.write_all(frame.kept(thousandths))?;
                return Ok(());
            }
            Harm::Hangs(thousandths) => {
                client.write_all(frame.kept(thousandths))?;
                // Until the other side has enough.
                return io::copy(&mut server, &mut io::sink()).map(|_| ());
            }
            Harm::Late(pause) => {
                thread::sleep(pause);
                vec![frame]
            }
            Harm::Dropped => Vec::new(),
            Harm::Doubled => vec![frame.clone(), frame],
            Harm::Flipped(thousandths) => vec![frame.flipped(thousandths)],
            Harm::Wrong(kind, stream) => vec![Frame::new(kind, 4, stream, &[0; 8])],
            Harm::Endless(kind) => loop {
                let payload: &[u8] = if kind == DATA { &[0; 1024] } else { &[0; 8] };
                let stream = u32::from([DATA, CONTINUATION, 0xfa].contains(&kind));
                client.write_all(&Frame::new(kind, 0, stream, payload).0)?;
            },
            // `grpc-status: 2`, unknown.
            Harm::Failed => vec![Frame::new(HEADERS, 5, 1, b"\x00\x0bgrpc-status\x012")],
        };
        for frame in sent {
            client.write_all(&frame.0)?;
        }
    }
}

/// Output of a command.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// A server, a cluster in a file, and the output of the commands without faults.
struct Bench {
    server: Said,
    cluster: String,
    calm: Vec<Run>,
}

impl Bench {
    fn new() -> Self {
        let server = Said::start("well", &everything());
        server.note();
        let cluster = server.keep(&cluster("node-0"));
        let mut bench = Self {
            server,
            cluster,
            calm: Vec::new(),
        };
        let calm = COMMANDS.map(|(line, code)| {
            let run = bench.run(line, None);
            assert_eq!(run.code, Some(code), "{line}: {run:#?}");
            assert_eq!(run.stdout, bench.run(line, None).stdout, "{line}");
            run
        });
        bench.calm = calm.to_vec();
        bench
    }

    fn run(&self, line: &str, misfortune: Option<Misfortune>) -> Run {
        let relay = Relay::start(&self.server.socket(), misfortune);
        let from = "--node node-0 --now 2026-11-21T01:00:00Z --from";
        let line = line.replace("CLUSTER", &format!("{from} {}", self.cluster));
        // A run without an end is ended by this limit, and shows as one without a code.
        let limited = format!("ulimit -v {MOST}; exec \"$0\" \"$@\"");
        let output = Command::new("sh")
            .args(["-c", &limited, PLUGIN, "podresources"])
            .args(line.split(' '))
            .args(["--request-timeout", "1s", "--socket"])
            .arg(relay.socket())
            .env("KUBECONFIG", "/dev/null/nowhere")
            .stdin(Stdio::null())
            .output()
            .expect("the plugin can be run");
        let path = relay.socket().to_string_lossy().into_owned();
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).replace(&path, "SOCKET");
            // Two runs differ in the time at which the kubelet answers.
            let lines = text.lines().filter(|line| !line.contains("kubelet as of"));
            let lines = lines.filter(|line| !line.contains("\"kubeletTime\": \""));
            lines.collect::<Vec<_>>().join("\n")
        };
        Run {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// One try: true if it had an answer, and its violation, as text.
    fn attempt(&self, seed: u64, number: usize) -> (bool, Option<String>) {
        let mut random = Random::new(seed, number);
        let command = random.below(COMMANDS.len());
        let (line, _) = COMMANDS[command];
        let misfortune = misfortune(&mut random);
        let began = Instant::now();
        let run = self.run(line, Some(misfortune));
        let taken = began.elapsed();
        let mut broken = broken(&run, &self.calm[command], taken);
        // A changed byte may make another answer, which cannot be told from a true one: an unsafe device
        // stays unsafe, for other reasons.
        if matches!(misfortune.harm, Harm::Wrong(..)) && run.code == Some(4) {
            broken.retain(|law| *law != LOST);
        }
        let broken = (!broken.is_empty()).then(|| {
            format!("try {number}: {broken:?}\n  {line}\n  {misfortune:?}, {taken:?}\n  {run:#?}")
        });
        (!run.stdout.is_empty(), broken)
    }
}

/// The law that reasons are reported as they were read.
const LOST: &str = "what speaks against pulling is not lost";

/// The laws that a run breaks.
fn broken(run: &Run, calm: &Run, taken: Duration) -> Vec<&'static str> {
    let is_said = run.stdout == calm.stdout;
    let laws = [
        ("it ends within its time", taken < PATIENCE),
        (
            "it ends with a code that has a meaning",
            [Some(0), Some(1), Some(4), Some(75)].contains(&run.code),
        ),
        (
            "what was not wholly read is not told, and nothing is called safe",
            run.code != Some(0) || (calm.code == Some(0) && is_said),
        ),
        (LOST, run.code != Some(4) || calm.code == Some(0) || is_said),
        (
            "who has no answer prints none, and says why",
            ![Some(1), Some(75)].contains(&run.code)
                || (run.stdout.is_empty() && run.stderr.contains("\nhint: ")),
        ),
    ];
    let broken = laws.into_iter().filter(|(_, holds)| !holds);
    broken.map(|(law, _)| law).collect()
}

#[test]
fn message_with_bytes_after_it_is_no_answer() {
    let bench = Bench::new();
    let mut refused = 0;
    // An empty message, and three bytes more, in the place of each frame: among them that of the answer.
    for at in 0..8 {
        let misfortune = Misfortune {
            harm: Harm::Wrong(DATA, 1),
            at,
            answers: Hit::All,
        };
        let run = bench.run("list -o json", Some(misfortune));
        let is_whole = run.code == Some(0) && run.stdout == bench.calm[0].stdout;
        let is_refused = [Some(1), Some(75)].contains(&run.code);
        assert!(is_whole || is_refused, "frame {at}: {run:#?}");
        refused += usize::from(is_refused);
    }
    assert!(refused > 0, "the answer was never hit");
}

#[test]
fn what_a_kubelet_did_not_wholly_say_is_never_told_and_never_safe() {
    let bench = Bench::new();
    let seed = fresh_seed();
    let numbers = tries(TRIES);
    let next = AtomicUsize::new(usize::try_from(numbers.start).expect("small"));
    let end = usize::try_from(numbers.end).expect("small");
    let answered = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= end {
                        return;
                    }
                    let (is_answered, broken) = bench.attempt(seed, number);
                    answered.fetch_add(usize::from(is_answered), Ordering::Relaxed);
                    if let Some(broken) = broken {
                        wrong.lock().expect("no panic").push(broken);
                    }
                }
            });
        }
    });
    let (tries, answered) = (
        numbers.end - numbers.start,
        answered.load(Ordering::Relaxed),
    );
    nothing_is_wrong(
        wrong,
        &format!("{tries} tries at a kubelet's socket, {answered} answered, seed {seed}"),
        &format!("; SEED={seed} TRY=NUMBER repeats one"),
    );
    // Else no harm was done, or all of it.
    let share = answered * 100 / usize::try_from(tries).expect("small").max(1);
    assert!(tries < 100 || (10..80).contains(&share), "{share} %");
}
