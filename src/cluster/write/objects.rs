//! The objects of one kind in one cluster.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::Value;

use crate::cluster::client::ApiClient;
use crate::cluster::client::api::AttemptFailure;
use crate::cluster::client::target::{Read, escaped, path_of};
use crate::cluster::discovery::{ServedKinds, how_to_serve};
use crate::cluster::error::ClusterError;
use crate::cluster::permission::Permission;
use crate::cluster::read::lists::{List, Listing, Selection};
use crate::cluster::read::read_devices_beside;
use crate::model::{DeviceTaintRule, Kind, Reading};
use crate::wire::{Decoded, Detail, Fact, ListMeta, Object, Version, versions_of};

/// The objects of one kind, at the newest version that the server has: read with everything that it
/// says about them, and changed.
#[derive(Debug)]
pub struct Objects<T> {
    pub(super) client: ApiClient,
    pub(super) version: &'static Version,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Objects<T> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            version: self.version,
            kind: PhantomData,
        }
    }
}

/// All objects that could be understood, and why others could not be.
#[derive(Debug)]
pub struct Listed<T> {
    /// Objects that could be decoded, in the server's order.
    pub objects: Vec<Stored<T>>,
    /// Errors of the other objects, each with its name.
    pub odd: Vec<ClusterError>,
    /// Metadata of the list.
    pub(crate) metadata: ListMeta,
}

impl Objects<Untyped> {
    /// The objects of a kind, of which only their JSON is looked at.
    ///
    /// # Errors
    ///
    /// When the cluster that `served` describes does not serve the kind.
    pub fn untyped(
        client: &ApiClient,
        served: &ServedKinds,
        kind: Kind,
    ) -> Result<Self, ClusterError> {
        Self::of_kind(client, served, kind)
    }
}

/// The version of the API in which an object of `kind` is written if no server says what it serves.
pub fn preferred_version(kind: Kind) -> &'static str {
    versions_of(kind)
        .next()
        .map_or("", |version| version.api_version)
}

impl<T: Fact> Objects<T> {
    /// The objects of the cluster that `served` describes.
    ///
    /// # Errors
    ///
    /// When it does not serve the kind.
    pub fn new(client: &ApiClient, served: &ServedKinds) -> Result<Self, ClusterError> {
        Self::of_kind(client, served, T::KIND)
    }

    /// The objects of a cluster whose served versions are unknown: at the first version at which
    /// one of `names` is found. `None` when none is.
    pub async fn found_by(client: &ApiClient, names: &[String]) -> Option<Self> {
        for version in versions_of(T::KIND) {
            let objects = Self {
                client: client.clone(),
                version,
                kind: PhantomData,
            };
            for name in names {
                if let Ok(Some(_)) = objects.get(name).await {
                    return Some(objects);
                }
            }
        }
        None
    }
}

impl<T: Known> Objects<T> {
    /// The objects of a kind of the cluster that `served` describes.
    ///
    /// # Errors
    ///
    /// When it does not serve the kind.
    pub(super) fn of_kind(
        client: &ApiClient,
        served: &ServedKinds,
        kind: Kind,
    ) -> Result<Self, ClusterError> {
        match served.version_of(kind) {
            Some(version) => Ok(Self {
                client: client.clone(),
                version,
                kind: PhantomData,
            }),
            None => Err(ClusterError::NotServed {
                server: Arc::clone(client.server()),
                kind,
                advice: how_to_serve(kind, served.version),
            }),
        }
    }

    /// The version at which they are read and written.
    pub fn api_version(&self) -> &'static str {
        self.version.api_version
    }

    /// All objects, in the server's order; one that cannot be decoded does not hide the others.
    ///
    /// # Errors
    ///
    /// As any list: an answer that is not a whole list of this kind is none.
    pub async fn list(&self) -> Result<Listed<T>, ClusterError> {
        let (selection, detail) = (Selection::All, Detail::Attributes);
        let listing = Listing::new(&self.client, self.version, selection, detail);
        let mut listed = Listed {
            objects: Vec::new(),
            odd: Vec::new(),
            metadata: ListMeta::default(),
        };
        // With all fields: the outcome of a change is judged on the stored object, not on its decoded fields.
        let list = listing.served(|_| true).await?;
        listed.metadata = list.metadata;
        for object in list.items {
            let target = self.target("list", None);
            match stored_object(self.version, object.get().as_bytes()) {
                Ok(stored) => listed.objects.push(stored),
                Err(reason) => listed.odd.push(self.unreadable(&target, reason)),
            }
        }
        Ok(listed)
    }

    /// The object of that name, if there is one.
    ///
    /// # Errors
    ///
    /// As any read; also when it cannot be understood, or has another name.
    pub async fn get(&self, name: &str) -> Result<Option<Stored<T>>, ClusterError> {
        let target = self.target("get", Some(name));
        match self.client.json(&target).await {
            Ok(body) => named(self.version, name, &body)
                .map(Some)
                .map_err(|reason| self.unreadable(&target, reason)),
            Err(ClusterError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{}", path_of(self.version, None), escaped(name))
    }

    fn target(&self, verb: &'static str, name: Option<&str>) -> Read {
        let path = name.map_or_else(|| path_of(self.version, None), |name| self.path(name));
        Read::json(path, Permission::new(verb, self.version.kind))
    }

    pub(super) fn unreadable(&self, target: &Read, reason: String) -> ClusterError {
        self.client
            .error(target, AttemptFailure::Unreadable(reason))
    }
}

/// An object as the server has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored<T> {
    /// The object as it was served, with fields that this plugin does not know.
    pub object: Value,
    /// Decoded object.
    pub fact: T,
}

/// Facts that are decoded from a stored object beside its JSON.
pub trait Known: Sized {
    /// Facts of a decoded object, unless it is of another kind.
    fn known(object: Object) -> Option<Self>;
}

impl<T: Fact> Known for T {
    fn known(object: Object) -> Option<Self> {
        T::of(object)
    }
}

/// Nothing: the JSON of the object is all that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Untyped;

impl Known for Untyped {
    fn known(_: Object) -> Option<Self> {
        Some(Self)
    }
}

/// Version of an object that a change was decided on; the server refuses the change of any other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectVersion {
    /// Distinguishes the object from a later one of its name.
    pub uid: String,
    /// Version; opaque.
    pub resource_version: String,
}

/// Reply of a server to a deletion.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Deletion {
    /// The server deletes the object of that UID, at once or as soon as nothing holds it.
    Accepted,
    /// It was refused: the server's code and words.
    Refused(u16, String),
}

/// The object that a body is.
///
/// # Errors
///
/// If it is not one of this version's kind: the reason.
fn stored_object<T: Known>(version: &Version, body: &[u8]) -> Result<Stored<T>, String> {
    let object: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let kind = object["kind"].as_str().unwrap_or_default();
    if kind != version.kind.as_str() {
        return Err(match kind {
            "" => "it has no kind".to_owned(),
            kind => format!("it is a {kind}, not a {}", version.kind),
        });
    }
    let decoded = Decoded::of_json(&object.to_string()).map_err(|error| error.to_string())?;
    let item = decoded.items.into_iter().next_back();
    match item.and_then(|item| T::known(item.object)) {
        Some(fact) => Ok(Stored { object, fact }),
        None => Err(format!("it is not a {}", version.kind)),
    }
}

/// The object of that name that a body is.
///
/// # Errors
///
/// If it is not: the reason.
pub(super) fn named<T: Known>(
    version: &Version,
    name: &str,
    body: &[u8],
) -> Result<Stored<T>, String> {
    let stored = stored_object(version, body)?;
    let found = stored.object["metadata"]["name"].as_str();
    if found == Some(name) {
        return Ok(stored);
    }
    let found = found.unwrap_or_default();
    Err(format!("its name is {found:?}, not {name:?}"))
}

/// Reply in a body to the deletion of the object of that name and UID. Servers send the object, or a
/// `Status`, which may be of a failure; a success without the UID may be one of anything.
///
/// Upstream: `DeleteResource` in `apiserver/pkg/endpoints/handlers/delete.go`.
///
/// # Errors
///
/// If it says nothing about the deletion: the reason.
pub(super) fn deletion<T: Known>(
    version: &Version,
    name: &str,
    uid: &str,
    body: &[u8],
) -> Result<Deletion, String> {
    let answer: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let accepted = |about: &Value| match about["uid"].as_str() {
        // By UID: an object that was recreated has the same name.
        Some(found) if found == uid => Ok(Deletion::Accepted),
        Some(_) => Err(format!(
            "the server replied with another object of the name {name:?}"
        )),
        None => Err("it does not name the deleted object".to_owned()),
    };
    // Versions before v1 reply with the deleted object. Upstream: `returnDeletedObject` in the storage of
    // rules.
    if answer["kind"].as_str() != Some("Status") {
        named::<T>(version, name, body)?;
        return accepted(&answer["metadata"]);
    }
    match answer["status"].as_str() {
        Some("Success") => accepted(&answer["details"]),
        Some("Failure") => {
            let code = answer["code"]
                .as_u64()
                .and_then(|code| code.try_into().ok());
            let message = answer["message"].as_str().unwrap_or("no reason given");
            Ok(Deletion::Refused(
                code.unwrap_or_default(),
                message.to_owned(),
            ))
        }
        Some(_) | None => Err("it is a Status that is neither Success nor Failure".to_owned()),
    }
}

/// The rules of one cluster.
pub type Rules = Objects<DeviceTaintRule>;

/// A rule as the server has it.
pub type StoredRule = Stored<DeviceTaintRule>;

/// Reads devices as [`read_devices`](crate::cluster::read_devices) does, with the rules as they are served, by name, from the
/// list that the reading is made from, and why others of it cannot be understood.
///
/// # Errors
///
/// As [`read_devices`](crate::cluster::read_devices), and when the rules cannot be read.
pub async fn read_devices_with_objects(
    client: &ApiClient,
    served: &ServedKinds,
) -> Result<(Reading, BTreeMap<String, Value>, Vec<ClusterError>), ClusterError> {
    let rules = Rules::new(client, served)?;
    let mut objects = BTreeMap::new();
    let mut odd = Vec::new();
    let listed = async {
        let listed = rules.list().await?;
        odd = listed.odd;
        let mut facts = List {
            first: None,
            items: Vec::with_capacity(listed.objects.len()),
            metadata: listed.metadata,
            warnings: Vec::new(),
        };
        for stored in listed.objects {
            objects.insert(stored.fact.name.to_string(), stored.object);
            facts.items.push(stored.fact);
        }
        Ok(facts)
    };
    let reading = read_devices_beside(client, served, listed).await?;
    Ok((reading, objects, odd))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceTaintRule, Kind};
    use crate::wire::versions_of;

    const RULE: &str = r#"{"apiVersion":"resource.k8s.io/v1","kind":"DeviceTaintRule","metadata":{"name":"drain","uid":"u"},"spec":{"taint":{"key":"a","effect":"None"}}}"#;

    fn version() -> &'static Version {
        versions_of(Kind::DeviceTaintRule).next().unwrap()
    }

    fn deleted(body: &str) -> Result<Deletion, String> {
        deletion::<DeviceTaintRule>(version(), "drain", "u", body.as_bytes())
    }

    #[test]
    fn only_the_object_that_was_asked_about_is_an_answer() {
        let read = |name, body: &str| named::<DeviceTaintRule>(version(), name, body.as_bytes());
        let stored = read("drain", RULE).unwrap();
        assert_eq!(stored.fact.uid.as_str(), "u");
        for (name, body, said) in [
            ("other", RULE, r#"its name is "drain", not "other""#),
            ("drain", "{}", "it has no kind"),
            ("drain", "null", "it has no kind"),
            (
                "drain",
                r#"{"kind":"Status","status":"Success"}"#,
                "it is a Status, not a DeviceTaintRule",
            ),
            (
                "drain",
                r#"{"kind":"PodList","items":[]}"#,
                "it is a PodList, not a DeviceTaintRule",
            ),
            ("drain", "<html>", "expected value"),
        ] {
            let reason = read(name, body).unwrap_err();
            assert!(reason.contains(said), "{body}: {reason}");
        }
    }

    #[test]
    fn a_failed_deletion_is_a_failure_and_what_is_no_answer_is_none() {
        assert_eq!(deleted(RULE), Ok(Deletion::Accepted));
        assert_eq!(
            deleted(r#"{"kind":"Status","status":"Success","details":{"name":"drain","uid":"u"}}"#),
            Ok(Deletion::Accepted)
        );
        let failure = r#"{"kind":"Status","status":"Failure","code":409,"message":"held"}"#;
        assert_eq!(
            deleted(failure),
            Ok(Deletion::Refused(409, "held".to_owned()))
        );
        for body in [
            "{}",
            "null",
            "[]",
            r#"{"kind":"Status"}"#,
            r#"{"kind":"Status","status":"Success"}"#,
            r#"{"kind":"Status","status":"Success","details":{"name":"drain","uid":"v"}}"#,
            &RULE.replace("drain", "other"),
            &RULE.replace(r#""uid":"u""#, r#""uid":"v""#),
        ] {
            assert!(deleted(body).is_err(), "{body}");
        }
    }
}
