//! A kubelet that is asked from afar.

use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;

use crate::commands::work::debug_pod::DebugPodPlan;
use crate::completion::Values;
use crate::model::NamespacedName;
use crate::naming::duration::parse_duration;
use crate::naming::shell::word;

/// Flags that let a pod on a node ask the kubelet there.
#[derive(clap::Args, Debug)]
pub(crate) struct DebugPodArgs {
    /// Query the kubelet of NODE, through a temporary debug pod
    ///
    /// The pod runs as root, bypasses the scheduler, and mounts the kubelet's socket and checkpoint
    /// (dra_manager_state) read-only. The command deletes the pod at the end, also after Ctrl-C. Needs
    /// permission to create, get and delete pods, and to get pods/log.
    #[arg(
        long,
        value_name = "NODE",
        value_parser = NonEmptyStringValueParser::new(),
        requires = "debug_image",
        help_heading = "Kubelet",
        hide_short_help = true,
        add = Values::Nodes
    )]
    pub(crate) via_debug: Option<String>,

    /// Image of the debug pod; required with --via-debug
    ///
    /// The entry point of the image must be this program.
    #[arg(
        long,
        value_name = "IMAGE",
        value_parser = NonEmptyStringValueParser::new(),
        requires = "via_debug",
        help_heading = "Kubelet",
        hide_short_help = true
    )]
    pub(crate) debug_image: Option<String>,

    /// Namespace of the debug pod
    #[arg(
        long,
        value_name = "NAME",
        default_value = "default",
        value_parser = NonEmptyStringValueParser::new(),
        help_heading = "Kubelet",
        hide_short_help = true,
        add = Values::Namespaces
    )]
    pub(crate) debug_namespace: String,

    /// Timeout of the debug pod, including the image pull [default: 1m]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Kubelet", hide_short_help = true)]
    pub(crate) debug_timeout: Option<Duration>,
}

impl DebugPodArgs {
    /// The flags, to ask the same kubelet in the same way; absent without a pod.
    pub(crate) fn typed(&self) -> Option<String> {
        let (node, image) = (self.via_debug.as_ref()?, self.debug_image.as_ref()?);
        let namespace = match self.debug_namespace.as_str() {
            "default" => String::new(),
            other => format!(" --debug-namespace {other}"),
        };
        Some(format!(
            "--via-debug {} --debug-image {}{namespace}",
            word(node),
            word(image)
        ))
    }

    /// The pod that is wanted, if one is; the kubelet has this root folder.
    pub(crate) fn plan(&self, root: &str) -> Option<DebugPodPlan> {
        let (Some(node), Some(image)) = (&self.via_debug, &self.debug_image) else {
            return None;
        };
        Some(DebugPodPlan {
            node: node.clone(),
            namespace: self.debug_namespace.clone(),
            image: image.clone(),
            root: root.to_owned(),
            timeout: self.debug_timeout,
        })
    }
}

/// A pod as NAMESPACE/POD.
pub(crate) fn pod_of_namespace(text: &str) -> Result<NamespacedName, String> {
    match text.split_once('/') {
        Some((namespace, name))
            if !namespace.is_empty() && !name.is_empty() && !name.contains('/') =>
        {
            Ok(NamespacedName {
                namespace: namespace.into(),
                name: name.into(),
            })
        }
        Some(_) | None => Err("use NAMESPACE/POD".to_owned()),
    }
}
