//! Checks before a device is pulled out of its node.

use std::sync::Arc;

use super::device_safety::ObstacleCode::{
    self, Claimed, DriverDown, InUse as Used, KubeletWithoutClaims, MayBePrepared, NodeNotVerified,
    NotSettled, NotTainted, Partition, Prepared, Terminating, Tolerated, Unread,
};
use super::device_safety::{DeviceUse, SafetyFacts, device_safety};
use crate::engine::Semantics;
use crate::engine::testing::reading;
use crate::engine::tests::world::{GPU_0, World, at, device_id, name, spec, with_template};
use crate::model::{
    ClaimInUse, ContainerInUse, Containers, CounterUse, DeviceTerms, Gap, InUse, Kind, PodInUse,
    PreparedClaim, Reading, SliceNodes,
};

const GPU_1: &str = "gpu.example.com/node-a/gpu-1";

/// A list of the kubelet: pods, each with a claim and its device.
fn listed(pods: &[(&str, &str, &str)]) -> InUse {
    let pod = |(pod, claim, device): &(&str, &str, &str)| PodInUse {
        name: name(pod),
        containers: vec![ContainerInUse {
            name: "main".to_owned(),
            plugin_devices: Vec::new(),
            claims: vec![ClaimInUse {
                name: name(claim),
                devices: vec![device_id(device)],
            }],
        }],
    };
    InUse {
        pods: pods.iter().map(pod).collect(),
    }
}

/// A cluster, and the answer of the kubelet of `node-a`.
struct Scene {
    reading: Reading,
    in_use: InUse,
    prepared: Option<Vec<PreparedClaim>>,
    is_verified: bool,
}

impl Scene {
    fn new(world: World, pods: &[(&str, &str, &str)]) -> Self {
        Self {
            reading: Reading {
                snapshot: world.snapshot,
                ..reading()
            },
            in_use: listed(pods),
            prepared: Some(Vec::new()),
            is_verified: true,
        }
    }

    fn checks(&self) -> Vec<DeviceUse> {
        device_safety(&SafetyFacts {
            reading: &self.reading,
            semantics: &Semantics::assumed(),
            node: &"node-a".into(),
            is_verified: self.is_verified,
            in_use: &self.in_use,
            prepared: self.prepared.as_deref(),
        })
    }

    /// The codes of the reasons against each device, by name.
    fn codes(&self) -> Vec<Vec<ObstacleCode>> {
        self.checks().iter().map(codes).collect()
    }

    /// The reasons against one device as text.
    fn messages(&self, device: &str) -> Vec<String> {
        let mut found = self.checks().into_iter();
        let of_it = found.find(|one| one.device == Some(device_id(device)));
        let reasons = of_it.expect("the device is known").reasons.into_iter();
        reasons.map(|one| one.message).collect()
    }

    fn lacking(mut self, kind: Kind) -> Self {
        self.reading.gaps.push(Gap::of(kind, "denied"));
        self
    }

    fn noting(mut self, claim: PreparedClaim) -> Self {
        self.prepared = Some(vec![claim]);
        self
    }
}

fn codes(check: &DeviceUse) -> Vec<ObstacleCode> {
    assert_eq!(check.safe_to_pull, Some(check.reasons.is_empty()));
    check.reasons.iter().map(|one| one.reason).collect()
}

/// A taint that keeps new pods off.
const TAINT: &str = "example.com/pull:NoSchedule";

/// Two published, idle devices that new pods do not get.
fn idle() -> World {
    let taint: &[&str] = &[TAINT];
    World::default().slice(
        "gpu.example.com/node-a",
        &[("gpu-0", taint), ("gpu-1", taint)],
    )
}

/// A pod uses the first of them.
fn busy() -> World {
    idle()
        .claim("ml/gpu", &[GPU_0], &[])
        .pod("ml/train", &["gpu"])
}

/// The claim in the kubelet's checkpoint, with these devices, or with none that the driver has named.
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
const SAFE: &[ObstacleCode] = &[];

#[test]
fn every_source_can_refuse_a_device() {
    let leaving = busy().but_pod(|pod| {
        pod.deletion = Some(crate::engine::testing::deletion(at(0), None));
    });
    let unreserved = || idle().claim("ml/gpu", &[GPU_0], &[]);
    for (case, world, pods, expected) in [
        ("idle", idle(), &[][..], SAFE),
        ("in use", busy(), &[USE], &[Used, Claimed]),
        ("free in the API", idle(), &[USE], &[Used]),
        ("not reserved", unreserved(), &[USE], &[Used, Claimed]),
        ("without container", unreserved(), &[], &[Claimed]),
        ("terminating", leaving, &[], &[Claimed, Terminating]),
    ] {
        assert_eq!(Scene::new(world, pods).codes(), [expected, SAFE], "{case}");
    }
    let scene = Scene::new(busy(), &[USE]);
    assert_eq!(
        scene.messages(GPU_0),
        [
            "container main of pod ml/train uses it through claim ml/gpu",
            "claim ml/gpu holds it for ml/train"
        ]
    );
    let users = &scene.checks()[0].users;
    assert_eq!(users.len(), 1, "{users:?}");
}

#[test]
fn force_deleted_pod_is_known_from_the_checkpoint_alone() {
    let scene = Scene::new(idle(), &[]).noting(noted(&[GPU_0]));
    assert_eq!(scene.codes(), [&[Prepared][..], SAFE]);
    // A listed pod is not force-deleted.
    let scene = Scene::new(busy(), &[USE]).noting(noted(&[GPU_0]));
    assert_eq!(scene.codes(), [&[Used, Claimed][..], SAFE]);
    let mut scene = Scene::new(idle(), &[]);
    scene.prepared = None;
    assert_eq!(scene.codes(), [[Unread], [Unread]]);
}

#[test]
fn device_that_only_the_kubelet_knows_is_checked_with_its_taints() {
    for (rule, is_tainted) in [
        (Some((GPU_0, "example.com/m:NoExecute")), true),
        (Some((GPU_0, "example.com/m:NoSchedule")), true),
        (Some((GPU_0, "example.com/m:None")), false),
        (Some((GPU_1, "example.com/m:NoExecute")), false),
        (None, false),
    ] {
        let world = match rule {
            Some((devices, taint)) => World::default().rule("pull", devices, taint),
            None => World::default(),
        };
        let found = Scene::new(world, &[]).noting(noted(&[GPU_0])).codes();
        let untainted: &[ObstacleCode] = &[Prepared, DriverDown, NotTainted];
        let expected = &untainted[..untainted.len() - usize::from(is_tainted)];
        assert_eq!(found, [expected], "{rule:?}");
    }
}

#[test]
fn driver_that_has_not_named_a_device_may_hold_any() {
    let with = |world: World, claim: PreparedClaim| Scene::new(world, &[]).noting(claim).codes();
    assert_eq!(with(idle(), noted(&[])), [[MayBePrepared], [MayBePrepared]]);
    let mut of_others = noted(&[]);
    of_others.silent_drivers = vec!["nic.example.com".into()];
    assert_eq!(with(idle(), of_others), [SAFE, SAFE]);
    // The API shows the devices of the same allocation.
    let claim = busy().snapshot.claims[0].clone();
    let user = claim.reserved_for[0].uid.clone();
    let same = || PreparedClaim {
        uid: claim.uid.clone(),
        pods: vec![user.clone()],
        ..noted(&[])
    };
    assert_eq!(with(busy(), same()), [&[Claimed][..], SAFE]);
    let other_uid = PreparedClaim {
        uid: "other".into(),
        ..same()
    };
    let other_pod = PreparedClaim {
        pods: vec![user.clone(), "gone".into()],
        ..same()
    };
    let no_pod = PreparedClaim {
        pods: Vec::new(),
        ..same()
    };
    for other in [other_uid, other_pod, no_pod] {
        let expected = [&[MayBePrepared, Claimed][..], &[MayBePrepared]];
        assert_eq!(with(busy(), other), expected);
    }
    let mut pending = busy();
    pending.snapshot.claims[0].allocation = None;
    assert_eq!(with(pending, same()), [[MayBePrepared], [MayBePrepared]]);
}

#[test]
fn driver_that_is_away_releases_nothing() {
    let mut scene = Scene::new(idle().claim("ml/gpu", &[GPU_0], &[]), &[USE]);
    scene.reading.snapshot.slices.clear();
    assert_eq!(scene.codes(), [[Used, Claimed, DriverDown, NotTainted]]);
    scene.reading.known.remove(&Kind::ResourceSlice);
    assert_eq!(scene.codes(), [[Used, Claimed, NotTainted, Unread]]);
    // A driver whose devices belong to no single node runs elsewhere.
    let mut world = idle()
        .claim("ml/gpu", &[GPU_0], &[])
        .pod("ml/train", &["gpu"]);
    world.snapshot.slices[0].nodes = SliceNodes::Several;
    assert_eq!(Scene::new(world, &[]).codes(), [[Claimed]]);
}

#[test]
fn unread_data_refuses_every_device() {
    for kind in [Kind::ResourceClaim, Kind::Pod, Kind::ResourceClaimTemplate] {
        let scene = Scene::new(idle(), &[]).lacking(kind);
        assert_eq!(scene.codes(), [[Unread], [Unread]], "{kind}");
    }
    let mut scene = Scene::new(idle(), &[]);
    scene.is_verified = false;
    assert_eq!(scene.codes(), [[NodeNotVerified], [NodeNotVerified]]);
}

#[test]
fn kubelet_that_cannot_list_claims_refuses_every_device() {
    let omitting = |containers: Containers| {
        let world = busy().but_pod(|pod| pod.containers = containers);
        let mut scene = Scene::new(world, &[USE]);
        scene.in_use.pods[0].containers[0].claims.clear();
        scene.codes()
    };
    let expected = [
        &[Claimed, KubeletWithoutClaims][..],
        &[KubeletWithoutClaims],
    ];
    assert_eq!(omitting(Containers::Running), expected);
    // A pod that has not started has no devices yet.
    assert_eq!(omitting(Containers::Unknown), [&[Claimed][..], SAFE]);
}

#[test]
fn device_needs_a_taint_that_is_known_to_block_pods() {
    let with = |taints: &[&str]| {
        let world = World::default().slice("gpu.example.com/node-a", &[("gpu-0", taints)]);
        Scene::new(world, &[])
    };
    assert_eq!(with(&[]).codes(), [[NotTainted]]);
    assert_eq!(with(&["example.com/pull:None"]).codes(), [[NotTainted]]);
    for kind in [Kind::DeviceTaintRule, Kind::ResourceSlice] {
        assert_eq!(with(&[]).lacking(kind).codes(), [[Unread]], "{kind}");
    }
    // One taint that blocks is enough, whatever other rules there are.
    assert_eq!(
        with(&[TAINT]).lacking(Kind::DeviceTaintRule).codes(),
        [SAFE]
    );
}

#[test]
fn pending_claim_or_template_that_tolerates_the_taint_may_take_the_device() {
    for (class, tolerations, expected) in [
        ("gpu.example.com", &[TAINT][..], &[Tolerated][..]),
        ("gpu.example.com", &["example.com/pull:"], &[Tolerated]),
        ("gpu.example.com", &[":"], &[Tolerated]),
        ("unknown.example.com", &[":"], &[Tolerated]),
        ("gpu.example.com", &["example.com/other:"], SAFE),
        ("gpu.example.com", &[], SAFE),
        ("nic.example.com", &[":"], SAFE),
    ] {
        let world = with_template(idle(), spec(class, tolerations));
        let found = Scene::new(world, &[]).codes();
        assert_eq!(found, [expected, expected], "{class} {tolerations:?}");
    }
    let mut world = idle().claim_of("ml/waits", None);
    world.snapshot.claims[0].spec = Some(spec("gpu.example.com", &[":"]));
    assert_eq!(Scene::new(world, &[]).codes(), [[Tolerated], [Tolerated]]);
}

/// The devices of the first slice consume counters of these sets, in turn.
fn counting(mut world: World, sets: &[&[&str]]) -> World {
    let devices = &mut world.snapshot.slices[0].devices;
    for (device, sets) in devices.iter_mut().zip(sets) {
        let consumes = sets.iter().map(|set| CounterUse {
            set: Arc::from(*set),
            ..CounterUse::default()
        });
        device.terms = Some(Box::new(DeviceTerms {
            consumes: consumes.collect(),
            ..DeviceTerms::default()
        }));
    }
    world
}

#[test]
fn device_is_not_safe_while_its_partition_is_not() {
    let of_part = ("ml/train", "ml/gpu", GPU_1);
    let card: &[&[&str]] = &[&["card-0"], &["card-0"]];
    let world = counting(idle(), card)
        .claim("ml/gpu", &[GPU_1], &[])
        .pod("ml/train", &["gpu"]);
    let scene = Scene::new(world, &[of_part]);
    assert_eq!(scene.codes(), [[Partition, Partition], [Used, Claimed]]);
    let messages = scene.messages(GPU_0).join("\n");
    assert!(
        messages.contains(GPU_1) && messages.contains("ml/train"),
        "{messages}"
    );
    let scene = Scene::new(counting(idle(), card), &[]).noting(noted(&[GPU_1]));
    assert_eq!(scene.codes(), [[Partition], [Prepared]]);
    // New pods may get the partition.
    let taints: [(&str, &[&str]); 2] = [("gpu-0", &[TAINT]), ("gpu-1", &[])];
    let untainted = World::default().slice("gpu.example.com/node-a", &taints);
    let scene = Scene::new(counting(untainted.clone(), card), &[]);
    assert_eq!(scene.codes(), [[Partition], [NotTainted]]);
    let scene = scene.lacking(Kind::DeviceTaintRule);
    assert_eq!(scene.codes(), [[Partition], [Unread]]);
    let apart: &[&[&str]] = &[&["card-0"], &["card-1"]];
    let scene = Scene::new(counting(untainted, apart), &[]);
    assert_eq!(scene.codes(), [SAFE, &[NotTainted]]);
}

#[test]
fn unpublished_device_in_use_may_be_a_partition_of_any_device_of_its_pool() {
    let unpublished = "gpu.example.com/node-a/mig-7";
    let uses = [("ml/train", "ml/gpu", unpublished)];
    let world = counting(idle(), &[&["card-0"], &[]]);
    // The second device has no partitions.
    let expected = [&[Partition, Partition][..], SAFE, &[Used, NotTainted]];
    assert_eq!(Scene::new(world, &uses).codes(), expected);
}

#[test]
fn device_is_safe_only_if_it_was_safe_before() {
    let before = |scene: Scene| {
        let before = scene.checks();
        let now = Scene::new(idle(), &[]).checks().into_iter();
        let settled = now.map(|one| one.settled(&before));
        settled.map(|one| codes(&one)).collect::<Vec<_>>()
    };
    assert_eq!(before(Scene::new(idle(), &[])), [SAFE, SAFE]);
    assert_eq!(
        before(Scene::new(busy(), &[USE])),
        [&[NotSettled][..], SAFE]
    );
    let unknown = before(Scene::new(World::default(), &[]));
    assert_eq!(unknown, [[NotSettled], [NotSettled]]);
    let safe_before = Scene::new(idle(), &[]).checks();
    let busy_now = Scene::new(busy(), &[USE]).checks().remove(0);
    assert_eq!(codes(&busy_now.settled(&safe_before)), [Used, Claimed]);
}
