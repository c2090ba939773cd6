//! A small cluster to look at, and a way to look.

use std::{
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::harness::{
    ControlPlane, PLUGIN, driver_name,
    objects::{allocation, bound, claim, pod, reserved, rule, slice},
};

/// Two devices on a node, each held by a claim that a pod uses. The second claim tolerates everything
/// for five minutes. A rule makes the second device unschedulable.
pub struct Scene<'a> {
    pub plane: &'a ControlPlane,
    pub driver: String,
    pub namespace: String,
}

/// In which versions to write the objects.
#[derive(Clone, Copy, Debug)]
pub struct Versions {
    pub devices: &'static str,
    /// Absent when there are to be no rules.
    pub rules: Option<&'static str>,
}

pub const V1: Versions = Versions {
    devices: "v1",
    rules: Some("v1"),
};

impl<'a> Scene<'a> {
    pub async fn new(plane: &'a ControlPlane, versions: Versions) -> Self {
        let (driver, namespace) = (driver_name(), plane.namespace().await);
        let mut objects = vec![slice(&driver, &driver, &["gpu-0", "gpu-1"])];
        for (number, device) in ["gpu-0", "gpu-1"].into_iter().enumerate() {
            let name = format!("train-{number}");
            let mut status = allocation(&driver, &driver, device);
            if number == 1 {
                status["allocation"]["devices"]["results"][0]["tolerations"] =
                    json!([{"operator": "Exists", "tolerationSeconds": 300}]);
            }
            objects.push(reserved(claim(&namespace, &name, &driver), status, &name));
            objects.push(bound(pod(&namespace, &name, &name), &driver));
        }
        if let Some(version) = versions.rules {
            let mut rule = rule(&driver, &driver, "NoSchedule");
            rule["apiVersion"] = json!(format!("resource.k8s.io/{version}"));
            rule["spec"]["deviceSelector"]["device"] = json!("gpu-1");
            objects.push(rule);
        }
        let objects: Vec<Value> = objects
            .into_iter()
            .map(|object| at_version(object, versions.devices))
            .collect();
        plane.create(&objects).await;
        Self {
            plane,
            driver,
            namespace,
        }
    }

    /// The plugin's whole output, with names that differ from run to run replaced.
    pub fn run(&self, kubeconfig: &Path, arguments: &[&str]) -> String {
        let output = self.output(kubeconfig, arguments);
        self.shown(&output)
    }

    pub fn output(&self, kubeconfig: &Path, arguments: &[&str]) -> Output {
        self.command(kubeconfig, arguments)
            .output()
            .expect("the plugin can be run")
    }

    pub fn command(&self, kubeconfig: &Path, arguments: &[&str]) -> Command {
        let mut command = self.plane.command(PLUGIN);
        command.args(arguments).env("KUBECONFIG", kubeconfig);
        command
    }

    pub fn shown(&self, output: &Output) -> String {
        let text = format!(
            "{}{}[exit status: {}]",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
            output.status.code().unwrap_or(-1)
        );
        text.replace(&self.driver, "DRIVER")
            .replace(&self.namespace, "NAMESPACE")
            .replace(self.plane.server(), "SERVER")
    }
}

/// The object as an older version has it.
fn at_version(mut object: Value, version: &str) -> Value {
    if object["kind"] == "DeviceTaintRule" || object["apiVersion"] == "v1" {
        return object;
    }
    object["apiVersion"] = json!(format!("resource.k8s.io/{version}"));
    object
}

/// Output of a successful command, as JSON.
pub fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!(
            "{error}: {} {}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    })
}
