//! How fast does the real controller evict many pods at once?
//!
//! A measurement, run by hand: `cargo test --test full -- --ignored pace`. The last figure is in
//! tests/cluster/README.md; the report's estimate has to agree with it.

use std::time::{Duration, Instant};

use futures::future::join_all;

use super::support::{KEY, World};
use crate::harness::{ControlPlane, Reference, block_on, number_in, say, wait_for};

#[test]
#[ignore = "a measurement of a minute"]
fn pace_of_evictions() {
    let pods = number_in("PODS").unwrap_or(200);
    let world = block_on(World::new(ControlPlane::shared()));
    let names: Vec<String> = (0..pods).map(|number| format!("train-{number}")).collect();
    for some in names.chunks(20) {
        block_on(join_all(some.iter().map(|name| world.pod(name, "gpu-0"))));
    }
    let begun = Instant::now();
    world
        .run(&format!(
            "add DRIVER {KEY}:NoExecute --yes --abort-if pods.evicted>{pods}"
        ))
        .ended(0);
    let until = |name: &String| {
        let pod = Reference::pod(&world.namespace, name);
        block_on(wait_for(
            "the pod is evicted",
            Duration::from_secs(300),
            async || {
                let pod = world.plane.get(&pod).await;
                let is_leaving = pod.is_none_or(|pod: serde_json::Value| {
                    pod["metadata"]["deletionTimestamp"].is_string()
                });
                is_leaving.then_some(())
            },
        ));
    };
    // The last one, whichever that is.
    names.iter().for_each(until);
    let took = begun.elapsed().as_secs_f64();
    say(&format!("pace: {pods} pods were evicted in {took:.1} s"));
}
