//! Measures time and memory of a preview of a large cluster once it is read.
//!
//! 40,000 devices, 80,000 claims, 150,000 pods of which 80,000 use devices. Prints the median of
//! several runs, and the price of 1,000 rules as a ratio to that of one. `cargo bench --bench engine`

#![allow(
    clippy::arithmetic_side_effects,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test or benchmark, not the program"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kubectl_devicetaint::assess::plan::plan;
use kubectl_devicetaint::assess::{Basis, PlanUnit};
use kubectl_devicetaint::engine::expression::DeviceExpression;
use kubectl_devicetaint::engine::{ProposedTaint, Semantics, preview};
use kubectl_devicetaint::model::{
    Allocation, AllocationResult, AttributeValue, BudgetStatus, ClaimSource, ConsumerReference,
    Containers, Controller, Device, DeviceId, DeviceName, DeviceSelector, DeviceTaintRule,
    DriverName, Effect, Kind, LabelSelector, Namespace, NamespacedName, NodeName, Phase, Pod,
    PodClaim, PodDisruptionBudget, Pool, PoolName, Reading, ReplicaSet, ResourceClaim,
    ResourceSlice, RuleMetadata, Sandbox, SliceNodes, Snapshot, Source, Taint,
    UnhealthyPodEvictionPolicy, Workload,
};

const NODES: usize = 5_000;
const DEVICES_OF_A_NODE: usize = 8;
const CLAIMS: usize = 80_000;
const RUNS: usize = 15;
const COMMON: &str = "gpu.example.com";
const RARE: &str = "rare.example.com";

fn main() {
    let mut cluster = Names::new().cluster();
    println!(
        "cluster: {} slices of {DEVICES_OF_A_NODE} devices, {} claims, {} pods with claims, {} MB",
        cluster.slices.len(),
        cluster.claims.len(),
        cluster.pods.len(),
        resident()
    );
    let one = [proposed(Some(COMMON), Some((4_000, 0)))];
    let all = [proposed(None, None)];
    // The same thousand devices, by one rule and by one each.
    let by_driver = [proposed(Some(RARE), None)];
    let by_name: Vec<ProposedTaint> = (0..1_000)
        .map(|place| (place / DEVICES_OF_A_NODE, place % DEVICES_OF_A_NODE))
        .map(|device| proposed(Some(RARE), Some(device)))
        .collect();
    let mut measurements = [
        Measurement::of("one device", &one, &[]),
        Measurement::of("1,000 devices by one rule", &by_driver, &[]),
        Measurement::of("1,000 devices by a rule each", &by_name, &[]),
        Measurement::of("one device beside one rule", &one, &by_driver),
        Measurement::of("one device beside 1,000 rules", &one, &by_name),
        Measurement::of("all devices", &all, &[]),
    ];
    // In turn, so that other load of the machine affects all of them.
    for _ in 0..RUNS {
        for measurement in &mut measurements {
            measurement.run(&mut cluster);
        }
    }
    choose_by_expression();
    plan_units(cluster.clone());
    println!("peak memory: {} MB, cluster and answers included", peak());
    let [_, one_asked, many_asked, one_beside, many_beside, _] =
        measurements.map(Measurement::fastest);
    println!(
        "1,000 considered rules cost {:.2} times one rule",
        ratio(many_asked, one_asked)
    );
    println!(
        "1,000 existing rules cost {:.2} times one rule",
        ratio(many_beside, one_beside)
    );
}

/// 40,000 devices with three clauses: at most 150 ms.
fn choose_by_expression() {
    let attributes = [
        ("model", AttributeValue::String("H100 80GB HBM3".into())),
        ("firmware", AttributeValue::Version("580.9.15".into())),
        ("uuid", AttributeValue::String("GPU-18db0e85".into())),
        ("index", AttributeValue::Int(3)),
    ];
    let device = Device {
        name: "gpu-0".into(),
        node: None,
        taints: Vec::new(),
        attributes: attributes
            .map(|(name, value)| (name.into(), value))
            .into_iter()
            .collect(),
        capacity: [("memory".into(), "80Gi".into())].into_iter().collect(),
        allow_multiple_allocations: false,
        terms: None,
    };
    let text = r#"cel.bind(gpu, device.attributes["gpu.example.com"], gpu.model.contains("H100")
        && gpu.firmware.isLessThan(semver("580.12.0")))
        && device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0"#;
    for (what, text) in [
        ("a whole domain", text.to_owned()),
        (
            "single attributes",
            text.replace(
                "cel.bind(gpu, device.attributes[\"gpu.example.com\"], ",
                "(",
            )
            .replace("gpu.model", "device.attributes[\"gpu.example.com\"].model")
            .replace(
                "gpu.firmware",
                "device.attributes[\"gpu.example.com\"].firmware",
            ),
        ),
    ] {
        let began = Instant::now();
        let expression = DeviceExpression::compile(&text).unwrap();
        let driver = DriverName::from(COMMON);
        let chosen = (0..NODES * DEVICES_OF_A_NODE)
            .filter(|_| expression.matches(&driver, black_box(&device)) == Ok(true))
            .count();
        println!("{chosen} devices chosen by {what} in {:?}", began.elapsed());
    }
}

/// A plan among 40,000 devices, each with two pods, in workloads of eight and under 200 budgets.
fn plan_units(mut cluster: Snapshot) {
    for (place, pod) in cluster.pods.iter_mut().enumerate() {
        // A few pods without an owner, the rest in replicas of eight on eight nodes.
        pod.controller = (!place.is_multiple_of(97)).then(|| Controller {
            api_version: "apps/v1".into(),
            kind: "ReplicaSet".into(),
            name: format!("train-{}", place / 8).as_str().into(),
            uid: format!("set-{}", place / 8).as_str().into(),
        });
    }
    cluster.replica_sets = (0..CLAIMS / 8).map(replica_set).collect();
    let namespaces: Vec<Namespace> = Names::new().namespaces;
    cluster.budgets = namespaces.iter().map(budget).collect();
    let reading = Reading {
        snapshot: cluster,
        source: Source::Files,
        observed_at: Some(start()),
        is_time_guessed: false,
        version: None,
        known: Kind::ALL.into(),
        resource_versions: Default::default(),
        warnings: Vec::new(),
        gaps: Vec::new(),
    };
    let semantics = Semantics::assumed();
    let basis = Basis::new(&reading, &semantics, start());
    let slices = &reading.snapshot.slices;
    let of_slice = |slice: &ResourceSlice| -> Vec<DeviceId> {
        slice
            .devices
            .iter()
            .map(|device| slice.id_of(device))
            .collect()
    };
    let nodes: Vec<Vec<DeviceId>> = slices.iter().map(of_slice).collect();
    let devices: Vec<Vec<DeviceId>> = nodes.iter().flatten().map(|id| vec![id.clone()]).collect();
    for (what, units, count) in [
        ("20 of 40,000 devices", &devices, 20),
        ("1,000 of 40,000 devices", &devices, 1_000),
        ("6 of 5,000 nodes", &nodes, 6),
    ] {
        let units = units.iter().map(|devices| PlanUnit {
            name: String::new(),
            devices: devices.clone(),
        });
        let units: Vec<PlanUnit> = units.collect();
        let began = Instant::now();
        black_box(plan(&units, count, &taint(), &basis));
        println!("plan of {what}: {:.1?}", began.elapsed());
    }
}

fn replica_set(place: usize) -> ReplicaSet {
    ReplicaSet(Workload {
        name: NamespacedName {
            namespace: "team-000".into(),
            name: format!("train-{place}").as_str().into(),
        },
        uid: format!("set-{place}").as_str().into(),
        controller: None,
        replicas: Some(8),
        ready: Some(8),
        min_members: None,
        failure: None,
        rollout: None,
    })
}

/// A budget over all pods of a namespace, of which three may be away.
fn budget(namespace: &Namespace) -> PodDisruptionBudget {
    PodDisruptionBudget {
        name: NamespacedName {
            namespace: namespace.clone(),
            name: "all".into(),
        },
        generation: 1,
        selector: Some(LabelSelector::default()),
        min_available: None,
        max_unavailable: None,
        unhealthy_pod_eviction_policy: UnhealthyPodEvictionPolicy::IfHealthyBudget,
        status: BudgetStatus {
            disruptions_allowed: 3,
            current_healthy: 400,
            desired_healthy: 397,
            expected_pods: 400,
            observed_generation: 1,
            failure: None,
        },
    }
}

struct Measurement<'a> {
    what: &'static str,
    proposed: &'a [ProposedTaint],
    rules: Vec<DeviceTaintRule>,
    times: Vec<Duration>,
}

impl<'a> Measurement<'a> {
    fn of(what: &'static str, proposed: &'a [ProposedTaint], rules: &[ProposedTaint]) -> Self {
        let rules = rules.iter().enumerate().map(rule).collect();
        let times = Vec::with_capacity(RUNS);
        Self {
            what,
            proposed,
            rules,
            times,
        }
    }

    fn run(&mut self, cluster: &mut Snapshot) {
        // Not copied: allocations in between would be measured too.
        std::mem::swap(&mut cluster.rules, &mut self.rules);
        let started = Instant::now();
        let impact = preview(cluster, self.proposed, start(), &Semantics::assumed());
        self.times.push(started.elapsed());
        black_box(&impact);
        drop(impact);
        std::mem::swap(&mut cluster.rules, &mut self.rules);
    }

    /// Prints the times, and returns the shortest: other load of the machine makes a run slower, never faster.
    fn fastest(mut self) -> Duration {
        self.times.sort();
        let (median, fastest) = (self.times[RUNS / 2], self.times[0]);
        println!("{}: {median:.1?} (fastest {fastest:.1?})", self.what);
        fastest
    }
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn start() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

fn proposed(driver: Option<&str>, device: Option<(usize, usize)>) -> ProposedTaint {
    ProposedTaint {
        rule: None,
        selector: Some(DeviceSelector {
            driver: driver.map(Into::into),
            pool: device.map(|(node, _)| PoolName::from(format!("node-{node}").as_str())),
            device: device.map(|(_, device)| DeviceName::from(format!("gpu-{device}").as_str())),
            ..DeviceSelector::default()
        }),
        taint: taint(),
    }
}

/// An existing rule with the proposed taint.
fn rule((place, proposed): (usize, &ProposedTaint)) -> DeviceTaintRule {
    DeviceTaintRule {
        name: format!("rule-{place}").as_str().into(),
        uid: format!("uid-{place}").as_str().into(),
        resource_version: "1".into(),
        generation: 1,
        selector: proposed.selector.clone(),
        taint: proposed.taint.clone(),
        condition: None,
        metadata: RuleMetadata::default(),
        managers: Vec::new(),
    }
}

fn taint() -> Taint {
    Taint {
        key: "example.com/maintenance".into(),
        value: String::new(),
        effect: Effect::NoExecute,
        time_added: Some(start()),
    }
}

/// Names that many objects share, as decoding interns them.
struct Names {
    common: DriverName,
    rare: DriverName,
    pools: Vec<PoolName>,
    nodes: Vec<NodeName>,
    devices: Vec<DeviceName>,
    namespaces: Vec<Namespace>,
    request: Arc<str>,
    resource: Arc<str>,
    empty: Arc<str>,
}

impl Names {
    fn new() -> Self {
        let node = |place: usize| format!("node-{place}");
        Self {
            common: COMMON.into(),
            rare: RARE.into(),
            pools: (0..NODES)
                .map(|place| node(place).as_str().into())
                .collect(),
            nodes: (0..NODES)
                .map(|place| node(place).as_str().into())
                .collect(),
            devices: (0..DEVICES_OF_A_NODE)
                .map(|place| format!("gpu-{place}").as_str().into())
                .collect(),
            namespaces: (0..200)
                .map(|place| format!("team-{place:03}").as_str().into())
                .collect(),
            request: "gpu".into(),
            resource: "pods".into(),
            empty: "".into(),
        }
    }

    /// Ordered by namespace and name, as a server lists it. Pods without claims are never kept.
    fn cluster(&self) -> Snapshot {
        let slices = (0..NODES).map(|node| self.slice(node)).collect();
        let claims = (0..CLAIMS).map(|place| self.claim(place)).collect();
        let pods = (0..CLAIMS).map(|place| self.pod(place)).collect();
        Snapshot {
            slices,
            claims,
            pods,
            ..Snapshot::default()
        }
    }

    /// The first 125 nodes have a driver of their own: 1,000 devices.
    fn driver(&self, node: usize) -> DriverName {
        if node < 1_000 / DEVICES_OF_A_NODE {
            self.rare.clone()
        } else {
            self.common.clone()
        }
    }

    fn slice(&self, node: usize) -> ResourceSlice {
        ResourceSlice {
            name: format!("node-{node}-gpu.example.com-x7k2p").as_str().into(),
            driver: self.driver(node),
            pool: Pool {
                name: self.pools[node].clone(),
                generation: 1,
                slice_count: 1,
            },
            nodes: SliceNodes::One(self.nodes[node].clone()),
            devices: self
                .devices
                .iter()
                .map(|name| Device {
                    name: name.clone(),
                    node: None,
                    taints: Vec::new(),
                    attributes: Default::default(),
                    capacity: Default::default(),
                    allow_multiple_allocations: true,
                    terms: None,
                })
                .collect(),
            terms: None,
        }
    }

    fn name(&self, place: usize, prefix: &str) -> NamespacedName {
        NamespacedName {
            namespace: self.namespaces[place * self.namespaces.len() / CLAIMS].clone(),
            name: format!("{prefix}-{place:06}").as_str().into(),
        }
    }

    fn claim(&self, place: usize) -> ResourceClaim {
        ResourceClaim {
            name: self.name(place, "train-gpu"),
            uid: format!("5d4be889-4439-46b2-b028-{place:012}")
                .as_str()
                .into(),
            controller: None,
            spec: None,
            allocation: Some(Allocation {
                node: None,
                results: vec![AllocationResult {
                    request: self.request.clone(),
                    device: DeviceId {
                        driver: self.driver(place % NODES),
                        pool: self.pools[place % NODES].clone(),
                        device: self.devices[place / NODES % DEVICES_OF_A_NODE].clone(),
                    },
                    admin_access: false,
                    share_id: None,
                    tolerations: Vec::new(),
                    consumed_capacity: None,
                }],
            }),
            reserved_for: vec![ConsumerReference {
                api_group: self.empty.clone(),
                resource: self.resource.clone(),
                name: self.name(place, "train").name,
                uid: uid(place),
            }],
        }
    }

    fn pod(&self, place: usize) -> Pod {
        Pod {
            name: self.name(place, "train"),
            uid: uid(place),
            node: Some(self.nodes[place % NODES].clone()),
            labels: Vec::new(),
            annotations: Vec::new(),
            phase: Phase::Running,
            containers: Containers::Running,
            sandbox: Sandbox::Up,
            health: Vec::new(),
            is_ready: true,
            deletion: None,
            claims: vec![PodClaim {
                name: self.request.clone(),
                source: ClaimSource::Claim(self.name(place, "train-gpu").name),
            }],
            extended_resource_claim: None,
            extended_resources: Vec::new(),
            pod_group: None,
            controller: None,
            qos_class: None,
            priority: 0,
            priority_class_name: self.empty.clone(),
            grace_period_seconds: 30,
            has_local_data: false,
            scheduling: None,
        }
    }
}

fn uid(place: usize) -> kubectl_devicetaint::model::Uid {
    format!("ea16ec9f-5ea8-4707-b2bb-{place:012}")
        .as_str()
        .into()
}

/// Megabytes of memory that the process has now.
fn resident() -> u64 {
    status("VmRSS:")
}

/// Megabytes of memory that the process has had at most.
fn peak() -> u64 {
    status("VmHWM:")
}

/// A line of `/proc/self/status`, in megabytes; zero where there is no such file.
fn status(field: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1_024
}
