//! `DeviceClass` as served by every version since `resource.k8s.io/v1beta1`.

use std::borrow::Cow;

use serde::Deserialize;

use super::context::Context;
use super::error::FieldError;
use super::meta::ObjectMeta;
use super::nullable::or_default;
use super::object::{Object, ToObject};
use crate::model;

/// A choice of devices that claims can name.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceClass {
    /// Who it is.
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ObjectMeta>,
    /// Which devices.
    #[prost(message, optional, tag = "2")]
    pub spec: Option<DeviceClassSpec>,
}

/// Which devices.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct DeviceClassSpec {
    /// All must hold.
    #[prost(message, repeated, tag = "1")]
    #[serde(default, deserialize_with = "or_default")]
    pub selectors: Vec<DeviceSelector>,
}

/// A condition on a device.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct DeviceSelector {
    /// The only sort of condition that there is.
    #[prost(message, optional, tag = "1")]
    pub cel: Option<CelDeviceSelector>,
}

/// A condition on a device, as an expression.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct CelDeviceSelector {
    /// In the Common Expression Language.
    #[prost(string, optional, tag = "1")]
    pub expression: Option<String>,
}

/// The expressions of those selectors that have one; upstream skips the others too.
pub(super) fn expressions(selectors: &[DeviceSelector]) -> Vec<String> {
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
        let selectors = self.spec.as_ref().map_or(&[][..], |spec| &spec.selectors);
        Ok(Some(Object::DeviceClass(model::DeviceClass {
            name: metadata.object_name(context)?,
            expressions: expressions(selectors),
        })))
    }
}
