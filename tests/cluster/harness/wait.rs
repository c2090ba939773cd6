//! Waiting: always on a condition, never for a time.

use std::{
    future::{Future, pending},
    sync::{LazyLock, mpsc},
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::runtime::{Builder, Handle};

use super::{ControlPlane, Reference};

/// Longer than anything takes on a slow machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Interval of trying a condition.
const INTERVAL: Duration = Duration::from_millis(50);

/// Tries `condition` until it has a result, and panics with `what` after `deadline`.
pub async fn wait_for<T>(
    what: &str,
    deadline: Duration,
    mut condition: impl AsyncFnMut() -> Option<T>,
) -> T {
    let end = Instant::now() + deadline;
    loop {
        if let Some(result) = condition().await {
            return result;
        }
        assert!(Instant::now() < end, "waited {deadline:?} in vain: {what}");
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Runs `future` to its end on this thread, for tests that are not async.
pub fn block_on<F: Future>(future: F) -> F::Output {
    runtime().block_on(future)
}

/// The runtime of all connections. It lives in a thread of its own, because every test has its own
/// runtime and a connection would end with that of the test that opened it.
pub(super) fn runtime() -> &'static Handle {
    static RUNTIME: LazyLock<Handle> = LazyLock::new(|| {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let runtime = Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime can be made");
            sender
                .send(runtime.handle().clone())
                .expect("a test waits for the runtime");
            runtime.block_on(pending::<()>());
        });
        receiver.recv().expect("the thread sends the runtime")
    });
    &RUNTIME
}

impl ControlPlane {
    /// The rule's condition `EvictionInProgress` as soon as it is about the rule as it is now.
    pub async fn rule_condition(&self, name: &str) -> Value {
        let what =
            format!("rule {name} has an EvictionInProgress condition for its current generation");
        wait_for(&what, DEADLINE, async || {
            let rule = self.get(&Reference::rule(name)).await?;
            let conditions = rule["status"]["conditions"].as_array()?;
            let condition = conditions
                .iter()
                .find(|condition| condition["type"] == "EvictionInProgress")?;
            (condition["observedGeneration"] == rule["metadata"]["generation"])
                .then(|| condition.clone())
        })
        .await
    }
}
