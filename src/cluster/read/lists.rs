//! Lists and single objects of any kind, complete or not at all.
//!
//! The encoding in which a kind is requested is a column of the table of kinds. Protobuf lists are requested
//! as a whole, JSON lists in pages, and in smaller ones where such a page is longer than the limit; an
//! answer that breaks off, or that is no longer one state, is begun again a few times, and no number of
//! pages or objects is without end.

use std::collections::HashSet;

use serde_json::value::RawValue;

use super::bodies::{Fields, Objects, bounded, metadata_list, served_list, single, text_list};
use crate::cluster::client::api::{ATTEMPTS, ApiClient, AttemptFailure};
use crate::cluster::client::exchange::{BodyReader, whole};
use crate::cluster::client::target::{JSON, METADATA, PROTOBUF, Read, escaped, path_of};
use crate::cluster::error::ClusterError;
use crate::cluster::permission::Permission;
use crate::model::{Encoding, NamespacedName, Warning};
use crate::wire::{Detail, Fact, ListMeta, Object, Version};

/// Objects to a page, where a list is read in pages.
const PAGE: u32 = 1000;
/// Divisor of the page size where a page is longer than the limit.
const FEWER: u32 = 10;
/// More pages than this are no list of a cluster: Kubernetes stops at 150,000 pods.
const MOST_PAGES: usize = 10_000;

/// Objects of a kind to list.
#[derive(Clone, Debug)]
pub(crate) enum Selection {
    /// All of the cluster.
    All,
    /// Objects in one namespace.
    Namespace(String),
    /// Objects of the cluster with these fields, as the server takes a field selector.
    Fields(String),
}

impl Selection {
    /// The pods on one node, or the slices: the one selection of pods that the server has an index for.
    pub(crate) fn on_node(node: &str) -> Self {
        Self::Fields(format!("spec.nodeName={node}"))
    }
}

/// A list to be read.
#[derive(Debug)]
pub(crate) struct Listing<'a> {
    client: &'a ApiClient,
    pub(crate) version: &'static Version,
    pub(crate) selection: Selection,
    detail: Detail,
}

impl<'a> Listing<'a> {
    /// The objects of a kind that the server selects.
    pub(crate) fn new(
        client: &'a ApiClient,
        version: &'static Version,
        selection: Selection,
        detail: Detail,
    ) -> Self {
        Self {
            client,
            version,
            selection,
            detail,
        }
    }

    /// The facts of the list that are to be kept; the rest is dropped as it arrives.
    ///
    /// An object that occurs twice counts once, as it was last sent, and is warned of.
    ///
    /// # Errors
    ///
    /// When the list cannot be read completely, or holds anything that cannot be understood.
    pub(crate) async fn facts<T: Fact>(
        &self,
        keep: impl Fn(&T) -> bool,
    ) -> Result<List<T>, ClusterError> {
        let choose = |object| T::of(object).filter(&keep);
        Ok(once_each(self.objects(choose).await?))
    }

    /// Results of `choose` for each object; one that the server sends twice occurs twice.
    ///
    /// # Errors
    ///
    /// As [`Listing::facts`].
    pub(crate) async fn objects<T>(
        &self,
        choose: impl Fn(Object) -> Option<T>,
    ) -> Result<List<T>, ClusterError> {
        match self.version.kind.encoding() {
            Encoding::Protobuf => self.whole(choose).await,
            Encoding::Json => {
                let start = || whole(|body| text_list(self.version, body, &choose));
                self.paged(JSON, start).await
            }
        }
    }

    /// Results of `choose` for the metadata of each object; only metadata is requested.
    ///
    /// # Errors
    ///
    /// As [`Listing::facts`].
    pub(crate) async fn metadata<T>(
        &self,
        choose: impl Fn(Object) -> Option<T>,
    ) -> Result<List<T>, ClusterError> {
        let start = || whole(|body| metadata_list(self.version, body, &choose));
        self.paged(METADATA, start).await
    }

    /// The objects as they are served, with all fields and keys sorted, each with its `apiVersion` and
    /// `kind`. `keep` says which to keep, and may take fields away.
    ///
    /// # Errors
    ///
    /// When the list cannot be read completely, or is no list of this kind.
    pub(crate) async fn served(
        &self,
        keep: impl Fn(&mut Fields) -> bool,
    ) -> Result<List<Box<RawValue>>, ClusterError> {
        let start = || whole(|body| served_list(self.version, body, &keep));
        self.paged(JSON, start).await
    }

    /// The list in protobuf, as a whole: as one state of the watch cache. One that breaks off is asked
    /// for in pages the next time: each of them takes the server less than the minute after which it
    /// cuts a list.
    async fn whole<T>(
        &self,
        choose: impl Fn(Object) -> Option<T>,
    ) -> Result<List<T>, ClusterError> {
        let start = || Objects::new(self.version, self.detail, &choose);
        match self.pages(PROTOBUF, None, start).await {
            Err(AttemptFailure::Broken(reason)) => {
                self.client.notice(&format!(
                    "the list of {} was not received completely ({reason}); it is now requested in pages",
                    self.version.kind.plural()
                ));
                self.paged(PROTOBUF, start).await
            }
            Err(AttemptFailure::Expired) => self.paged(PROTOBUF, start).await,
            result => result.map_err(|failure| self.error(failure)),
        }
    }

    /// All pages; an expired list is begun again, a few times.
    async fn paged<T, C>(
        &self,
        accept: &'static str,
        start: impl Fn() -> C,
    ) -> Result<List<T>, ClusterError>
    where
        C: BodyReader<Output = List<T>>,
    {
        for _ in 1..ATTEMPTS {
            match self.pages(accept, Some(PAGE), &start).await {
                Err(AttemptFailure::Expired) => self.client.notice(&format!(
                    "the list of {} changed too much while it was read; reading it again",
                    self.version.kind.plural()
                )),
                result => return result.map_err(|failure| self.error(failure)),
            }
        }
        // Outside the loop: after the last attempt there is no restart to announce.
        let last = self.pages(accept, Some(PAGE), &start).await;
        last.map_err(|failure| self.error(failure))
    }

    async fn pages<T, C>(
        &self,
        accept: &'static str,
        mut limit: Option<u32>,
        start: impl Fn() -> C,
    ) -> Result<List<T>, AttemptFailure>
    where
        C: BodyReader<Output = List<T>>,
    {
        // Pages are what a broken list is asked for in, so the first try counts as one of theirs.
        let tries = if limit.is_some() { ATTEMPTS - 1 } else { 1 };
        let mut list: List<T> = List::default();
        let (mut tokens, mut firsts) = (HashSet::new(), HashSet::new());
        loop {
            let read = self.read(accept, limit, &list.metadata.continue_token);
            let page = match (self.client.try_read(&read, tries, &start).await, limit) {
                (Err(AttemptFailure::TooLong(_)), Some(objects @ 2..)) => {
                    // The token stays valid: it holds the position, not the size of the page.
                    limit = Some(objects / FEWER);
                    continue;
                }
                (page, _) => page?,
            };
            list.items.extend(page.items);
            bounded(&list.items)?;
            list.warnings.extend(page.warnings);
            list.metadata = page.metadata;
            if list.metadata.continue_token.is_empty() {
                return Ok(list);
            }
            // New tokens alone are no progress: a broken server may send the same page under each of them.
            let is_new = page.first.is_none_or(|first| firsts.insert(first));
            if !tokens.insert(list.metadata.continue_token.clone()) || !is_new {
                return Err(AttemptFailure::Unreadable(
                    "the list does not end: its pages repeat; check the API server, and proxies in front \
                     of it"
                        .to_owned(),
                ));
            }
            if tokens.len() > MOST_PAGES {
                return Err(AttemptFailure::Unreadable(format!(
                    "the list does not end: the server sent more than {MOST_PAGES} pages; check the API server, \
                     and proxies in front of it"
                )));
            }
        }
    }

    fn read(&self, accept: &'static str, limit: Option<u32>, continue_token: &str) -> Read {
        let namespace = match &self.selection {
            Selection::Namespace(namespace) => Some(namespace.as_str()),
            Selection::All | Selection::Fields(_) => None,
        };
        // No resourceVersion: unset means the newest state, `0` whatever the watch cache holds.
        let mut query = Vec::new();
        if let Selection::Fields(fields) = &self.selection {
            query.push(format!("fieldSelector={}", escaped(fields)));
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

    fn error(&self, failure: AttemptFailure) -> ClusterError {
        self.client.error(&self.read(JSON, None, ""), failure)
    }
}

/// The list with each object once, as it was last sent.
fn once_each<T: Fact>(mut list: List<T>) -> List<T> {
    let mut seen = HashSet::with_capacity(list.items.len());
    let newest: Vec<bool> = list
        .items
        .iter()
        .rev()
        .map(|fact| seen.insert(fact.key()))
        .collect();
    if seen.len() == list.items.len() {
        return list;
    }
    let mut newest = newest.into_iter().rev();
    let mut items = Vec::with_capacity(list.items.len());
    for fact in list.items {
        if newest.next() == Some(true) {
            items.push(fact);
        } else {
            let (namespace, name) = fact.key();
            let slash = if namespace.is_empty() { "" } else { "/" };
            list.warnings.push(Warning {
                code: "duplicate-object",
                message: format!(
                    "the server returned {} {namespace}{slash}{name} twice; the last one is used",
                    T::KIND
                ),
                fix: None,
            });
        }
    }
    List { items, ..list }
}

/// The object called `name`, or `None` when there is none, or it is of no interest. An empty namespace
/// stands for the cluster.
///
/// # Errors
///
/// As any read.
pub(crate) async fn object(
    client: &ApiClient,
    version: &'static Version,
    name: &NamespacedName,
) -> Result<Option<List<Object>>, ClusterError> {
    let namespace = Some(name.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let collection = path_of(version, namespace);
    let read = Read {
        path: format!("{collection}/{}", escaped(name.name.as_str())),
        accept: match version.kind.encoding() {
            Encoding::Protobuf => PROTOBUF,
            Encoding::Json => JSON,
        },
        permission: Permission::new("get", version.kind),
    };
    let start = || whole(|body| single(version, name, body));
    match client.read(&read, start).await {
        Ok(list) => Ok(Some(list)),
        Err(ClusterError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A complete list, or one page of it.
#[derive(Debug)]
pub(crate) struct List<T> {
    /// The name of its first object, kept or not.
    pub(crate) first: Option<String>,
    pub(crate) items: Vec<T>,
    pub(crate) metadata: ListMeta,
    pub(crate) warnings: Vec<Warning>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self {
            first: None,
            items: Vec::new(),
            metadata: ListMeta::default(),
            warnings: Vec::new(),
        }
    }
}

impl List<Object> {
    /// The facts of one kind, and what the list says about itself.
    pub(crate) fn of_kind<T: Fact>(self) -> List<T> {
        List {
            first: self.first,
            items: self.items.into_iter().filter_map(T::of).collect(),
            metadata: self.metadata,
            warnings: self.warnings,
        }
    }
}
