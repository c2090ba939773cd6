//! Lists and single objects, complete or not at all.

use std::collections::BTreeSet;

use crate::cluster::client::consume::{Collector, Consume};
use crate::cluster::client::request::{JSON, PROTOBUF, Read};
use crate::cluster::client::retry::{ATTEMPTS, Failure};
use crate::cluster::{ApiClient, ClusterError, Permission};
use crate::model::{Kind, NamespacedName, Warning};
use crate::wire::{
    DecodeError, Detail, Documents, Item, ListMeta, Object, ProtobufList, Version,
    decode_protobuf_object, identity,
};

/// Objects to a page, where a list is read in pages.
const PAGE: u32 = 1000;
/// More pages than this are no list of a cluster: Kubernetes stops at 150,000 pods.
const MOST_PAGES: usize = 10_000;

/// Which objects of a kind to list.
#[derive(Clone, Copy, Debug)]
pub(in crate::cluster) enum Scope<'a> {
    /// All of the cluster.
    All,
    /// Those in one namespace.
    Namespace(&'a str),
    /// Pods on one node.
    Node(&'a str),
}

/// A complete list, or one page of it.
#[derive(Debug)]
pub(in crate::cluster) struct List<T> {
    pub(in crate::cluster) items: Vec<T>,
    pub(in crate::cluster) metadata: ListMeta,
    pub(in crate::cluster) warnings: Vec<Warning>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            metadata: ListMeta::default(),
            warnings: Vec::new(),
        }
    }
}

impl List<Object> {
    /// The same with what `choose` makes of each object.
    pub(super) fn choose<T>(self, choose: impl Fn(Object) -> Option<T>) -> List<T> {
        List {
            items: self.items.into_iter().filter_map(choose).collect(),
            metadata: self.metadata,
            warnings: self.warnings,
        }
    }
}

/// A list to be read.
#[derive(Debug)]
pub(in crate::cluster) struct Listing<'a> {
    pub(in crate::cluster) client: &'a ApiClient,
    pub(in crate::cluster) version: &'static Version,
    pub(in crate::cluster) scope: Scope<'a>,
    pub(in crate::cluster) detail: Detail,
}

impl Listing<'_> {
    /// What `choose` makes of each object of the list in protobuf; the rest is dropped as it
    /// arrives.
    ///
    /// The list is asked for as a whole, as one state of the watch cache. One that breaks off is
    /// asked for in pages the next time: each of them takes the server less than the minute after
    /// which it cuts a list.
    pub(in crate::cluster) async fn objects<T>(
        &self,
        choose: impl Fn(Object) -> Option<T>,
    ) -> Result<List<T>, ClusterError> {
        let start = || Objects {
            list: ProtobufList::new(self.version, self.detail),
            items: Vec::new(),
            choose: &choose,
        };
        match self.pages(PROTOBUF, None, start).await {
            Err(Failure::Broken(reason) | Failure::Dropped(reason)) => {
                self.client.notice(&format!(
                    "the list of {} broke off ({reason}), asking for it in pages",
                    self.version.kind.plural()
                ));
                self.restarting(PROTOBUF, start).await
            }
            Err(Failure::Expired) => self.restarting(PROTOBUF, start).await,
            result => result.map_err(|failure| self.error(failure)),
        }
    }

    /// Everything as JSON, so that fields that this plugin does not know are noticed.
    pub(in crate::cluster) async fn documents(&self) -> Result<List<Object>, ClusterError> {
        let kind = self.version.kind;
        self.restarting(JSON, || Texts {
            kind,
            body: Collector::of_page(),
        })
        .await
    }

    /// All pages; an expired list is begun again, a few times.
    pub(in crate::cluster) async fn restarting<T, C>(
        &self,
        accept: &'static str,
        start: impl Fn() -> C,
    ) -> Result<List<T>, ClusterError>
    where
        C: Consume<Output = List<T>>,
    {
        for _ in 1..ATTEMPTS {
            match self.pages(accept, Some(PAGE), &start).await {
                Err(Failure::Expired) => self.client.notice(&format!(
                    "the list of {} changed too much while it was read, beginning again",
                    self.version.kind.plural()
                )),
                result => return result.map_err(|failure| self.error(failure)),
            }
        }
        let last = self.pages(accept, Some(PAGE), &start).await;
        last.map_err(|failure| self.error(failure))
    }

    async fn pages<T, C>(
        &self,
        accept: &'static str,
        limit: Option<u32>,
        start: impl Fn() -> C,
    ) -> Result<List<T>, Failure>
    where
        C: Consume<Output = List<T>>,
    {
        // Pages are what a broken list is asked for in, so the first try counts as one of theirs.
        let tries = if limit.is_some() { ATTEMPTS - 1 } else { 1 };
        let mut read = self.read(accept, limit, "");
        let mut list = self.client.try_read(&read, tries, &start).await?;
        let mut tokens = BTreeSet::new();
        while !list.metadata.continue_token.is_empty() {
            if !tokens.insert(list.metadata.continue_token.clone()) {
                return Err(Failure::Unreadable(
                    "the list does not end: a page leads back to an earlier one".to_owned(),
                ));
            }
            if tokens.len() > MOST_PAGES {
                return Err(Failure::Unreadable(format!(
                    "the list does not end: it has more than {MOST_PAGES} pages"
                )));
            }
            read = self.read(accept, limit, &list.metadata.continue_token);
            let page = self.client.try_read(&read, tries, &start).await?;
            list.items.extend(page.items);
            list.warnings.extend(page.warnings);
            list.metadata = page.metadata;
        }
        Ok(list)
    }

    fn read(&self, accept: &'static str, limit: Option<u32>, continue_token: &str) -> Read {
        let namespace = match self.scope {
            Scope::Namespace(namespace) => Some(namespace),
            Scope::All | Scope::Node(_) => None,
        };
        let mut query = Vec::new();
        if let Scope::Node(node) = self.scope {
            query.push(format!("fieldSelector=spec.nodeName%3D{}", escaped(node)));
        }
        query.extend(limit.map(|limit| format!("limit={limit}")));
        if !continue_token.is_empty() {
            query.push(format!("continue={}", escaped(continue_token)));
        }
        let mut path = path_of(self.version, namespace);
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        Read {
            path,
            accept,
            permission: Permission::new("list", self.version.kind),
        }
    }

    fn error(&self, failure: Failure) -> ClusterError {
        self.client.error(&self.read(JSON, None, ""), failure)
    }
}

/// The object called `name`, or `None` when there is none, or it is of no interest.
pub(in crate::cluster) async fn object(
    client: &ApiClient,
    version: &'static Version,
    name: &NamespacedName,
) -> Result<Option<List<Object>>, ClusterError> {
    let collection = path_of(version, Some(name.namespace.as_str()));
    let read = Read {
        path: format!("{collection}/{}", escaped(name.name.as_str())),
        accept: PROTOBUF,
        permission: Permission::new("get", version.kind),
    };
    let start = || Single {
        version,
        name,
        body: Collector::of_document(),
    };
    match client.read(&read, start).await {
        Ok(list) => Ok(Some(list)),
        Err(ClusterError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The path of a kind's objects.
pub(in crate::cluster) fn path_of(version: &Version, namespace: Option<&str>) -> String {
    let root = if version.api_version.contains('/') {
        "/apis"
    } else {
        "/api"
    };
    let within = namespace.map_or(String::new(), |name| {
        format!("/namespaces/{}", escaped(name))
    });
    format!(
        "{root}/{}{within}/{}",
        version.api_version,
        version.kind.plural()
    )
}

/// Text as it may stand in a path or a query.
pub(in crate::cluster) fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

/// A protobuf list.
struct Objects<'a, T, F> {
    list: ProtobufList,
    items: Vec<T>,
    choose: &'a F,
}

impl<T, F: Fn(Object) -> Option<T>> Consume for Objects<'_, T, F> {
    type Output = List<T>;

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let items = self.list.push(bytes).map_err(|error| failure(&error))?;
        let objects = items.into_iter().map(|item| item.object);
        self.items.extend(objects.filter_map(self.choose));
        Ok(())
    }

    fn finish(self) -> Result<List<T>, Failure> {
        let end = self.list.finish().map_err(|error| failure(&error))?;
        Ok(List {
            items: self.items,
            metadata: end.metadata,
            warnings: end.warnings,
        })
    }
}

/// A list in JSON.
struct Texts {
    kind: Kind,
    body: Collector,
}

impl Consume for Texts {
    type Output = List<Object>;

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.body.push(bytes)
    }

    fn finish(self) -> Result<List<Object>, Failure> {
        let text = std::str::from_utf8(self.body.bytes())
            .map_err(|_| Failure::Broken("it is not UTF-8".to_owned()))?;
        let mut documents = Documents::new();
        documents
            .decode_json(text)
            .map_err(|error| failure(&error))?;
        let mut decoded = documents.finish();
        let others = decoded
            .found
            .keys()
            .any(|found| found.kind != self.kind.as_str());
        let header = decoded.lists.pop();
        match header {
            Some(header)
                if decoded.lists.is_empty()
                    && !others
                    && header.type_meta.kind == format!("{}List", self.kind) =>
            {
                Ok(List {
                    items: decoded.items.into_iter().map(|item| item.object).collect(),
                    metadata: header.metadata,
                    warnings: decoded.warnings,
                })
            }
            _ => Err(Failure::Broken(format!(
                "it is not one list of {}",
                self.kind.plural()
            ))),
        }
    }
}

/// A single object in protobuf, which must be the one that was asked for.
struct Single<'a> {
    version: &'static Version,
    name: &'a NamespacedName,
    body: Collector,
}

impl Consume for Single<'_> {
    type Output = List<Object>;

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.body.push(bytes)
    }

    fn finish(self) -> Result<List<Object>, Failure> {
        let body = self.body.bytes();
        let (item, warnings) = decode_protobuf_object(body).map_err(|error| failure(&error))?;
        let found = identity(body).unwrap_or_default();
        if found.kind != self.version.kind.as_str()
            || found.api_version != self.version.api_version
            || found.namespace != self.name.namespace.as_str()
            || found.name != self.name.name.as_str()
        {
            return Err(Failure::Foreign(format!(
                "a {} {}/{}",
                found.kind, found.namespace, found.name
            )));
        }
        Ok(List {
            items: item.map(|item: Item| item.object).into_iter().collect(),
            metadata: ListMeta::default(),
            warnings,
        })
    }
}

/// Whether it may help to ask again.
pub(in crate::cluster) fn failure(error: &DecodeError) -> Failure {
    match error {
        DecodeError::Status { code: 410, .. } => Failure::Expired,
        DecodeError::Truncated { .. }
        | DecodeError::TrailingBytes { .. }
        | DecodeError::Syntax { .. }
        | DecodeError::Status { .. } => Failure::Broken(error.to_string()),
        DecodeError::Field { .. }
        | DecodeError::Version { .. }
        | DecodeError::NotAnObject { .. }
        | DecodeError::ContentEncoding { .. }
        | DecodeError::UnexpectedKind { .. } => Failure::Unreadable(error.to_string()),
    }
}
