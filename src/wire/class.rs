//! `DeviceClass` as served by every version since `resource.k8s.io/v1beta2`.

use std::borrow::Cow;

use super::context::Context;
use super::error::FieldError;
use super::message::message;
use super::meta::ObjectMeta;
use super::object::{Object, ToObject};
use crate::model;

message! {
    /// A choice of devices that claims can name.
    pub struct DeviceClass {
        /// Metadata.
        metadata: optional ObjectMeta = 1,
        /// Devices.
        spec: optional DeviceClassSpec = 2,
    }

    /// Devices of a class.
    pub struct DeviceClassSpec {
        /// All must hold.
        selectors: repeated DeviceSelector = 1,
        /// The extended resource that the devices serve; since 1.34.
        extended_resource_name: optional string = 4,
    }

    /// A condition on a device.
    pub struct DeviceSelector {
        /// The only kind of condition that there is.
        cel: optional CelDeviceSelector = 1,
    }

    /// A condition on a device, as an expression.
    pub struct CelDeviceSelector {
        /// In the Common Expression Language.
        expression: optional string = 1,
    }
}

/// The expressions of those selectors that have one; upstream skips the others too.
fn expressions(selectors: &[DeviceSelector]) -> Vec<String> {
    selectors
        .iter()
        .filter_map(|selector| selector.cel.as_ref())
        // An empty expression is kept: it does not compile, which differs from having no condition.
        .map(|cel| cel.expression.clone().unwrap_or_default())
        .collect()
}

impl ToObject for DeviceClass {
    fn metadata(&self) -> Option<Cow<'_, ObjectMeta>> {
        self.metadata.as_ref().map(Cow::Borrowed)
    }

    fn to_object(
        &self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let spec = self.spec.as_ref();
        let selectors = spec.map_or(&[][..], |spec| &spec.selectors);
        let extended = spec.and_then(|spec| spec.extended_resource_name.clone());
        Ok(Some(Object::DeviceClass(model::DeviceClass {
            name: metadata.object_name(context)?,
            expressions: expressions(selectors),
            extended_resource: extended.filter(|name| !name.is_empty()),
        })))
    }
}
