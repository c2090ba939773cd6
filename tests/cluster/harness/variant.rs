//! Control planes that tests need.

/// A control plane to start. The default one serves every version of `resource.k8s.io` and runs
/// the two controllers that react to device taints, and the scheduler.
///
/// The controllers and the scheduler of Kubernetes 1.37 read `v1` alone. Where `v1` lacks something,
/// they would wait for it forever, so such variants leave them out and show only what a client sees.
#[derive(Clone, Debug)]
pub struct Variant {
    apis: &'static str,
    /// Feature gates that are not as the release has them.
    gates: Vec<(&'static str, bool)>,
    controllers: bool,
    only_controller: Option<&'static str>,
    scheduler: bool,
    older_policies: bool,
}

impl Default for Variant {
    fn default() -> Self {
        Self {
            apis: "v1,v1beta2,v1beta1,v1alpha3",
            gates: Vec::new(),
            controllers: true,
            only_controller: None,
            scheduler: true,
            older_policies: false,
        }
    }
}

impl Variant {
    /// APIs of 1.37 without any configuration: `v1` alone.
    pub fn unconfigured() -> Self {
        Self {
            apis: "v1",
            ..Self::default()
        }
    }

    /// Serves the `apis`: `VERSION`, `VERSION/RESOURCE` or `-VERSION/RESOURCE`, separated by commas, or
    /// `none`. No controllers, no scheduler.
    pub fn serving(apis: &'static str) -> Self {
        Self {
            apis,
            controllers: false,
            scheduler: false,
            ..Self::default()
        }
    }

    /// Rules and slices in `v1beta2` alone.
    pub fn only_v1beta2() -> Self {
        Self::serving("v1beta2")
    }

    /// Slices and claims in `v1`, rules in `v1alpha3`: a client sees this of 1.35.
    pub fn like_1_35() -> Self {
        Self::serving("v1,-v1/devicetaintrules,v1alpha3")
    }

    /// Slices and claims in `v1` and `v1beta2`, rules in `v1beta2`: a client sees this of 1.36.
    pub fn like_1_36() -> Self {
        Self::serving("v1,-v1/devicetaintrules,v1beta2")
    }

    /// Configuration for rules in a server of 1.36, whose components these have to be.
    pub fn release_1_36() -> Self {
        Self {
            apis: "v1,v1beta2",
            ..Self::default()
        }
        .with_gate_on("DRADeviceTaintRules")
    }

    /// Configuration for rules in a server of 1.35.
    pub fn release_1_35() -> Self {
        Self {
            apis: "v1,v1alpha3",
            ..Self::default()
        }
        .with_gate_on("DRADeviceTaints")
        .with_gate_on("DRADeviceTaintRules")
    }

    /// Slices and claims are served, rules are not.
    pub fn without_rules() -> Self {
        Self::serving("v1,-v1/devicetaintrules")
    }

    /// Nothing of `resource.k8s.io` is served.
    pub fn without_resource_group() -> Self {
        Self::serving("none")
    }

    /// Rules are served but nothing reacts to them: the gate `DRADeviceTaintRules` is off. Taints in
    /// slices still count.
    pub fn rules_ignored() -> Self {
        Self::default().with_gate_off("DRADeviceTaintRules")
    }

    /// Turns a feature gate off in all components.
    pub fn with_gate_off(mut self, gate: &'static str) -> Self {
        self.gates.push((gate, false));
        self
    }

    fn with_gate_on(mut self, gate: &'static str) -> Self {
        self.gates.push((gate, true));
        self
    }

    /// Leaves out the controllers: nothing evicts, nothing writes a condition, nothing makes claims.
    pub fn without_controllers(self) -> Self {
        Self {
            controllers: false,
            ..self
        }
    }

    /// Runs one controller alone.
    pub fn with_only_controller(self, name: &'static str) -> Self {
        Self {
            only_controller: Some(name),
            ..self
        }
    }

    /// Runs the controllers that a cluster with real nodes needs: for the readiness of nodes, and for garbage
    /// collection.
    pub fn with_nodes(self) -> Self {
        Self {
            only_controller: Some(
                "device-taint-eviction-controller,resourceclaim-controller,node-lifecycle-controller,garbage-collector-controller",
            ),
            ..self
        }
    }

    /// Serves the older versions of policies that change objects, too.
    pub fn with_older_policies(self) -> Self {
        Self {
            older_policies: true,
            ..self
        }
    }

    /// Leaves out the scheduler: pods and claims stay as the test wrote them.
    pub fn without_scheduler(self) -> Self {
        Self {
            scheduler: false,
            ..self
        }
    }

    /// The components that have to run or, as kubectl, to be there.
    pub(super) fn components(&self) -> Vec<&'static str> {
        let mut result = vec!["etcd", "kube-apiserver", "kubectl"];
        if self.controllers {
            result.push("kube-controller-manager");
        }
        if self.scheduler {
            result.push("kube-scheduler");
        }
        result
    }

    /// The flags of `controlplane up`.
    pub(super) fn flags(&self) -> Vec<String> {
        let mut result = vec![format!("--apis={}", self.apis)];
        if !self.gates.is_empty() {
            let gates: Vec<_> = self
                .gates
                .iter()
                .map(|(gate, on)| format!("{gate}={on}"))
                .collect();
            result.push(format!("--feature-gates={}", gates.join(",")));
        }
        if !self.controllers {
            result.push("--controllers=none".to_owned());
        } else if let Some(only) = self.only_controller {
            result.push(format!("--controllers={only}"));
        }
        if !self.scheduler {
            result.push("--scheduler=false".to_owned());
        }
        if self.older_policies {
            result.push("--older-policies".to_owned());
        }
        result
    }
}
