//! May a device be pulled out of its node?

use std::collections::BTreeMap;

use super::world::{GPU_0, World, device_id, name};
use crate::engine::Semantics;
use crate::engine::pulling::{
    Identity, Objection, Testimony, Witnesses, still_held, strangers, testimonies,
};
use crate::model::{
    ClaimInUse, ContainerInUse, Containers, Deletion, DeviceInUse, Dialect, Gap, InUse, Kind,
    PodInUse, PreparedClaim, Reading, Source,
};

const GPU_1: &str = "gpu.example.com/node-a/gpu-1";

/// What the kubelet lists: pods, each with a claim and its device.
fn listed(pods: &[(&str, &str, &str)]) -> InUse {
    let pod = |(pod, claim, device): &(&str, &str, &str)| PodInUse {
        name: name(pod),
        containers: vec![ContainerInUse {
            name: "main".to_owned(),
            plugin_devices: Vec::new(),
            cpus: Vec::new(),
            memory: Vec::new(),
            claims: vec![ClaimInUse {
                name: name(claim),
                devices: vec![DeviceInUse {
                    device: device_id(device),
                    share_id: None,
                    cdi_devices: Vec::new(),
                }],
            }],
        }],
        cpus: Vec::new(),
        memory: Vec::new(),
    };
    InUse {
        dialect: Dialect::V1,
        pods: pods.iter().map(pod).collect(),
    }
}

/// A cluster, and what the kubelet of `node-a` says.
struct Scene {
    reading: Reading,
    in_use: InUse,
    prepared: Option<Vec<PreparedClaim>>,
    identity: Identity,
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
            identity: Identity::Shown,
        }
    }

    fn testimonies(&self) -> Vec<Testimony> {
        self.with(testimonies)
    }

    fn with<T>(&self, ask: impl FnOnce(&Witnesses<'_>) -> T) -> T {
        ask(&Witnesses {
            reading: &self.reading,
            semantics: &Semantics::newest(),
            node: &"node-a".into(),
            in_use: &self.in_use,
            prepared: self.prepared.as_deref(),
            identity: self.identity,
        })
    }

    /// What speaks against the first GPU.
    fn objections(&self) -> Vec<Objection> {
        let found = self.testimonies().into_iter();
        let mut of_gpu = found.filter(|one| one.device == device_id(GPU_0));
        of_gpu.next().expect("the device is known").objections
    }
}

/// Two devices that are published and idle.
fn idle() -> World {
    World::default().slice("gpu.example.com/node-a", &[("gpu-0", &[]), ("gpu-1", &[])])
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

fn claimed() -> Objection {
    Objection::Claimed {
        claim: name("ml/gpu"),
    }
}

fn used() -> Objection {
    Objection::InUse {
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
    let found = Scene::new(idle(), nobody()).testimonies();
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
            vec![used(), Objection::InUseAndFree { pod: pod() }],
        ),
        (
            "another claim holds it",
            idle().claim("ml/other", &[GPU_0], &[]),
            listed(&[USE]),
            vec![
                used(),
                Objection::InUseAndFree { pod: pod() },
                Objection::Claimed {
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
                Objection::NotReserved {
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
            vec![Objection::ClaimedAndUnused { claim: claim() }],
        ),
        (
            "leaving",
            leaving,
            listed(&[USE]),
            vec![used(), claimed(), Objection::Leaving { pod: pod() }],
        ),
        (
            "tainted",
            tainted,
            listed(&[USE]),
            vec![used(), Objection::TaintedAndInUse, claimed()],
        ),
    ] {
        assert_eq!(Scene::new(world, in_use).objections(), expected, "{case}");
    }
}

#[test]
fn who_was_deleted_by_force_is_in_the_kubelets_notes_alone() {
    let mut scene = Scene::new(idle(), nobody());
    scene.prepared = Some(vec![noted(&[GPU_0])]);
    let prepared = Objection::Prepared {
        claim: name("ml/gpu"),
    };
    assert_eq!(scene.objections(), [prepared]);
    scene.prepared = None;
    assert_eq!(scene.objections(), [Objection::NotesUnread]);
    // Whom the kubelet lists is no other one.
    let mut listed = Scene::new(busy(), listed(&[USE]));
    listed.prepared = Some(vec![noted(&[GPU_0])]);
    assert_eq!(listed.objections(), [used(), claimed()]);
}

#[test]
fn a_driver_that_has_not_said_what_it_prepares_may_hold_anything() {
    let maybe = || Objection::MayBePrepared {
        claim: name("ml/gpu"),
    };
    let unused = || Objection::ClaimedAndUnused {
        claim: name("ml/gpu"),
    };
    let with = |world: World, claim: PreparedClaim| {
        let mut scene = Scene::new(world, nobody());
        scene.prepared = Some(vec![claim]);
        let found = scene.testimonies().into_iter();
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
fn a_wait_hears_of_claims_without_devices_where_their_driver_is_selected() {
    let rules = |world: World| world.snapshot.rules;
    let held = |rules: &[_], claim| still_held(rules, &nobody(), &[claim]);
    let rule = rules(idle().rule("drain", GPU_0, "example.com/m:NoExecute"));
    assert_eq!(held(&rule, noted(&[GPU_1])), []);
    assert_eq!(held(&rule, noted(&[GPU_0])).len(), 1);
    let found = held(&rule, noted(&[]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0.to_string(), "gpu.example.com/*/*");
    let mut other = noted(&[]);
    other.silent_drivers = vec!["nic.example.com".into()];
    assert_eq!(held(&rule, other.clone()), []);
    let mut any = rule;
    any[0].selector = None;
    assert_eq!(held(&any, other).len(), 1);
    assert_eq!(held(&[], noted(&[])), []);
}

#[test]
fn a_driver_that_is_away_gives_nothing_back() {
    let mut scene = Scene::new(idle().claim("ml/gpu", &[GPU_0], &[]), listed(&[USE]));
    scene.reading.snapshot.slices.clear();
    assert!(scene.objections().contains(&Objection::DriverDown));
    scene.reading.known.remove(&Kind::ResourceSlice);
    assert!(scene.objections().contains(&Objection::DriverUnknown));
}

#[test]
fn what_could_not_be_read_speaks_against_every_device() {
    for kind in [Kind::ResourceClaim, Kind::Pod] {
        let mut scene = Scene::new(idle(), nobody());
        scene.reading.gaps.push(Gap::of(kind, "denied"));
        assert_eq!(scene.objections(), [Objection::Unread(kind)]);
    }
    // That a claim is missing is no news where claims could not be read.
    let mut scene = Scene::new(idle(), listed(&[USE]));
    scene
        .reading
        .gaps
        .push(Gap::of(Kind::ResourceClaim, "denied"));
    assert_eq!(
        scene.objections(),
        [used(), Objection::Unread(Kind::ResourceClaim)]
    );
}

#[test]
fn a_kubelet_that_cannot_speak_of_claims_is_no_witness() {
    let mut old = Scene::new(idle(), nobody());
    old.in_use.dialect = Dialect::V1Alpha1;
    assert_eq!(old.objections(), [Objection::KubeletBlind]);
    // The gate is off: the pod is there, and no claim of anybody.
    let mut silent = listed(&[USE]);
    silent.pods[0].containers[0].claims.clear();
    let running = || busy().but_pod(|pod| pod.containers = Containers::Running);
    let blind = Scene::new(running(), silent.clone()).objections();
    assert!(blind.contains(&Objection::KubeletBlind), "{blind:?}");
    // A pod that was not started yet has prepared nothing.
    let early = busy().but_pod(|pod| pod.containers = Containers::Unknown);
    let early = Scene::new(early, silent).objections();
    assert!(!early.contains(&Objection::KubeletBlind), "{early:?}");
}

#[test]
fn a_kubelet_that_may_be_another_nodes_frees_nothing() {
    let mut scene = Scene::new(idle(), nobody());
    scene.identity = Identity::NotShown;
    let found = scene.testimonies();
    let objections = found.iter().map(|one| &one.objections[..]);
    let expected = [&[Objection::NodeUnproven][..], &[Objection::NodeUnproven]];
    assert_eq!(objections.collect::<Vec<_>>(), expected);
}

#[test]
fn a_kubelet_of_another_node_is_noticed_by_its_pods() {
    let here = Scene::new(busy(), listed(&[USE]));
    assert_eq!(here.with(|witnesses| strangers(witnesses).len()), 0);
    let elsewhere = busy().but_pod(|pod| pod.node = Some("node-b".into()));
    let elsewhere = Scene::new(elsewhere, listed(&[USE]));
    let found = elsewhere.with(|witnesses| {
        let found = strangers(witnesses);
        found
            .iter()
            .map(|(pod, node)| format!("{pod} {node}"))
            .collect::<Vec<_>>()
    });
    assert_eq!(found, ["ml/train node-b"]);
}
