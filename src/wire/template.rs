//! `ResourceClaimTemplate` as served by every version since `resource.k8s.io/v1beta2`.

use std::borrow::Cow;

use super::context::Context;
use super::error::FieldError;
use super::message::message;
use super::meta::ObjectMeta;
use super::object::{Object, ToObject};
use super::request::ResourceClaimSpec;
use crate::model;

message! {
    /// Template of the claims of pods that are still to come.
    pub struct ResourceClaimTemplate {
        /// Metadata.
        metadata: optional ObjectMeta = 1,
        /// Template of each claim.
        spec: optional ResourceClaimTemplateSpec = 2,
    }

    /// Template of a claim.
    pub struct ResourceClaimTemplateSpec {
        /// Spec of the claim.
        spec: optional ResourceClaimSpec = 2,
    }
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
