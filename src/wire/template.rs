//! `ResourceClaimTemplate` as served by every version since `resource.k8s.io/v1beta2`.

use std::borrow::Cow;

use serde::Deserialize;

use super::context::Context;
use super::error::FieldError;
use super::meta::ObjectMeta;
use super::object::{Object, ToObject};
use super::request::ResourceClaimSpec;
use crate::model;

/// What the claims of pods ask for that are still to come.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimTemplate {
    /// Who it is.
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<ObjectMeta>,
    /// What each claim is made from.
    #[prost(message, optional, tag = "2")]
    pub spec: Option<ResourceClaimTemplateSpec>,
}

/// What a claim is made from.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimTemplateSpec {
    /// What it asks for.
    #[prost(message, optional, tag = "2")]
    pub spec: Option<ResourceClaimSpec>,
}

impl ToObject for ResourceClaimTemplate {
    fn metadata(&self) -> Option<Cow<'_, ObjectMeta>> {
        self.metadata.as_ref().map(Cow::Borrowed)
    }

    fn to_object(
        &self,
        metadata: &ObjectMeta,
        context: &mut Context,
    ) -> Result<Option<Object>, FieldError> {
        let spec = self
            .spec
            .as_ref()
            .and_then(|spec| spec.spec.as_ref())
            .map(|spec| spec.to_model(context))
            .unwrap_or_default();
        let template = model::ResourceClaimTemplate {
            name: metadata.namespaced_name(context)?,
            spec: context.share(spec),
        };
        Ok(Some(Object::ResourceClaimTemplate(template)))
    }
}
