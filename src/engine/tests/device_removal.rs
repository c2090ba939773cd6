//! Checks before a device is pulled out of its node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::world::{GPU_0, World, device_id, name, toleration};
use crate::engine::device_removal::{
    KubeletIdentity, RemovalCheck, RemovalFacts, RemovalObjection, removal_checks,
};
use crate::engine::hardware::{HardwareLink, HardwareNumber};
use crate::engine::tolerant::{TolerantClaim, takeable};
use crate::engine::{ProposedTaint, Semantics, preview};
use crate::model::{
    AttributeValue, ClaimInUse, ClaimSpec, ContainerInUse, Containers, CounterUse, Deletion,
    DeviceAmount, DeviceClass, DeviceId, DeviceInUse, DeviceRequest, DeviceSelector, DeviceTerms,
    Effect, Gap, InUse, Kind, PodInUse, PreparedClaim, Reading, RequestKind, RequestTerms,
    ResourceClaimTemplate, Source, Taint,
};

const GPU_1: &str = "gpu.example.com/node-a/gpu-1";

/// What the kubelet lists: pods, each with a claim and its device.
fn listed(pods: &[(&str, &str, &str)]) -> InUse {
    let pod = |(pod, claim, device): &(&str, &str, &str)| PodInUse {
        name: name(pod),
        containers: vec![ContainerInUse {
            name: "main".to_owned(),
            plugin_devices: Vec::new(),
            claims: vec![ClaimInUse {
                name: name(claim),
                devices: vec![DeviceInUse {
                    device: device_id(device),
                    share_id: None,
                    cdi_devices: Vec::new(),
                }],
            }],
        }],
    };
    InUse {
        pods: pods.iter().map(pod).collect(),
    }
}

/// A cluster, and what the kubelet of `node-a` says.
struct Scene {
    reading: Reading,
    in_use: InUse,
    prepared: Option<Vec<PreparedClaim>>,
    identity: KubeletIdentity,
}

impl Scene {
    fn new(world: World, in_use: InUse) -> Self {
        Self {
            reading: Reading {
                snapshot: world.snapshot,
                source: Source::Files,
                observed_at: None,
                version: None,
                known: Kind::ALL.into(),
                resource_versions: BTreeMap::new(),
                warnings: Vec::new(),
                gaps: Vec::new(),
            },
            in_use,
            prepared: Some(Vec::new()),
            identity: KubeletIdentity::Shown,
        }
    }

    fn checks(&self) -> Vec<RemovalCheck> {
        self.with(removal_checks)
    }

    fn with<T>(&self, ask: impl FnOnce(&RemovalFacts<'_>) -> T) -> T {
        ask(&RemovalFacts {
            reading: &self.reading,
            semantics: &Semantics::assumed(),
            node: &"node-a".into(),
            in_use: &self.in_use,
            prepared: self.prepared.as_deref(),
            identity: self.identity,
        })
    }

    /// What speaks against the first GPU.
    fn objections(&self) -> Vec<RemovalObjection> {
        self.objections_to(GPU_0)
    }

    fn objections_to(&self, device: &str) -> Vec<RemovalObjection> {
        let found = self.checks().into_iter();
        let mut of_it = found.filter(|one| one.device == device_id(device));
        of_it.next().expect("the device is known").objections
    }
}

/// What keeps new pods off.
const TAINT: &str = "example.com/pull:NoSchedule";

/// Two devices that are published and idle, and to which no new pod comes.
fn idle() -> World {
    let taint: &[&str] = &[TAINT];
    World::default().slice(
        "gpu.example.com/node-a",
        &[("gpu-0", taint), ("gpu-1", taint)],
    )
}

/// One of them is used by a pod.
fn busy() -> World {
    idle()
        .claim("ml/gpu", &[GPU_0], &[])
        .pod("ml/train", &["gpu"])
}

fn nobody() -> InUse {
    listed(&[])
}

fn claimed() -> RemovalObjection {
    RemovalObjection::Claimed {
        claim: name("ml/gpu"),
    }
}

fn used() -> RemovalObjection {
    RemovalObjection::InUse {
        pod: name("ml/train"),
        container: "main".to_owned(),
        claim: name("ml/gpu"),
    }
}

/// The claim as the kubelet has noted it, with these devices, or with none that the driver has named.
fn noted(devices: &[&str]) -> PreparedClaim {
    let silent = devices.is_empty().then(|| "gpu.example.com".into());
    PreparedClaim {
        name: name("ml/gpu"),
        uid: "gpu".into(),
        pods: vec!["train".into()],
        devices: devices.iter().map(|device| device_id(device)).collect(),
        silent_drivers: silent.into_iter().collect(),
    }
}

const USE: (&str, &str, &str) = ("ml/train", "ml/gpu", GPU_0);

#[test]
fn a_device_is_safe_to_pull_when_all_who_were_asked_agree() {
    let found = Scene::new(idle(), nobody()).checks();
    let safe = found
        .iter()
        .map(|one| (one.device.to_string(), one.objections.len()));
    assert_eq!(
        safe.collect::<Vec<_>>(),
        [(GPU_0.to_owned(), 0), (GPU_1.to_owned(), 0)]
    );
}

#[test]
fn everything_that_speaks_against_it_is_said() {
    let pod = || name("ml/train");
    let claim = || name("ml/gpu");
    let leaving = busy().but_pod(|pod| {
        pod.deletion = Some(Deletion {
            at: super::world::at(0),
            grace_period_seconds: None,
            finalizers: Vec::new(),
        });
    });
    let tainted = busy().rule("drain", GPU_0, "example.com/m:NoExecute");
    for (case, world, in_use, expected) in [
        ("in use", busy(), listed(&[USE]), vec![used(), claimed()]),
        (
            "the API calls it free",
            idle(),
            listed(&[USE]),
            vec![used(), RemovalObjection::InUseAndFree { pod: pod() }],
        ),
        (
            "it is allocated to another claim",
            idle().claim("ml/other", &[GPU_0], &[]),
            listed(&[USE]),
            vec![
                used(),
                RemovalObjection::InUseAndFree { pod: pod() },
                RemovalObjection::Claimed {
                    claim: name("ml/other"),
                },
            ],
        ),
        (
            "not reserved",
            idle().claim("ml/gpu", &[GPU_0], &[]),
            listed(&[USE]),
            vec![
                used(),
                RemovalObjection::NotReserved {
                    pod: pod(),
                    claim: claim(),
                },
                claimed(),
            ],
        ),
        (
            "a claim that nobody uses",
            idle().claim("ml/gpu", &[GPU_0], &[]),
            nobody(),
            vec![RemovalObjection::ClaimedAndUnused { claim: claim() }],
        ),
        (
            "leaving",
            leaving,
            listed(&[USE]),
            vec![used(), claimed(), RemovalObjection::Leaving { pod: pod() }],
        ),
        (
            "tainted",
            tainted,
            listed(&[USE]),
            vec![used(), RemovalObjection::TaintedAndInUse, claimed()],
        ),
    ] {
        assert_eq!(Scene::new(world, in_use).objections(), expected, "{case}");
    }
}

#[test]
fn a_taint_does_not_evict_who_tolerates_it_for_ever() {
    let with = |tolerations: &[&str]| {
        let world = idle()
            .claim("ml/gpu", &[GPU_0], tolerations)
            .pod("ml/train", &["gpu"])
            .rule("drain", GPU_0, "example.com/m:NoExecute");
        Scene::new(world, listed(&[USE])).objections()
    };
    let stays = vec![used(), claimed()];
    let leaves = vec![used(), RemovalObjection::TaintedAndInUse, claimed()];
    for (tolerations, expected) in [
        (&["example.com/m:NoExecute"][..], &stays),
        (&["example.com/m:NoExecute@300"], &leaves),
        // Without an effect it is good for the scheduler alone.
        (&["example.com/m:"], &leaves),
        (&["example.com/other:NoExecute"], &leaves),
    ] {
        assert_eq!(&with(tolerations), expected, "{tolerations:?}");
    }
}

#[test]
fn who_was_deleted_by_force_is_in_the_kubelets_notes_alone() {
    let mut scene = Scene::new(idle(), nobody());
    scene.prepared = Some(vec![noted(&[GPU_0])]);
    let prepared = RemovalObjection::Prepared {
        claim: name("ml/gpu"),
    };
    assert_eq!(scene.objections(), [prepared]);
    scene.prepared = None;
    assert_eq!(scene.objections(), [RemovalObjection::NotesUnread]);
    // Whom the kubelet lists is no other one.
    let mut listed = Scene::new(busy(), listed(&[USE]));
    listed.prepared = Some(vec![noted(&[GPU_0])]);
    assert_eq!(listed.objections(), [used(), claimed()]);
}

/// A node whose driver is away, so that its slices and the claim of a pod that was deleted by force are gone.
fn only_in_the_checkpoint(world: World) -> Scene {
    let mut scene = Scene::new(world, nobody());
    scene.prepared = Some(vec![noted(&[GPU_0])]);
    scene
}

#[test]
fn a_rule_taints_a_device_that_only_the_kubelet_knows() {
    let tainted = |scene: &Scene| {
        let found = scene.checks();
        let [one] = found.as_slice() else {
            panic!("{found:?}");
        };
        (one.is_tainted, one.objections.clone())
    };
    let others = [
        RemovalObjection::Prepared {
            claim: name("ml/gpu"),
        },
        RemovalObjection::DriverDown,
    ];
    for (rule, is_tainted) in [
        (Some((GPU_0, "example.com/m:NoExecute")), true),
        (Some((GPU_0, "example.com/m:NoSchedule")), true),
        (Some((GPU_0, "example.com/m:None")), false),
        (Some((GPU_1, "example.com/m:NoExecute")), false),
        (None, false),
    ] {
        let world = World::default();
        let world = match rule {
            Some((devices, taint)) => world.rule("pull", devices, taint),
            None => world,
        };
        let (found, mut objections) = tainted(&only_in_the_checkpoint(world));
        assert_eq!(found, Some(is_tainted), "{rule:?}");
        let untainted = objections
            .iter()
            .position(|one| *one == RemovalObjection::NotTainted);
        assert_eq!(untainted.is_none(), is_tainted, "{rule:?}");
        untainted.map(|place| objections.remove(place));
        assert_eq!(objections, others, "{rule:?}");
    }
}

#[test]
fn a_driver_that_has_not_said_what_it_prepares_may_hold_anything() {
    let maybe = || RemovalObjection::MayBePrepared {
        claim: name("ml/gpu"),
    };
    let unused = || RemovalObjection::ClaimedAndUnused {
        claim: name("ml/gpu"),
    };
    let with = |world: World, claim: PreparedClaim| {
        let mut scene = Scene::new(world, nobody());
        scene.prepared = Some(vec![claim]);
        let found = scene.checks().into_iter();
        found.map(|one| one.objections).collect::<Vec<_>>()
    };
    // Nobody but the notes knows the claim: its pod was deleted by force.
    assert_eq!(with(idle(), noted(&[])), [[maybe()], [maybe()]]);
    let mut of_others = noted(&[]);
    of_others.silent_drivers = vec!["nic.example.com".into()];
    assert_eq!(with(idle(), of_others), [[], []]);
    // The API knows which devices it has, as long as it is the claim of then.
    let claim = busy().snapshot.claims[0].clone();
    let user = claim.reserved_for[0].uid.clone();
    let of_now = || PreparedClaim {
        uid: claim.uid.clone(),
        pods: vec![user.clone()],
        ..noted(&[])
    };
    assert_eq!(with(busy(), of_now()), [vec![unused()], vec![]]);
    for other in [
        PreparedClaim {
            uid: "other".into(),
            ..of_now()
        },
        PreparedClaim {
            pods: vec![user.clone(), "gone".into()],
            ..of_now()
        },
        PreparedClaim {
            pods: Vec::new(),
            ..of_now()
        },
    ] {
        let expected = [vec![maybe(), unused()], vec![maybe()]];
        assert_eq!(with(busy(), other), expected);
    }
    let mut pending = busy();
    pending.snapshot.claims[0].allocation = None;
    assert_eq!(with(pending, of_now()), [[maybe()], [maybe()]]);
}

#[test]
fn a_driver_that_is_away_gives_nothing_back() {
    let mut scene = Scene::new(idle().claim("ml/gpu", &[GPU_0], &[]), listed(&[USE]));
    scene.reading.snapshot.slices.clear();
    assert!(scene.objections().contains(&RemovalObjection::DriverDown));
    scene.reading.known.remove(&Kind::ResourceSlice);
    assert!(
        scene
            .objections()
            .contains(&RemovalObjection::DriverUnknown)
    );
}

#[test]
fn what_could_not_be_read_speaks_against_every_device() {
    for kind in [Kind::ResourceClaim, Kind::Pod] {
        let mut scene = Scene::new(idle(), nobody());
        scene.reading.gaps.push(Gap::of(kind, "denied"));
        assert_eq!(scene.objections(), [RemovalObjection::Unread(kind)]);
    }
    // That a claim is missing is no news where claims could not be read.
    let mut scene = Scene::new(idle(), listed(&[USE]));
    scene
        .reading
        .gaps
        .push(Gap::of(Kind::ResourceClaim, "denied"));
    assert_eq!(
        scene.objections(),
        [used(), RemovalObjection::Unread(Kind::ResourceClaim)]
    );
}

#[test]
fn a_kubelet_that_cannot_speak_of_claims_is_no_witness() {
    // The gate is off: the pod is there, and no claim of anybody.
    let mut silent = listed(&[USE]);
    silent.pods[0].containers[0].claims.clear();
    let running = || busy().but_pod(|pod| pod.containers = Containers::Running);
    let blind = Scene::new(running(), silent.clone()).objections();
    assert!(blind.contains(&RemovalObjection::KubeletBlind), "{blind:?}");
    // A pod that was not started yet has prepared nothing.
    let early = busy().but_pod(|pod| pod.containers = Containers::Unknown);
    let early = Scene::new(early, silent).objections();
    assert!(
        !early.contains(&RemovalObjection::KubeletBlind),
        "{early:?}"
    );
}

#[test]
fn a_device_is_not_called_untainted_where_taints_were_not_read() {
    for kind in [Kind::DeviceTaintRule, Kind::ResourceSlice] {
        let untainted = World::default().slice("gpu.example.com/node-a", &[("gpu-0", &[])]);
        let mut scene = Scene::new(untainted, nobody());
        let known = scene.checks();
        assert!(known[0].objections.contains(&RemovalObjection::NotTainted));
        assert_eq!(known[0].is_tainted, Some(false));
        scene.reading.gaps = vec![Gap::of(kind, "denied")];
        let checks = scene.checks();
        assert_eq!(checks[0].objections, [RemovalObjection::Unread(kind)]);
        assert_eq!(checks[0].is_tainted, None);
    }
    // One taint that blocks is enough, whatever else there is.
    let mut scene = Scene::new(idle(), nobody());
    scene.reading.gaps = vec![Gap::of(Kind::DeviceTaintRule, "denied")];
    assert_eq!(scene.checks()[0].objections, []);
    assert_eq!(scene.checks()[0].is_tainted, Some(true));
}

#[test]
fn a_kubelet_that_may_be_another_nodes_frees_nothing() {
    let mut scene = Scene::new(idle(), nobody());
    scene.identity = KubeletIdentity::NotShown;
    let found = scene.checks();
    let objections = found.iter().map(|one| &one.objections[..]);
    let expected = [
        &[RemovalObjection::NodeUnproven][..],
        &[RemovalObjection::NodeUnproven],
    ];
    assert_eq!(objections.collect::<Vec<_>>(), expected);
}

/// The second device is a partition of the first: they draw from the same counters.
fn partitioned(mut world: World) -> World {
    for device in &mut world.snapshot.slices[0].devices {
        let consumes = vec![CounterUse {
            set: Arc::from("card-0"),
            ..CounterUse::default()
        }];
        device.terms = Some(Box::new(DeviceTerms {
            consumes,
            ..DeviceTerms::default()
        }));
    }
    world
}

/// A device of another driver on the same node, and the first device, have this number.
fn twice(mut world: World, number: (&str, &str)) -> World {
    world = world.slice("vfio.example.com/node-a", &[("card", &[TAINT])]);
    let value = || AttributeValue::String(Arc::from(number.1));
    for slice in &mut world.snapshot.slices {
        let device = &mut slice.devices[0];
        device.attributes.insert(Arc::from(number.0), value());
    }
    world
}

fn same_hardware(
    device: &str,
    link: HardwareLink,
    objection: RemovalObjection,
) -> RemovalObjection {
    RemovalObjection::SameHardware {
        device: device_id(device),
        link,
        objection: Box::new(objection),
    }
}

const VFIO: &str = "vfio.example.com/node-a/card";

#[test]
fn a_card_is_not_safe_to_pull_while_a_pod_uses_a_partition_of_it() {
    let of_part = ("ml/train", "ml/gpu", GPU_1);
    let world = partitioned(idle())
        .claim("ml/gpu", &[GPU_1], &[])
        .pod("ml/train", &["gpu"]);
    let scene = Scene::new(world, listed(&[of_part]));
    let through = |objection| same_hardware(GPU_1, HardwareLink::Counters, objection);
    assert_eq!(scene.objections(), [through(used()), through(claimed())]);
    // And to the kubelet's notes alone it is in use after the pod was deleted by force.
    let mut scene = Scene::new(partitioned(idle()), nobody());
    scene.prepared = Some(vec![noted(&[GPU_1])]);
    let prepared = RemovalObjection::Prepared {
        claim: name("ml/gpu"),
    };
    assert_eq!(scene.objections(), [through(prepared)]);
}

#[test]
fn a_device_of_another_driver_with_the_same_number_is_the_same_hardware() {
    for (attribute, value, number) in [
        ("uuid", "gpu-1", HardwareNumber::Uuid),
        (
            "resource.kubernetes.io/pciBusID",
            "0000:01:00.0",
            HardwareNumber::PciAddress,
        ),
        ("serial", "7", HardwareNumber::Serial),
    ] {
        let world = twice(busy(), (attribute, value));
        let scene = Scene::new(world, listed(&[USE]));
        let link = HardwareLink::Number(number, value.to_owned());
        let through = |objection| same_hardware(GPU_0, link.clone(), objection);
        let expected = [through(used()), through(claimed())];
        assert_eq!(scene.objections_to(VFIO), expected, "{attribute}");
    }
}

#[test]
fn what_is_held_and_not_published_may_be_any_hardware_of_the_node() {
    let elsewhere = "vfio.example.com/node-a/card";
    let world = idle()
        .claim("ml/gpu", &[elsewhere], &[])
        .pod("ml/train", &["gpu"]);
    let scene = Scene::new(world, listed(&[("ml/train", "ml/gpu", elsewhere)]));
    let device = device_id(elsewhere);
    assert_eq!(
        scene.objections(),
        [RemovalObjection::MayBeSameHardware { device }]
    );
}

#[test]
fn without_slices_no_driver_is_blamed_for_what_is_not_published() {
    let mut scene = Scene::new(busy(), listed(&[USE]));
    scene.reading.snapshot.slices.clear();
    let unread = Gap::of(Kind::ResourceSlice, "denied");
    scene.reading.gaps = vec![unread];
    let elsewhere = "vfio.example.com/node-a/card";
    let also = ("ml/other", "ml/card", elsewhere);
    scene.in_use = listed(&[USE, also]);
    for check in scene.checks() {
        let blames =
            |one: &RemovalObjection| matches!(one, RemovalObjection::MayBeSameHardware { .. });
        assert!(!check.objections.iter().any(blames), "{check:?}");
        let unread = RemovalObjection::Unread(Kind::ResourceSlice);
        assert!(check.objections.contains(&unread), "{check:?}");
    }
}

#[test]
fn what_is_idle_needs_a_taint_on_all_of_the_hardware() {
    let untainted = || {
        World::default().slice(
            "gpu.example.com/node-a",
            &[("gpu-0", &[TAINT]), ("gpu-1", &[])],
        )
    };
    let scene = Scene::new(untainted(), nobody());
    assert_eq!(scene.objections(), []);
    assert_eq!(scene.objections_to(GPU_1), [RemovalObjection::NotTainted]);
    let found = scene.checks();
    assert!(found[1].is_idle_and_not_tainted() && !found[0].is_idle_and_not_tainted());
    // A pod may be placed on the partition, which takes the card with it.
    let scene = Scene::new(partitioned(untainted()), nobody());
    let devices = vec![device_id(GPU_1)];
    assert_eq!(
        scene.objections(),
        [RemovalObjection::PartsNotTainted { devices }]
    );
    assert!(scene.checks()[0].is_idle_and_not_tainted());
    // An effect that keeps nobody off is none.
    let mut without = untainted();
    without.snapshot.slices[0].devices[0].taints[0].effect = "None".into();
    let scene = Scene::new(without, nobody());
    assert_eq!(scene.objections(), [RemovalObjection::NotTainted]);
    let in_use = Scene::new(busy(), listed(&[USE])).checks();
    assert!(!in_use[0].is_idle_and_not_tainted());
}

fn asking(class: &str, tolerations: &[&str]) -> Arc<ClaimSpec> {
    let terms = RequestTerms {
        class: class.into(),
        expressions: Vec::new(),
        amount: DeviceAmount::Exactly(1),
        admin_access: false,
        tolerations: tolerations.iter().map(|text| toleration(text)).collect(),
        capacity: BTreeMap::new(),
        is_more: false,
    };
    Arc::new(ClaimSpec {
        requests: vec![DeviceRequest {
            name: "gpu".into(),
            kind: RequestKind::Exactly(terms),
        }],
        constraints: Vec::new(),
    })
}

/// With a template, and a class for each driver.
fn with_template(mut world: World, spec: Arc<ClaimSpec>) -> World {
    let class = |driver: &str| DeviceClass {
        name: driver.into(),
        expressions: vec![format!("device.driver == {driver:?}")],
    };
    world.snapshot.classes = vec![class("gpu.example.com"), class("nic.example.com")];
    world.snapshot.templates.push(ResourceClaimTemplate {
        name: name("ml/of-deployment"),
        spec,
    });
    world
}

#[test]
fn who_tolerates_the_taint_for_scheduling_may_come_a_moment_later() {
    let by = TolerantClaim::Template(name("ml/of-deployment"));
    let comes = || vec![RemovalObjection::Tolerated { by: by.clone() }];
    for (case, class, tolerations, expected) in [
        (
            "tolerates",
            "gpu.example.com",
            &["example.com/pull:NoSchedule"][..],
            comes(),
        ),
        (
            "without effect",
            "gpu.example.com",
            &["example.com/pull:"],
            comes(),
        ),
        ("everything", "gpu.example.com", &[":"], comes()),
        (
            "a class that is not known",
            "gone.example.com",
            &[":"],
            comes(),
        ),
        (
            "another taint",
            "gpu.example.com",
            &["example.com/other:"],
            vec![],
        ),
        ("none", "gpu.example.com", &[], vec![]),
        ("another class", "nic.example.com", &[":"], vec![]),
    ] {
        let world = with_template(idle(), asking(class, tolerations));
        assert_eq!(Scene::new(world, nobody()).objections(), expected, "{case}");
    }
}

#[test]
fn a_claim_that_waits_and_tolerates_the_taint_may_get_the_device() {
    let mut world = idle().claim_of("ml/waits", None);
    world.snapshot.claims[0].spec = Some(asking("gpu.example.com", &[":"]));
    let by = TolerantClaim::Claim(name("ml/waits"));
    assert_eq!(
        Scene::new(world.clone(), nobody()).objections(),
        [RemovalObjection::Tolerated { by }]
    );
    // Templates that may not be read may hold anybody.
    let mut scene = Scene::new(idle(), nobody());
    scene
        .reading
        .gaps
        .push(Gap::of(Kind::ResourceClaimTemplate, "denied"));
    assert_eq!(
        scene.objections(),
        [RemovalObjection::Unread(Kind::ResourceClaimTemplate)]
    );
}

#[test]
fn a_device_that_a_waiting_claim_may_get_is_not_known_to_become_free() {
    let taint = Taint {
        key: "example.com/broken".to_owned(),
        value: String::new(),
        effect: Effect::NoExecute,
        time_added: None,
    };
    let now = crate::engine::testing::now();
    let selector = DeviceSelector::from(device_id(GPU_0));
    let proposed = [ProposedTaint::hypothetical(selector, taint, now)];
    let taken = |class: &str, tolerations: &[&str], is_waiting: bool| {
        let world =
            World::default().slice("gpu.example.com/node-a", &[("gpu-0", &[]), ("gpu-1", &[])]);
        let mut world = with_template(world, asking("gpu.example.com", &[":"]));
        if is_waiting {
            world = world.claim_of("ml/waits", None);
            world.snapshot.claims[0].spec = Some(asking(class, tolerations));
        }
        let impact = preview(&world.snapshot, &proposed, now, &Semantics::assumed());
        takeable(&world.snapshot, &impact)
    };
    let gpu_0: BTreeSet<DeviceId> = [device_id(GPU_0)].into();
    for (class, tolerations, is_waiting, expected) in [
        ("gpu.example.com", &[":"][..], true, &gpu_0),
        (
            "gpu.example.com",
            &["example.com/broken:NoExecute"],
            true,
            &gpu_0,
        ),
        (
            "gpu.example.com",
            &["example.com/broken:NoSchedule"],
            true,
            &BTreeSet::new(),
        ),
        ("gpu.example.com", &[], true, &BTreeSet::new()),
        ("nic.example.com", &[":"], true, &BTreeSet::new()),
        // Templates alone wait for nothing.
        ("gpu.example.com", &[":"], false, &BTreeSet::new()),
    ] {
        let found = taken(class, tolerations, is_waiting);
        assert_eq!(&found, expected, "{class} {tolerations:?} {is_waiting}");
    }
}

#[test]
fn what_was_not_idle_before_has_not_settled() {
    let idle_now = || Scene::new(idle(), nobody()).checks();
    let busy_before = Scene::new(busy(), listed(&[USE])).checks();
    let settled = |before: &[RemovalCheck]| {
        let now = idle_now().into_iter().map(|one| one.settled(before));
        now.map(|one| one.objections).collect::<Vec<_>>()
    };
    assert_eq!(settled(&idle_now()), [[], []]);
    assert_eq!(
        settled(&busy_before),
        [vec![RemovalObjection::NotSettled], vec![]]
    );
    assert_eq!(
        settled(&[]),
        [
            [RemovalObjection::NotSettled],
            [RemovalObjection::NotSettled]
        ]
    );
    let busy_now = Scene::new(busy(), listed(&[USE])).checks().remove(0);
    let objections = busy_now.objections.clone();
    assert_eq!(busy_now.settled(&idle_now()).objections, objections);
}
