//! Names and identities, one type each, so that a pool is never taken for a driver.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
        // Shared: the same names stand in thousands of devices and claims.
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as it stands in the API.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<Arc<str>> for $name {
            fn from(text: Arc<str>) -> Self {
                Self(text)
            }
        }

        // Sound, since the derived comparisons and the derived hash are those of the text.
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&self.0)
            }
        }
    };
}

name!(
    /// Name of a DRA driver, such as `gpu.example.com`.
    DriverName
);
name!(
    /// Name of a pool of devices; unique within its driver, may contain `/`.
    PoolName
);
name!(
    /// Name of a device; unique within its pool.
    DeviceName
);
name!(
    /// Name of a node.
    NodeName
);
name!(
    /// Name of a namespace.
    Namespace
);
name!(
    /// Name of any other object.
    ObjectName
);
name!(
    /// Identity of an object, which a later one of the same name does not share.
    Uid
);

/// One device of the cluster, printed `DRIVER/POOL/DEVICE` as Kubernetes does.
///
/// Upstream: `structured/schedulerapi` `DeviceID`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DeviceId {
    /// Driver that publishes the device.
    pub driver: DriverName,
    /// Pool that the device is part of.
    pub pool: PoolName,
    /// The device's name within the pool.
    pub device: DeviceName,
}

impl DeviceId {
    /// The device that is written DRIVER/POOL/DEVICE, as reports and records have it; absent where `text` has fewer parts.
    pub fn parse(text: &str) -> Option<Self> {
        let (driver, rest) = text.split_once('/')?;
        // The name of a pool may contain slashes, those of drivers and devices cannot.
        let (pool, device) = rest.rsplit_once('/')?;
        Some(Self {
            driver: driver.into(),
            pool: pool.into(),
            device: device.into(),
        })
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}/{}", self.driver, self.pool, self.device)
    }
}

/// Name of an object that lives in a namespace, printed `NAMESPACE/NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct NamespacedName {
    /// The namespace.
    pub namespace: Namespace,
    /// The name within it.
    pub name: ObjectName,
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}
