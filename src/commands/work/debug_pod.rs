//! Asking the kubelet of another node, through a pod that is gone again.

use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::connect::{connect_client, failed};
use crate::cluster::{ApiClient, ClusterError, DebugPod, DebugPodRequest, DebugPodState};
use crate::commands::context::Context;
use crate::error::{ExitStatus, Failure};
use crate::naming::pod;
use crate::report::PodResourcesReport;

/// How often is looked at the pod.
const INTERVAL: Duration = Duration::from_millis(500);
/// How long a pod may take where the user sets no limit: an image has to be pulled.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which node is asked, and by what.
pub(crate) struct DebugPodPlan<'a> {
    pub(crate) node: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) image: &'a str,
    /// The root folder of the node's kubelet.
    pub(crate) root: &'a str,
    /// How long the pod may take.
    pub(crate) timeout: Option<Duration>,
}

/// What the program prints that is run with `arguments` in a pod on the node. The pod is removed
/// whatever happens, also where somebody stops the program; what could not be removed is said.
pub(crate) async fn ask(
    plan: &DebugPodPlan<'_>,
    arguments: &[&str],
    (stop, context): (impl Future<Output = ExitStatus>, &Context),
) -> Result<PodResourcesReport, Failure> {
    let mut stop = pin!(stop);
    let client = tokio::select! {
        client = connect_client(context) => client?,
        status = &mut stop => return Err(Failure::new(status, "interrupted")),
    };
    let request = DebugPodRequest {
        node: plan.node,
        namespace: plan.namespace,
        image: plan.image,
        root: plan.root,
        arguments,
    };
    // Not to be broken off: who breaks it off does not know what there is to remove.
    let made = DebugPod::create(&client, &request).await.map_err(failed)?;
    let answer = tokio::select! {
        answer = printed(&made, plan) => answer,
        status = &mut stop => Err(Failure::new(status, "interrupted")),
    };
    let removed = made.remove().await;
    let answer = match removed {
        Ok(()) => answer,
        Err(error) => still_there(answer, (&made, plan), &error, context),
    };
    tell(&client, context);
    let text = answer?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(
            ExitStatus::Failed,
            format!("what the pod has printed is no report of this program: {error}"),
        )
        .hint(format!("it begins with: {}", first_line(&text)))
        .hint("the image has to have this version of the program as its entry point")
    })
}

/// The pod's log, once it has ended well.
async fn printed(made: &DebugPod, plan: &DebugPodPlan<'_>) -> Result<String, Failure> {
    let limit = plan.timeout.unwrap_or(PATIENCE);
    let began = Instant::now();
    loop {
        let waits = match made.state().await.map_err(failed)? {
            DebugPodState::Done => return made.log().await.map_err(failed),
            DebugPodState::Failed(why) => {
                let log = made.log().await.unwrap_or_default();
                let last = log.lines().rfind(|line| !line.is_empty());
                let failure = Failure::new(
                    ExitStatus::Failed,
                    format!("pod {} on node {} has failed {why}", made.name(), plan.node),
                );
                return Err(last.into_iter().fold(failure, |failure, last| {
                    failure.hint(format!("it said: {last}"))
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
                .hint("--debug-image names an image that has this program as its entry point"));
            }
            DebugPodState::Waiting(why) => why,
        };
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
            .hint("see whether there is such a node, whether its kubelet is well, and whether it can pull the image; or wait longer with --debug-timeout"));
        }
        sleep(INTERVAL).await;
    }
}

/// Says that the pod could not be removed, whatever became of the question.
fn still_there(
    answer: Result<String, Failure>,
    (made, plan): (&DebugPod, &DebugPodPlan<'_>),
    error: &ClusterError,
    context: &Context,
) -> Result<String, Failure> {
    let name = made.name();
    let bare = name.rsplit('/').next().unwrap_or(&name).to_owned();
    let by_hand = format!("kubectl delete {}", pod::arguments(plan.namespace, &bare));
    match answer {
        Ok(text) => {
            context.printer.insist(&format!(
                "pod {name} could not be removed: {error}; to remove it: {by_hand}"
            ));
            Ok(text)
        }
        Err(failure) => Err(failure.hint(format!(
            "pod {name} could not be removed ({error}); to remove it: {by_hand}"
        ))),
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
