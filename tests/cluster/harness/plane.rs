//! A running control plane: started, asked to stop its API server, and ended.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        LazyLock, Mutex,
        atomic::AtomicUsize,
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use serde::Deserialize;

use super::{Variant, access::User, client::Client, program};

/// `up` itself gives up earlier: 90 s per component.
const DEADLINE: Duration = Duration::from_secs(200);

/// How many users [`ControlPlane::kubeconfig_for`] can hand out.
const USERS: usize = 64;

/// A control plane that ends when this is dropped, and at the latest with the test binary.
pub struct ControlPlane {
    pub(super) ready: Ready,
    pub(super) client: Client,
    pub(super) users_taken: AtomicUsize,
    connection: Mutex<Connection>,
}

/// The line in which `up` says how to reach the control plane.
#[derive(Debug, Deserialize)]
pub(super) struct Ready {
    pub(super) server: String,
    pub(super) admin: User,
    pub(super) users: Option<Vec<User>>,
    pub(super) folder: PathBuf,
    pub(super) binaries: PathBuf,
    #[serde(rename = "processIDs")]
    pub(super) process_ids: BTreeMap<String, u32>,
}

/// A line from `up`.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
enum Event {
    Ready(Ready),
    Stopped { component: String },
    Started { component: String },
    Failed { message: String },
}

/// The process `up`. It ends when its stdin does.
struct Connection {
    child: Child,
    input: Option<ChildStdin>,
    events: Receiver<Event>,
}

impl ControlPlane {
    /// The control plane that the tests of this binary share. Tests keep out of each other's way by
    /// their own driver name and namespace.
    pub fn shared() -> &'static Self {
        static SHARED: LazyLock<ControlPlane> =
            LazyLock::new(|| ControlPlane::start(&Variant::default()));
        &SHARED
    }

    /// Starts a control plane of its own and waits until it is ready: some three seconds, and minutes
    /// when the program has to be built first.
    pub fn start(variant: &Variant) -> Self {
        let program = program::find(variant).unwrap_or_else(|line| panic!("{line}"));
        let mut command = Command::new(&program.file);
        if program
            .file
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("controlplane"))
        {
            command.arg("up");
        }
        command
            .arg("--machine")
            .arg(format!("--users={USERS}"))
            .arg("--parent")
            .arg(program::folder().join("runs"))
            .arg("--assets")
            .arg(program.assets.unwrap_or_default())
            .args(variant.flags());

        let mut connection = Connection::open(command);
        let ready = match connection.event() {
            Event::Ready(ready) => ready,
            other => panic!("no control plane for {variant:?}: {other:?}"),
        };
        Self {
            client: Client::new(&ready.admin.kubeconfig),
            ready,
            users_taken: AtomicUsize::new(0),
            connection: Mutex::new(connection),
        }
    }

    /// The API server's address.
    pub fn server(&self) -> &str {
        &self.ready.server
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.ready.admin.kubeconfig
    }

    /// A folder for the test's own files that is removed with the control plane.
    pub fn folder(&self) -> &Path {
        &self.ready.folder
    }

    /// The process of every component when it was started, by the component's name.
    pub fn process_ids(&self) -> &BTreeMap<String, u32> {
        &self.ready.process_ids
    }

    /// The process that owns all components.
    pub fn owner_process_id(&self) -> u32 {
        self.connection
            .lock()
            .expect("no test panicked in here")
            .child
            .id()
    }

    /// Kills the API server: clients are refused until [`Self::start_api_server`].
    pub fn stop_api_server(&self) {
        let event = self
            .connection
            .lock()
            .expect("no test panicked in here")
            .command("stop kube-apiserver");
        assert!(
            matches!(event, Event::Stopped { .. }),
            "the API server was not stopped: {event:?}"
        );
    }

    /// Starts the API server again at the same address, and waits until it is ready.
    pub fn start_api_server(&self) {
        let event = self
            .connection
            .lock()
            .expect("no test panicked in here")
            .command("start kube-apiserver");
        assert!(
            matches!(event, Event::Started { .. }),
            "the API server was not started: {event:?}"
        );
    }
}

impl Connection {
    fn open(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
        let output = child.stdout.take().expect("stdout is a pipe");
        let (sender, events) = mpsc::channel();
        thread::spawn(move || read(output, &sender));
        Self {
            input: child.stdin.take(),
            child,
            events,
        }
    }

    fn command(&mut self, line: &str) -> Event {
        let input = self
            .input
            .as_mut()
            .expect("stdin is open as long as the control plane is in use");
        writeln!(input, "{line}")
            .unwrap_or_else(|error| panic!("the control plane has ended: {error}"));
        self.event()
    }

    fn event(&mut self) -> Event {
        self.events
            .recv_timeout(DEADLINE)
            .unwrap_or_else(|error| panic!("no answer from the control plane: {error}"))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Passes on the events, and says at once when a component fails: the test that notices would only
/// see refused connections.
fn read(output: ChildStdout, events: &Sender<Event>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let event = serde_json::from_str(&line).unwrap_or_else(|error| Event::Failed {
            message: format!("{error}: {line}"),
        });
        if let Event::Failed { message } = &event {
            program::say(&format!("the control plane failed: {message}"));
        }
        if events.send(event).is_err() {
            return;
        }
    }
}
