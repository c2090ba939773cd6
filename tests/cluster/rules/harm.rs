//! Runs of the program through a proxy that does harm at one of its requests.

use std::process::{Child, Command, Stdio};
use std::thread;

use super::support::{Run, World};
use crate::harness::{At, Fault, Gate, Keeper, PLUGIN, Proxy as Network, Seen};

/// Fault of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// The program gets a signal before the server sees the request.
    SignalBefore(&'static str),
    /// The program gets a signal after the server has handled the request.
    SignalAfter(&'static str),
    /// The server handles the request, and the answer is lost.
    LoseAnswer,
    /// The server cannot be reached from this request on; a number is needed to say from which.
    Down,
}

/// The proxy in front of the world's API server.
pub struct Proxy(Network);

impl Proxy {
    /// Starts one.
    pub fn start(world: &World<'_>) -> Self {
        Self(Network::start(world.plane))
    }

    /// The requests of the latest run.
    pub fn seen(&self) -> Vec<Seen> {
        self.0.seen()
    }

    /// Runs the program undisturbed.
    pub fn run(&self, world: &World<'_>, line: &str) -> Run {
        self.0.plan([]);
        self.spawn(world, line)
            .wait_with_output()
            .expect("it ends")
            .into()
    }

    /// Runs the program, and does something before the server sees one of its requests.
    pub fn run_while(
        &self,
        world: &World<'_>,
        line: &str,
        at: At,
        meanwhile: impl FnOnce() + Send,
    ) -> Run {
        let (gate, keeper) = Gate::new();
        self.0.plan([(at, Fault::HeldBefore(gate, true))]);
        let child = self.spawn(world, line);
        let output = thread::scope(|scope| {
            scope.spawn(move || {
                // A gate that no request reaches is forgotten with the plan.
                if keeper.wait_while(|| true) {
                    meanwhile();
                    keeper.open();
                }
            });
            let output = child.wait_with_output().expect("it ends");
            self.0.plan([]);
            output
        });
        output.into()
    }

    /// Runs the program, and does `harm` to one of its requests.
    pub fn harm(&self, world: &World<'_>, line: &str, at: At, harm: Harm) -> Run {
        let (gate, keeper) = Gate::new();
        let (fault, signal) = match harm {
            Harm::SignalBefore(signal) => (Fault::HeldBefore(gate, false), Some(signal)),
            Harm::SignalAfter(signal) => (Fault::HeldAfter(gate), Some(signal)),
            Harm::LoseAnswer => (Fault::Lost, None),
            Harm::Down => (Fault::Reset, None),
        };
        self.0.plan([(at, fault)]);
        let child = self.spawn(world, line);
        match signal {
            Some(signal) => signalled(child, &keeper, signal),
            None => child.wait_with_output().expect("it ends").into(),
        }
    }

    fn spawn(&self, world: &World<'_>, line: &str) -> Child {
        Command::new(PLUGIN)
            .args(world.words(line))
            .env_clear()
            .env("KUBECONFIG", &self.0.kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    }
}

/// Sends the signal when the request is there; it has to be there.
fn signalled(mut child: Child, keeper: &Keeper, signal: &str) -> Run {
    if !keeper.wait_while(|| matches!(child.try_wait(), Ok(None))) {
        let _ = child.kill();
        let run = Run::from(child.wait_with_output().expect("it was killed"));
        panic!("the request at which it is to be interrupted was never sent: {run:#?}");
    }
    let status = Command::new("kill")
        .args([format!("-{signal}"), child.id().to_string()])
        .status();
    assert!(status.is_ok_and(|status| status.success()), "it was there");
    child.wait_with_output().expect("it ends").into()
}
