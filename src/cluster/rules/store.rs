//! Rules of a live cluster: read with everything the server says about them, and changed.
//!
//! Every change names the state that it was decided on (`metadata.uid` and `resourceVersion`), and is
//! sent once. One whose answer was lost is not repeated: the rule is read again, and what it is then
//! decides what became of the change.

use std::sync::Arc;

use http::Method;
use serde_json::{Value, json};

use super::object::{MANAGER, RuleDraft, RulePatch};
use crate::cluster::client::request::{Change, JSON, Read};
use crate::cluster::client::retry::Failure;
use crate::cluster::client::write::Fate;
use crate::cluster::discovery::enablement;
use crate::cluster::read::lists::{escaped, path_of};
use crate::cluster::{ApiClient, ClusterError, Permission, Served};
use crate::model::{DeviceTaintRule, Kind};
use crate::wire::{Documents, Object, Version};

const MERGE_PATCH: &str = "application/merge-patch+json";

/// A rule as the server has it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRule {
    /// The object as it was served, with fields that this plugin does not know.
    pub object: Value,
    /// What this plugin knows of it.
    pub rule: DeviceTaintRule,
}

/// Whether a change is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// It is.
    Store,
    /// The server does everything but storing it (`dryRun=All`).
    DryRun,
}

/// The rules of one cluster, at the newest version that it serves.
#[derive(Clone, Debug)]
pub struct Rules {
    client: ApiClient,
    version: &'static Version,
}

impl Rules {
    /// The rules of the cluster that `served` describes.
    ///
    /// # Errors
    ///
    /// When it serves no rules.
    pub fn new(client: &ApiClient, served: &Served) -> Result<Self, ClusterError> {
        match served.version_of(Kind::DeviceTaintRule) {
            Some(version) => Ok(Self {
                client: client.clone(),
                version,
            }),
            None => Err(ClusterError::NotServed {
                server: Arc::clone(client.server()),
                kind: Kind::DeviceTaintRule,
                advice: enablement::how_to_serve_rules(served.version),
            }),
        }
    }

    /// The version at which rules are read and written.
    #[must_use]
    pub fn api_version(&self) -> &'static str {
        self.version.api_version
    }

    /// All rules, by name.
    ///
    /// # Errors
    ///
    /// As any read; also when the server sends a rule that cannot be understood.
    pub async fn list(&self) -> Result<Vec<StoredRule>, ClusterError> {
        let target = self.target("list", None, "");
        let body = self.client.json(&target).await?;
        let mut list: Value = self.understand(&target, &body)?;
        if list["metadata"]["continue"]
            .as_str()
            .is_some_and(|token| !token.is_empty())
        {
            return Err(self.unreadable(&target, "it is a part of the list".to_owned()));
        }
        let items = list["items"].as_array_mut().map(std::mem::take);
        let items = items.ok_or_else(|| self.unreadable(&target, "it has no items".to_owned()))?;
        let mut rules = Vec::new();
        for mut object in items {
            // Items of a list do not say what they are.
            object["apiVersion"] = json!(self.version.api_version);
            object["kind"] = json!(self.version.kind.as_str());
            rules.push(self.stored(&target, object)?);
        }
        rules.sort_by(|left, right| left.rule.name.cmp(&right.rule.name));
        Ok(rules)
    }

    /// The rule of that name, if there is one.
    ///
    /// # Errors
    ///
    /// As [`Rules::list`].
    pub async fn get(&self, name: &str) -> Result<Option<StoredRule>, ClusterError> {
        let target = self.target("get", Some(name), "");
        match self.client.json(&target).await {
            Ok(body) => Ok(Some(self.decode(&target, &body)?)),
            Err(ClusterError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes a rule, and returns it as the server has it then.
    ///
    /// # Errors
    ///
    /// [`ClusterError::AlreadyExists`], [`ClusterError::Invalid`], and as any request. A lost answer
    /// is no error if the rule is there afterwards.
    pub async fn create(
        &self,
        draft: &RuleDraft,
        mode: WriteMode,
    ) -> Result<StoredRule, ClusterError> {
        let object = draft.object(self.version.api_version);
        // Strict: a field that the server would drop may be the one that narrows the selector.
        let target = self.target("create", None, &query(mode, "&fieldValidation=Strict"));
        let named = format!("{}/{}", path_of(self.version, None), draft.name);
        let answer = self.send(&target, Method::POST, JSON, &object).await;
        let lost = match answer {
            Fate::Done(body) => return self.decode(&target, &body),
            Fate::Refused(error) => return Err(named_as(error, named)),
            Fate::Lost(error) => error,
        };
        match self.look(&draft.name, mode, lost).await? {
            (Some(found), _) if draft.is_spec_of(&found.rule) => Ok(found),
            (Some(_), _) => Err(ClusterError::AlreadyExists { path: named }),
            (None, lost) => Err(lost),
        }
    }

    /// Changes a rule that is still as `rule` says, and returns it as the server has it then.
    ///
    /// # Errors
    ///
    /// [`ClusterError::Conflict`] when it is not, [`ClusterError::NotFound`],
    /// [`ClusterError::Invalid`], and as any request. A lost answer is no error if the rule is as
    /// wanted afterwards.
    pub async fn patch(
        &self,
        rule: &DeviceTaintRule,
        patch: &RulePatch,
        mode: WriteMode,
    ) -> Result<StoredRule, ClusterError> {
        let name = rule.name.as_str();
        let target = self.target("patch", Some(name), &query(mode, ""));
        let answer = self
            .send(&target, Method::PATCH, MERGE_PATCH, &patch.body(rule))
            .await;
        let lost = match answer {
            Fate::Done(body) => return self.decode(&target, &body),
            Fate::Refused(error) => return Err(error),
            Fate::Lost(error) => error,
        };
        match self.look(name, mode, lost).await? {
            (None, _) => Err(ClusterError::NotFound { path: target.path }),
            (Some(found), _)
                if found.rule.uid == rule.uid && patch.is_fulfilled_by(&found.rule) =>
            {
                Ok(found)
            }
            (Some(_), lost) => Err(lost),
        }
    }

    /// Deletes a rule that is still as `rule` says.
    ///
    /// # Errors
    ///
    /// [`ClusterError::Conflict`] when it is not, [`ClusterError::NotFound`], and as any request. A
    /// lost answer is no error if the rule is gone afterwards.
    pub async fn delete(
        &self,
        rule: &DeviceTaintRule,
        mode: WriteMode,
    ) -> Result<(), ClusterError> {
        let name = rule.name.as_str();
        let target = self.target("delete", Some(name), "");
        let mut options = json!({
            "kind": "DeleteOptions", "apiVersion": "v1",
            "preconditions": {"uid": rule.uid.as_str(), "resourceVersion": rule.resource_version},
        });
        if mode == WriteMode::DryRun {
            options["dryRun"] = json!(["All"]);
        }
        let lost = match self.send(&target, Method::DELETE, JSON, &options).await {
            Fate::Done(_) => return Ok(()),
            Fate::Refused(error) => return Err(error),
            Fate::Lost(error) => error,
        };
        match self.look(name, mode, lost).await? {
            (Some(found), lost) if found.rule.uid == rule.uid => Err(lost),
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// The object after a change whose answer was lost, and why it was lost.
    async fn look(
        &self,
        name: &str,
        mode: WriteMode,
        lost: ClusterError,
    ) -> Result<(Option<StoredRule>, ClusterError), ClusterError> {
        if mode == WriteMode::DryRun {
            return Err(lost);
        }
        match self.get(name).await {
            Ok(found) => Ok((found, lost)),
            Err(error) => Err(ClusterError::Unresolved {
                path: format!("{}/{name}", path_of(self.version, None)),
                reason: format!("{lost}; {error}"),
            }),
        }
    }

    async fn send(
        &self,
        target: &Read,
        method: Method,
        content_type: &'static str,
        body: &Value,
    ) -> Fate {
        let change = Change {
            method,
            content_type,
            body: body.to_string().into_bytes(),
        };
        self.client.write(target, &change).await
    }

    fn target(&self, verb: &'static str, name: Option<&str>, query: &str) -> Read {
        let collection = path_of(self.version, None);
        let name = name.map_or(String::new(), |name| format!("/{}", escaped(name)));
        Read {
            path: format!("{collection}{name}{query}"),
            accept: JSON,
            permission: Permission::new(verb, self.version.kind),
        }
    }

    fn decode(&self, target: &Read, body: &[u8]) -> Result<StoredRule, ClusterError> {
        let object = self.understand(target, body)?;
        self.stored(target, object)
    }

    fn understand(&self, target: &Read, body: &[u8]) -> Result<Value, ClusterError> {
        serde_json::from_slice(body).map_err(|error| self.unreadable(target, error.to_string()))
    }

    fn stored(&self, target: &Read, object: Value) -> Result<StoredRule, ClusterError> {
        let mut documents = Documents::new();
        documents
            .decode_json(&object.to_string())
            .map_err(|error| self.unreadable(target, error.to_string()))?;
        let item = documents.finish().items.pop();
        match item.map(|item| item.object) {
            Some(Object::DeviceTaintRule(rule)) => Ok(StoredRule { object, rule }),
            Some(
                Object::ResourceSlice(_)
                | Object::ResourceClaim(_)
                | Object::Pod(_)
                | Object::DeviceClass(_),
            )
            | None => Err(self.unreadable(target, "it is not a rule".to_owned())),
        }
    }

    fn unreadable(&self, target: &Read, reason: String) -> ClusterError {
        self.client.error(target, Failure::Unreadable(reason))
    }
}

fn query(mode: WriteMode, more: &str) -> String {
    let dry_run = match mode {
        WriteMode::Store => "",
        WriteMode::DryRun => "&dryRun=All",
    };
    format!("?fieldManager={MANAGER}{dry_run}{more}")
}

/// The error about the object that could not be made, not about all of its kind.
fn named_as(error: ClusterError, path: String) -> ClusterError {
    if let ClusterError::Invalid { message, .. } = error {
        return ClusterError::Invalid { path, message };
    }
    if let ClusterError::AlreadyExists { .. } = error {
        return ClusterError::AlreadyExists { path };
    }
    error
}
