//! A cluster in which a step of an engine is run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::cluster::rules::support::{KEY, Run, World};
use crate::harness::{ControlPlane, Reference, block_on, path_with, random_suffix};

/// A device with a pod on it, a folder to work in, and a kubeconfig with two contexts.
pub struct Scene {
    pub world: World<'static>,
    folder: tempfile::TempDir,
}

impl Scene {
    pub fn new() -> Self {
        let plane = ControlPlane::shared();
        let world = block_on(World::new(plane));
        block_on(world.pod("train", "gpu-0"));
        let folder = tempfile::tempdir().expect("a folder");
        let text = std::fs::read_to_string(plane.kubeconfig()).expect("a kubeconfig");
        let mut config: Value = serde_yaml::from_str(&text).expect("YAML");
        for name in ["prod-eu", "prod-us"] {
            let mut context = config["contexts"][0].clone();
            context["name"] = name.into();
            config["contexts"]
                .as_array_mut()
                .expect("contexts")
                .push(context);
        }
        let scene = Self { world, folder };
        std::fs::write(scene.path("config"), config.to_string()).expect("a kubeconfig");
        scene
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.path(name));
        text.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn device(&self) -> String {
        self.world.device("gpu-0")
    }

    /// All devices of the scene.
    pub fn devices(&self) -> String {
        self.world.driver.clone()
    }

    /// A name for a drain that no other test has.
    pub fn drain(&self) -> String {
        self.world.namespace.clone()
    }

    /// Ends the pod and frees its devices, as a kubelet and its controllers would.
    pub fn free(&self) {
        block_on(async {
            let (plane, namespace) = (self.world.plane, &self.world.namespace);
            plane.end_pod(namespace, "train").await;
            // The scheduler, which gives claims back, has not allocated this one.
            plane.delete(&Reference::claim(namespace, "train")).await;
        });
    }

    pub fn taint(&self) -> String {
        format!("{KEY}=firmware")
    }

    /// A program that finds kubectl, the plugin and the kubeconfig; `first` is looked in before all.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>, first: &[&Path]) -> Command {
        let mut command = self.world.plane.command(program);
        let path = self.world.plane.path_with_plugin();
        let mut folders: Vec<PathBuf> = first.iter().map(PathBuf::from).collect();
        folders.extend(std::env::split_paths(&path));
        let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        command
            .env("PATH", path_with(&folders))
            .env("KUBECONFIG", self.path("config"))
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs a step's script in a shell, with these variables.
    pub fn run(&self, shell: &str, script: &str, variables: &BTreeMap<String, String>) -> Run {
        self.run_with(shell, script, variables, &[])
    }

    /// As [`Scene::run`], with programs in `first` that replace others.
    pub fn run_with(
        &self,
        shell: &str,
        script: &str,
        variables: &BTreeMap<String, String>,
        first: &[&Path],
    ) -> Run {
        let file = self.path(&format!("step-{}", random_suffix()));
        std::fs::write(&file, script).expect("a script");
        let mut command = self.command(shell, first);
        command.arg(&file).envs(variables);
        command.output().expect("a shell").into()
    }

    /// Runs `work` while the pod that it evicts comes to its end, as with a kubelet.
    pub fn while_evicted<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let ending = scope.spawn(|| {
                block_on(async {
                    let (plane, namespace) = (self.world.plane, &self.world.namespace);
                    self.world.until_evicted("train").await;
                    plane.end_pod(namespace, "train").await;
                });
            });
            let done = work();
            ending.join().expect("no panic");
            done
        })
    }

    /// The effects of the rules on the device.
    pub fn effects(&self) -> Vec<String> {
        let rules = block_on(self.world.rules());
        let effects = rules
            .iter()
            .map(|rule| rule["spec"]["taint"]["effect"].as_str());
        effects
            .map(|effect| effect.unwrap_or_default().to_owned())
            .collect()
    }

    /// A rule as it would lie in a repository.
    pub fn manifest(&self) -> String {
        let rule = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule",
            "metadata": {"name": format!("proposed-{}", random_suffix())},
            "spec": {
                "deviceSelector": {
                    "driver": self.world.driver, "pool": self.world.node, "device": "gpu-0",
                },
                "taint": {"key": KEY, "value": "firmware", "effect": "NoExecute"},
            },
        });
        rule.to_string()
    }
}
