//! A middlebox that answers in the server's place: a page with status 404 is no absence.

use super::support::{KEY, World};
use crate::harness::{At, ControlPlane, Fault, Proxy, Reply};

const RULES: &str = "/apis/resource.k8s.io/v1/devicetaintrules";
const CLAIMS: &str = "/apis/resource.k8s.io/v1/resourceclaims";
const ALWAYS: usize = usize::MAX;

fn page() -> Fault {
    Fault::Answer(Reply::html("404 Not Found"))
}

/// The world as it looks through the proxy.
fn behind<'a>(proxy: &Proxy, world: &World<'a>) -> World<'a> {
    World::bare(world.plane, world.driver.clone(), world.node.clone()).seen_by(&proxy.kubeconfig)
}

#[tokio::test]
async fn rule_behind_pages_is_neither_deleted_nor_done() {
    let world = World::new(ControlPlane::shared()).await;
    world.pod("train", "gpu-0").await;
    let rule = world.add(&format!("{KEY}=x"));
    let proxy = Proxy::start(world.plane);
    let seen = behind(&proxy, &world);
    for plan in [At::Path(RULES.to_owned(), ALWAYS), At::From(1)] {
        for line in [
            "wait RULE --for deleted --timeout 2s",
            "wait RULE --for deleted --ignore-not-found --timeout 2s",
            "wait RULE --for evicted --settle 0s --timeout 2s",
            "wait RULE --for observed --timeout 2s",
            "remove RULE --yes --others",
            "remove RULE --yes --others --ignore-not-found",
            "describe RULE",
            "deescalate RULE --to None",
        ] {
            proxy.plan([(plan.clone(), page())]);
            let line = line.replace("RULE", &rule);
            let run = seen.run(&format!("{line} --request-timeout 1s"));
            assert!([1, 5].contains(&run.code), "{line}: {run:#?}");
            assert!(!proxy.seen().is_empty(), "{line}: {run:#?}");
            for lie in ["deleted", "condition met", "not found", "no rule"] {
                assert!(!run.stdout.contains(lie), "{line}: {run:#?}");
            }
        }
    }
    let stands = world.rule(&rule).await.expect("nothing was deleted");
    assert!(
        stands["metadata"]["deletionTimestamp"].is_null(),
        "{stands:#}"
    );
}

#[tokio::test]
async fn guard_that_pages_blind_trips() {
    let world = World::new(ControlPlane::shared()).await;
    world.pod("train", "gpu-0").await;
    let proxy = Proxy::start(world.plane);
    let seen = behind(&proxy, &world);
    let line =
        format!("add GPU0 {KEY}:NoExecute --yes --abort-if pods.evicted>0 --request-timeout 1s");
    let calm = seen.run(&line).ended(4);
    assert!(
        proxy.seen_at(CLAIMS).len() == 1,
        "{calm:#?} {:?}",
        proxy.seen()
    );
    let requests = proxy.seen().len();
    for plan in (1..=requests).map(At::Number).chain([
        At::Path("/api/v1/".to_owned(), ALWAYS),
        At::Path(CLAIMS.to_owned(), ALWAYS),
    ]) {
        proxy.plan([(plan.clone(), page())]);
        let run = seen.run(&line);
        assert!([1, 4, 6].contains(&run.code), "{plan:?}: {run:#?}");
        assert!(world.rules().await.is_empty(), "{plan:?}: {run:#?}");
    }
}
