//! What becomes of the objects of one kind, told as it happens.
//!
//! ```text
//! a list's state ─▶ watch ──▶ changes ──▶ the server ends it, or it breaks off ─▶ watch from the last state
//!                     │ that state is no longer known (410) ─▶ list anew
//!                     └ the user may list and not watch ─▶ list again and again
//! ```
//!
//! Upstream: `client-go/tools/cache/reflector.go`.

use std::time::Duration;

use futures::stream::{self, LocalBoxStream, StreamExt};
use tokio::time::Instant;

use super::budget::Budget;
use crate::cluster::client::api::ApiClient;
use crate::cluster::client::request::{JSON, PROTOBUF, Read};
use crate::cluster::client::retry::AttemptFailure;
use crate::cluster::client::stream::Stream;
use crate::cluster::error::ClusterError;
use crate::cluster::path::{escaped, path_of};
use crate::cluster::permission::Permission;
use crate::cluster::read::bodies;
use crate::cluster::read::list::List;
use crate::cluster::read::lists::{Listing, Selection};
use crate::model::{Encoding, Kind};
use crate::wire::{Detail, Object, Version, WatchDecoder, WatchEncoding, WatchEvent};

/// For how long a watch is asked for at a time. The server tells its state before it ends one, so that
/// resuming is cheap; and a connection that has died silently is noticed soon.
const WATCH: Duration = Duration::from_secs(30);
/// A watch that ends sooner and tells nothing counts as one that failed.
const SHORT: Duration = Duration::from_secs(1);
/// Between two lists, where watching is not allowed.
const POLL: Duration = Duration::from_secs(1);
/// How often lists are read at least, however long one takes.
const RARE: Duration = Duration::from_secs(30);
/// Reading lists again and again takes at most one part in so many of the time.
const SHARE: u32 = 10;

/// Which objects are told of.
#[derive(Clone, Debug)]
pub(super) struct FeedSubject {
    pub(super) client: ApiClient,
    pub(super) version: &'static Version,
    pub(super) range: FeedScope,
}

/// Where the objects are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FeedScope {
    /// Anywhere.
    All,
    /// On this node.
    Node(String),
}

/// News about the objects.
#[derive(Debug)]
pub(super) enum FeedEvent {
    /// These are all of them.
    All(Vec<Object>),
    /// These are all of them, read from time to time because they cannot be watched: of what is gone, the end was not seen.
    Polled(Vec<Object>),
    /// This has changed, in this order.
    Changes(Vec<WatchEvent>),
}

/// The news as they come, until they cannot be had any more.
pub(super) type Feed = LocalBoxStream<'static, Result<FeedEvent, ClusterError>>;

impl FeedSubject {
    /// All objects, and the state of the list.
    pub(super) async fn list(&self) -> Result<List<Object>, ClusterError> {
        let listing = Listing {
            client: &self.client,
            version: self.version,
            detail: Detail::Names,
            selection: self.range.selection(),
        };
        listing.objects(Some).await
    }

    /// What happens after `state`, the state of a list. Nothing is asked for before the feed is.
    pub(super) fn feed(self, state: String) -> Feed {
        let reporter = FeedWriter {
            budget: Budget::new(self.client.request_timeout()),
            subject: self,
            state,
            began: Instant::now(),
            phase: Phase::Resume,
        };
        let news = stream::try_unfold(reporter, |mut reporter| async move {
            let news = reporter.news().await?;
            Ok(Some((news, reporter)))
        });
        // Local, because the runtime has a single thread.
        news.boxed_local()
    }

    fn encoding(&self) -> WatchEncoding {
        match self.version.kind.encoding() {
            Encoding::Json => WatchEncoding::Json,
            Encoding::Protobuf => WatchEncoding::Protobuf(Detail::Names),
        }
    }

    fn read(&self, state: &str) -> Read {
        let selector = match &self.range {
            FeedScope::Node(node) => format!("&fieldSelector=spec.nodeName%3D{}", escaped(node)),
            FeedScope::All => String::new(),
        };
        let path = path_of(self.version, None);
        let state = escaped(state);
        let seconds = WATCH.as_secs();
        Read {
            // Bookmarks advance the state even when nothing changes, so that resuming does not end in 410 Gone.
            path: format!(
                "{path}?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={state}{selector}"
            ),
            accept: match self.encoding() {
                WatchEncoding::Json => JSON,
                WatchEncoding::Protobuf(_) => PROTOBUF,
            },
            permission: Permission::new("watch", self.version.kind),
        }
    }
}

impl FeedScope {
    fn selection(&self) -> Selection {
        match self {
            Self::All => Selection::All,
            Self::Node(node) => Selection::on_node(node),
        }
    }
}

/// Whoever makes a feed.
struct FeedWriter {
    subject: FeedSubject,
    /// Everything up to this state has been told.
    state: String,
    budget: Budget,
    began: Instant,
    phase: Phase,
}

enum Phase {
    /// A watch is to be asked for.
    Resume,
    Watching(Box<Stream>, Box<WatchDecoder>),
    /// The list is to be read anew.
    List,
    /// The list is read again and again, next after this pause.
    Poll(Duration),
}

impl FeedWriter {
    async fn news(&mut self) -> Result<FeedEvent, ClusterError> {
        loop {
            let step = match self.phase {
                Phase::Resume => self.resume().await,
                Phase::Watching(..) => self.watched().await,
                Phase::List => self.listed().await.map(Some),
                Phase::Poll(pause) => {
                    tokio::time::sleep(pause).await;
                    self.polled().await.map(Some)
                }
            };
            match step {
                Ok(Some(news)) => return Ok(news),
                Ok(None) => {}
                Err(failure) => self.bear(failure).await?,
            }
        }
    }

    async fn resume(&mut self) -> Result<Option<FeedEvent>, AttemptFailure> {
        let FeedSubject {
            client, version, ..
        } = &self.subject;
        let stream = Stream::open(client, &self.subject.read(&self.state)).await?;
        let decoder = WatchDecoder::new(version, self.subject.encoding());
        self.phase = Phase::Watching(Box::new(stream), Box::new(decoder));
        Ok(None)
    }

    /// What the watch tells next, or `None` when it has ended or told only its state.
    async fn watched(&mut self) -> Result<Option<FeedEvent>, AttemptFailure> {
        let Phase::Watching(stream, decoder) = &mut self.phase else {
            return Ok(None);
        };
        // The server ends it by itself; one that does not is not there any more.
        let limit = self.subject.client.request_timeout().unwrap_or(WATCH);
        let Some(bytes) = stream.next(WATCH.saturating_add(limit)).await? else {
            let lasted = stream.age();
            self.phase = Phase::Resume;
            if lasted < SHORT {
                return Err(AttemptFailure::Broken("the watch ended at once".to_owned()));
            }
            self.budget.restored();
            return Ok(None);
        };
        let events = decoder
            .push(&bytes)
            .map_err(|error| bodies::failure(&error))?;
        if events.is_empty() {
            return Ok(None);
        }
        let states = events.iter().map(|event| &event.resource_version);
        if let Some(last) = states.rev().find(|state| !state.is_empty()) {
            self.state.clone_from(last);
        }
        self.budget.restored();
        Ok(Some(FeedEvent::Changes(events)))
    }

    async fn listed(&mut self) -> Result<FeedEvent, AttemptFailure> {
        // Does not restore the budget: a server that expires every watch at once would otherwise be listed for ever.
        let list = self.subject.list().await?;
        self.state = list.metadata.resource_version;
        self.phase = Phase::Resume;
        Ok(FeedEvent::All(list.items))
    }

    async fn polled(&mut self) -> Result<FeedEvent, AttemptFailure> {
        let asked = Instant::now();
        let list = self.subject.list().await?;
        self.budget.restored();
        let pause = asked.elapsed().saturating_mul(SHARE.saturating_sub(1));
        self.phase = Phase::Poll(pause.clamp(POLL, RARE));
        Ok(FeedEvent::Polled(list.items))
    }

    /// Decides how to go on after a failure, and waits until then.
    ///
    /// # Errors
    ///
    /// When there is no way to go on.
    async fn bear(&mut self, failure: AttemptFailure) -> Result<(), ClusterError> {
        let asked = match &failure {
            AttemptFailure::Final(ClusterError::Forbidden { permission, .. })
                if permission.verb == "watch" =>
            {
                let unseen = if self.subject.version.kind == Kind::Pod {
                    ", and force-deleted pods are detected only if they were stuck in Terminating"
                } else {
                    ""
                };
                self.subject.client.notice(&format!(
                    "no permission to {permission}: polling with list instead, which loads the \
                     server more{unseen}"
                ));
                self.phase = Phase::Poll(Duration::ZERO);
                return Ok(());
            }
            // Something on the way holds answers back until they are complete, which a watch never is;
            // or nobody is there any more, which the list will show.
            AttemptFailure::Final(ClusterError::TimedOut { .. })
                if matches!(self.phase, Phase::Resume) =>
            {
                let kind = self.subject.version.kind.plural();
                self.subject.client.notice(&format!(
                    "the server did not respond to a watch of {kind}: polling with list instead, \
                     which loads the server more"
                ));
                self.phase = Phase::Poll(Duration::ZERO);
                return Ok(());
            }
            AttemptFailure::Expired => {
                self.phase = Phase::List;
                None
            }
            AttemptFailure::Busy { retry_after, .. } => *retry_after,
            AttemptFailure::Broken(_) | AttemptFailure::Dropped(_) => None,
            AttemptFailure::Final(error) | AttemptFailure::Unsent(error) if may_pass(error) => None,
            AttemptFailure::Final(_)
            | AttemptFailure::Unsent(_)
            | AttemptFailure::Unreadable(_)
            | AttemptFailure::TooLong(_)
            | AttemptFailure::Foreign(_) => {
                return Err(self.given_up(failure));
            }
        };
        // A stream that failed is of no further use, and its decoder may hold half an event.
        if let Phase::Watching(..) = self.phase {
            self.phase = Phase::Resume;
        }
        let now = self.began.elapsed();
        match self.budget.after_failure(now, asked) {
            Some(pause) => {
                tokio::time::sleep(pause).await;
                Ok(())
            }
            None => Err(self.given_up(failure)),
        }
    }

    fn given_up(&self, failure: AttemptFailure) -> ClusterError {
        let read = self.subject.read(&self.state);
        self.subject.client.error(&read, failure)
    }
}

/// Whether a server that restarts, or whose network is down for a moment, fails in this way.
fn may_pass(error: &ClusterError) -> bool {
    matches!(
        error,
        ClusterError::Unreachable { .. }
            | ClusterError::TimedOut { .. }
            | ClusterError::Busy { .. }
            | ClusterError::Incomplete { .. }
    ) || matches!(error, ClusterError::Refused { status, .. } if *status >= 500)
}
