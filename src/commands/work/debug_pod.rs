//! Asking the kubelet of another node, through a pod that is gone again.

use std::pin::{Pin, pin};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::connect::{connect_client, failed};
use crate::cluster::{
    ApiClient, ClusterError, DebugPod, DebugPodRequest, DebugPodState, NotMade, node_exists,
};
use crate::commands::context::Context;
use crate::commands::open_pods::{FAREWELL, NO_RESPONSE, left_behind};
use crate::error::{ExitStatus, Failure};
use crate::model::NodeName;
use crate::report::PodResourcesReport;

/// How often is looked at the pod.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long a pod may take where the user sets no limit: an image has to be pulled.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which node is asked, and by what.
#[derive(Clone, Debug)]
pub(crate) struct DebugPodPlan {
    pub(crate) node: String,
    pub(crate) namespace: String,
    pub(crate) image: String,
    /// The root folder of the node's kubelet.
    pub(crate) root: String,
    /// How long the pod may take.
    pub(crate) timeout: Option<Duration>,
}

impl DebugPodPlan {
    /// The plan of a pod that has no more than the `rest` of a wait.
    pub(crate) fn within(&self, rest: Duration) -> Self {
        Self {
            timeout: Some(self.patience().min(rest)),
            ..self.clone()
        }
    }

    fn patience(&self) -> Duration {
        self.timeout.unwrap_or(PATIENCE)
    }
}

/// What the program prints that is run with `arguments` in a pod on the node. The pod is removed
/// whatever happens, also where somebody stops the program; what could not be removed is said.
pub(crate) async fn ask(
    plan: &DebugPodPlan,
    arguments: &[&str],
    stop: impl Future<Output = ExitStatus>,
    context: &Context,
) -> Result<PodResourcesReport, Failure> {
    let mut stop = Interrupt {
        signal: pin!(stop),
        status: None,
    };
    let client = stop.or_break_off(connect_client(context)).await??;
    stop.or_break_off(refuse_unknown(plan, &client)).await??;
    let request = DebugPodRequest {
        node: &plan.node,
        image: &plan.image,
        root: &plan.root,
        arguments,
        patience: plan.patience(),
    };
    let pod = DebugPod::new(&client, &plan.namespace);
    // Whoever ends this program otherwise removes it.
    context.open_pods.begin(&pod);
    // Not to be broken off: who breaks it off does not know what there is to remove.
    let answer = match stop.or_hurry(pod.create(&request)).await {
        // What was refused is not there; what was lost may be, and is removed as one that was made.
        Some(Err(NotMade::Refused(error))) => {
            context.open_pods.over(&pod);
            return Err(not_made(error));
        }
        Some(Err(NotMade::Lost(error))) => Err(not_made(error)),
        Some(Ok(())) => {
            context.open_pods.made(&pod);
            stop.or_break_off(printed(&pod, plan)).await.flatten()
        }
        None => Err(stop.interrupted()),
    };
    let why_left = match stop.or_hurry(pod.remove()).await {
        Some(Ok(_)) => None,
        Some(Err(error)) => Some(error.to_string()),
        None => Some(NO_RESPONSE.to_owned()),
    };
    context.open_pods.over(&pod);
    // Who has stopped the program gets that status, whatever the pod has printed by then.
    let answer = match stop.status {
        Some(_) => Err(stop.interrupted()),
        None => answer,
    };
    let answer = match why_left {
        Some(why) => still_there(answer, &pod, &why, context),
        None => answer,
    };
    tell(&client, context);
    let text = answer?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(
            ExitStatus::Failed,
            format!("the debug pod did not print the JSON report of kubectl-devicetaint: {error}"),
        )
        .detail(format!("its output begins with: {}", first_line(&text)))
        .hint("set --debug-image to an image with this version of kubectl-devicetaint as its entrypoint")
    })
}

/// Somebody who may stop the program at any step.
struct Interrupt<'a, S> {
    signal: Pin<&'a mut S>,
    /// How the program ends, once somebody has.
    status: Option<ExitStatus>,
}

impl<S: Future<Output = ExitStatus>> Interrupt<'_, S> {
    fn interrupted(&self) -> Failure {
        Failure::new(
            self.status.unwrap_or(ExitStatus::Interrupted),
            "interrupted",
        )
    }

    /// What `work` comes to, which is left where it is when the program is stopped.
    async fn or_break_off<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        if self.status.is_none() {
            tokio::select! {
                done = work => return Ok(done),
                status = &mut self.signal => self.status = Some(status),
            }
        }
        Err(self.interrupted())
    }

    /// What `work` comes to, for which little time is left when the program is stopped; nothing where that
    /// is not enough.
    async fn or_hurry<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        if self.status.is_none() {
            tokio::select! {
                done = &mut work => return Some(done),
                status = &mut self.signal => self.status = Some(status),
            }
        }
        timeout(FAREWELL, work).await.ok()
    }
}

/// Why the pod was not made. What the namespace does not allow, another one may.
fn not_made(error: ClusterError) -> Failure {
    let is_refused = matches!(error, ClusterError::Invalid { .. });
    let failure = failed(error);
    if is_refused {
        failure.hint("if this namespace forbids hostPath volumes, set --debug-namespace to one that allows them")
    } else {
        failure
    }
}

/// Refuses a node that does not exist, on which a pod would wait for ever. Who may not read nodes is
/// believed.
async fn refuse_unknown(plan: &DebugPodPlan, client: &ApiClient) -> Result<(), Failure> {
    match node_exists(client, &NodeName::from(plan.node.as_str())).await {
        // Without permission to read the node, the pod itself shows whether it exists.
        Ok(true) | Err(ClusterError::Forbidden { .. }) => Ok(()),
        Ok(false) => Err(
            Failure::new(ExitStatus::Failed, format!("node {} not found", plan.node))
                .hint("list the nodes: kubectl get nodes"),
        ),
        Err(error) => Err(failed(error)),
    }
}

/// The pod's log, once it has ended well.
async fn printed(made: &DebugPod, plan: &DebugPodPlan) -> Result<String, Failure> {
    let limit = plan.patience();
    let began = Instant::now();
    loop {
        let waits = match made.state().await.map_err(failed)? {
            DebugPodState::Done => return made.log().await.map_err(failed),
            DebugPodState::Failed(why) => {
                // The log only explains the failure, which is told without it as well.
                let log = made.log().await.unwrap_or_default();
                let last = log.lines().rfind(|line| !line.is_empty());
                let why = if why.is_empty() {
                    why
                } else {
                    format!(": {why}")
                };
                let failure = Failure::new(
                    ExitStatus::Failed,
                    format!("pod {} on node {} failed{why}", made.name(), plan.node),
                );
                return Err(last.into_iter().fold(failure, |failure, last| {
                    failure.detail(format!("its last output: {last}"))
                }));
            }
            DebugPodState::Stuck(why) => {
                return Err(Failure::new(
                    ExitStatus::Failed,
                    format!(
                        "pod {} on node {} cannot start: {why}",
                        made.name(),
                        plan.node
                    ),
                )
                .hint("set --debug-image to an image with kubectl-devicetaint as its entrypoint"));
            }
            DebugPodState::Waiting(why) => why,
        };
        // Compared after the state was read, so that a pod that has just ended still counts.
        if began.elapsed() >= limit {
            let why = waits.map_or_else(String::new, |why| format!(": {why}"));
            return Err(Failure::new(
                ExitStatus::TryAgain,
                format!(
                    "pod {} on node {} has not ended after {}s{why}",
                    made.name(),
                    plan.node,
                    limit.as_secs_f64()
                ),
            )
            .hint(
                "check that the node exists, and that its kubelet is running and can pull \
                the image; or wait longer with --debug-timeout",
            ));
        }
        sleep(INTERVAL).await;
    }
}

/// Says that the pod could not be removed, whatever became of the question.
fn still_there(
    answer: Result<String, Failure>,
    pod: &DebugPod,
    why: &str,
    context: &Context,
) -> Result<String, Failure> {
    let line = left_behind(pod, why);
    match answer {
        Ok(text) => {
            context.printer.warn(&line);
            Ok(text)
        }
        Err(failure) => Err(failure.hint(line)),
    }
}

fn tell(client: &ApiClient, context: &Context) {
    for warning in client.warnings() {
        context.printer.server_warning(&warning);
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or("nothing");
    line.chars().take(120).collect()
}
