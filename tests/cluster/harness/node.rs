//! A real node: a kubelet, a container runtime that only pretends, and a DRA driver.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde::Deserialize;

use super::{ControlPlane, machine::Machine, program};

/// A node of a control plane; it ends when this is dropped, and at the latest with the test binary.
pub struct Node {
    ready: Ready,
    machine: Machine<Event>,
}

/// The line in which `node up` prints its paths.
#[derive(Debug, Deserialize)]
struct Ready {
    name: String,
    driver: String,
    socket: PathBuf,
    prepared: PathBuf,
}

/// A line from `node up`.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
enum Event {
    Ready(Ready),
    Done,
    Failed { message: String },
}

/// A claim that the driver has prepared, so that it holds the devices.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Prepared {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The devices of the driver's own pool.
    pub devices: Vec<String>,
}

impl Node {
    /// Starts a node with four devices of `driver`, and waits until it is ready: some ten seconds.
    ///
    /// Panics with one line where that is not possible, because it needs root and mounts of its own.
    pub fn start(plane: &ControlPlane, name: &str, driver: &str) -> Self {
        Self::try_start(plane, name, driver).unwrap_or_else(|reason| panic!("{reason}"))
    }

    fn try_start(plane: &ControlPlane, name: &str, driver: &str) -> Result<Self, String> {
        let mut command = Command::new(program::build_node()?);
        command
            .args(["up", "--name", name, "--driver", driver])
            .arg("--kubeconfig")
            .arg(plane.kubeconfig());
        let mut machine = Machine::open(command)?;
        match machine.event()? {
            Event::Ready(ready) => Ok(Self { ready, machine }),
            Event::Failed { message } => Err(format!("no node for the tests: {message}")),
            Event::Done => Err("the node is done before it began".to_owned()),
        }
    }

    /// Name of the node, and of the pool of its devices too.
    pub fn name(&self) -> &str {
        &self.ready.name
    }

    /// Its driver.
    pub fn driver(&self) -> &str {
        &self.ready.driver
    }

    /// Socket of its kubelet for pod resources.
    pub fn socket(&self) -> &Path {
        &self.ready.socket
    }

    /// Does something to a part of the node: `kill driver`, `stop driver` (politely), `freeze driver`,
    /// `thaw driver`, `start driver`, the same of `kubelet`, and `break sandbox` and `mend sandbox`.
    pub fn tell(&mut self, command: &str) {
        match self.machine.command(command) {
            Ok(Event::Done) => {}
            other => panic!("{command}: {other:?}"),
        }
    }

    /// The claims whose devices the driver holds, whatever the API shows.
    pub fn prepared(&self) -> Vec<Prepared> {
        let Ok(content) = fs::read(&self.ready.prepared) else {
            return Vec::new();
        };
        let claims: BTreeMap<String, Prepared> =
            serde_json::from_slice(&content).expect("the driver writes JSON");
        claims.into_values().collect()
    }
}
