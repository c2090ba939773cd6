//! Control planes that tests need.

/// A control plane to start. The default one serves every version of `resource.k8s.io` and runs
/// the two controllers that react to device taints, and the scheduler.
///
/// The controllers and the scheduler of Kubernetes 1.37 read `v1` alone. Where `v1` lacks something,
/// they would wait for it forever, so such variants leave them out and show only what a client sees.
#[derive(Clone, Debug)]
pub struct Variant {
    /// `VERSION` or `-VERSION/RESOURCE`, separated by commas.
    apis: &'static str,
    /// Feature gates that are not as the release has them.
    gates: &'static str,
    controllers: &'static str,
    scheduler: bool,
}

impl Default for Variant {
    fn default() -> Self {
        Self {
            apis: "v1,v1beta2,v1beta1,v1alpha3",
            gates: "",
            controllers: "device-taint-eviction-controller,resourceclaim-controller",
            scheduler: true,
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

    /// Serves the `apis`. No controllers, no scheduler.
    pub fn serving(apis: &'static str) -> Self {
        Self {
            apis,
            ..Self::idle()
        }
    }

    /// No controllers, no scheduler: everything stays as the test wrote it.
    pub fn idle() -> Self {
        Self::default().with_controllers("none").without_scheduler()
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
            gates: "DRADeviceTaintRules=true",
            ..Self::default()
        }
    }

    /// Configuration for rules in a server of 1.35.
    pub fn release_1_35() -> Self {
        Self {
            apis: "v1,v1alpha3",
            gates: "DRADeviceTaints=true,DRADeviceTaintRules=true",
            ..Self::default()
        }
    }

    /// Rules are served but nothing reacts to them: the gate `DRADeviceTaintRules` is off. Taints in
    /// slices still count.
    pub fn rules_ignored() -> Self {
        Self {
            gates: "DRADeviceTaintRules=false",
            ..Self::default().without_scheduler()
        }
    }

    /// Runs these controllers alone.
    pub fn with_controllers(self, controllers: &'static str) -> Self {
        Self {
            controllers,
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
        if self.controllers != "none" {
            result.push("kube-controller-manager");
        }
        if self.scheduler {
            result.push("kube-scheduler");
        }
        result
    }

    /// The flags of `controlplane up`.
    pub(super) fn flags(&self) -> [String; 4] {
        [
            format!("--apis={}", self.apis),
            format!("--feature-gates={}", self.gates),
            format!("--controllers={}", self.controllers),
            format!("--scheduler={}", self.scheduler),
        ]
    }
}
