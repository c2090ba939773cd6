//! Changes of the objects of one kind, as they happen.
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

use crate::cluster::client::api::{ApiClient, AttemptFailure};
use crate::cluster::client::exchange::Stream;
use crate::cluster::client::target::{JSON, PROTOBUF, Read, escaped, path_of};
use crate::cluster::error::ClusterError;
use crate::cluster::permission::Permission;
use crate::cluster::read::bodies;
use crate::cluster::read::lists::{List, Listing, Selection};
use crate::model::{Encoding, Kind};
use crate::wire::{Detail, Object, Version, WatchDecoder, WatchEvent};

/// For how long a watch is asked for at a time. The server tells its state before it ends one, so that
/// resuming is cheap; and a connection that has died silently is noticed soon.
const WATCH: Duration = Duration::from_secs(30);
/// A watch that ends sooner without an event counts as one that failed.
const SHORT: Duration = Duration::from_secs(1);
/// Between two lists, where watching is not allowed: reading them takes one part in ten of the time.
const POLL: Duration = Duration::from_secs(1);
const SHARE: u32 = 10;
/// Maximum duration of consecutive failures when requests have no time limit.
const UNLIMITED: Duration = Duration::from_secs(600);
/// After the first failure, doubled after each further one.
const BREATH: Duration = Duration::from_millis(100);
/// Between two tries at most, unless the server asks for more.
const LONGEST: Duration = Duration::from_secs(5);

/// Objects of a feed.
#[derive(Clone, Debug)]
pub(super) struct FeedSubject {
    pub(super) client: ApiClient,
    pub(super) version: &'static Version,
    pub(super) range: FeedScope,
}

/// Scope of a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        let selection = match &self.range {
            FeedScope::All => Selection::All,
            FeedScope::Node(node) => Selection::on_node(node),
        };
        let detail = detail(self.version.kind);
        let listing = Listing::new(&self.client, self.version, selection, detail);
        listing.objects(Some).await
    }

    /// Changes after `state`, the version of a list. No request is sent before the feed is polled.
    pub(super) fn feed(self, state: String) -> Feed {
        let writer = FeedWriter {
            subject: self,
            state,
            failures: 0,
            failing_since: None,
            phase: Phase::Resume,
        };
        let news = stream::try_unfold(writer, |mut writer| async move {
            let news = writer.news().await?;
            Ok(Some((news, writer)))
        });
        // Local, because the runtime has a single thread.
        news.boxed_local()
    }

    fn read(&self, state: &str) -> Read {
        let selector = match &self.range {
            FeedScope::Node(node) => format!("&fieldSelector=spec.nodeName%3D{}", escaped(node)),
            FeedScope::All => String::new(),
        };
        let (path, state) = (path_of(self.version, None), escaped(state));
        let seconds = WATCH.as_secs();
        Read {
            // Bookmarks advance the state even when nothing changes, so that resuming does not end in 410 Gone.
            path: format!(
                "{path}?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={state}{selector}"
            ),
            accept: match self.version.kind.encoding() {
                Encoding::Json => JSON,
                Encoding::Protobuf => PROTOBUF,
            },
            permission: Permission::new("watch", self.version.kind),
        }
    }
}

/// Slices are watched for what they publish about devices, other kinds for their names.
fn detail(kind: Kind) -> Detail {
    match kind == Kind::ResourceSlice {
        true => Detail::Terms,
        false => Detail::Names,
    }
}

struct FeedWriter {
    subject: FeedSubject,
    /// All changes up to this version have been sent.
    state: String,
    /// Consecutive failures since the server's last event.
    failures: u32,
    failing_since: Option<Instant>,
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
            match self.step().await {
                Ok(Some(news)) => return Ok(news),
                Ok(None) => {}
                Err(failure) => self.bear(failure).await?,
            }
        }
    }

    async fn step(&mut self) -> Result<Option<FeedEvent>, AttemptFailure> {
        let subject = &self.subject;
        match &mut self.phase {
            Phase::Resume => {
                let stream = Stream::open(&subject.client, &subject.read(&self.state)).await?;
                let decoder = WatchDecoder::new(subject.version, detail(subject.version.kind));
                self.phase = Phase::Watching(Box::new(stream), Box::new(decoder));
                Ok(None)
            }
            Phase::Watching(stream, decoder) => {
                // The server ends it by itself; one that does not is not there any more.
                let limit = subject.client.request_timeout().unwrap_or(WATCH);
                let Some(bytes) = stream.next(WATCH.saturating_add(limit)).await? else {
                    let is_short = stream.age() < SHORT;
                    self.phase = Phase::Resume;
                    if is_short {
                        return Err(AttemptFailure::Broken("the watch ended at once".to_owned()));
                    }
                    self.restored();
                    return Ok(None);
                };
                let events = decoder.push(&bytes);
                let events = events.map_err(|error| bodies::failure(&error))?;
                let states = events.iter().map(|event| &event.resource_version);
                if let Some(last) = states.rev().find(|state| !state.is_empty()) {
                    self.state.clone_from(last);
                }
                if events.is_empty() {
                    return Ok(None);
                }
                self.restored();
                Ok(Some(FeedEvent::Changes(events)))
            }
            Phase::List => {
                // Does not restore the budget: a server that expires every watch at once would otherwise be listed for ever.
                let list = subject.list().await?;
                self.state = list.metadata.resource_version;
                self.phase = Phase::Resume;
                Ok(Some(FeedEvent::All(list.items)))
            }
            Phase::Poll(pause) => {
                tokio::time::sleep(*pause).await;
                let asked = Instant::now();
                let list = subject.list().await?;
                *pause = asked.elapsed().saturating_mul(SHARE).clamp(POLL, WATCH);
                self.restored();
                Ok(Some(FeedEvent::Polled(list.items)))
            }
        }
    }

    fn restored(&mut self) {
        self.failures = 0;
        self.failing_since = None;
    }

    /// Decides how to go on after a failure, and waits until then.
    ///
    /// # Errors
    ///
    /// When there is no way to go on.
    async fn bear(&mut self, failure: AttemptFailure) -> Result<(), ClusterError> {
        let asked = match &failure {
            AttemptFailure::Busy { retry_after, .. } => *retry_after,
            AttemptFailure::Final(error @ ClusterError::Forbidden { permission, .. })
                if permission.verb == "watch" =>
            {
                self.poll(error);
                return Ok(());
            }
            // Something on the way holds answers back until they are complete, which a watch never is;
            // or nothing is there any more, which the list will show.
            AttemptFailure::Final(error @ ClusterError::TimedOut { .. })
                if matches!(self.phase, Phase::Resume) =>
            {
                self.poll(error);
                return Ok(());
            }
            AttemptFailure::Broken(_) | AttemptFailure::Expired => None,
            AttemptFailure::Final(error) | AttemptFailure::Unsent(error) if error.passes() => None,
            AttemptFailure::Final(_)
            | AttemptFailure::Unsent(_)
            | AttemptFailure::Unreadable(_)
            | AttemptFailure::TooLong(_) => return Err(self.given_up(failure)),
        };
        // A stream that failed is of no further use, and its decoder may hold half an event.
        if matches!(failure, AttemptFailure::Expired) {
            self.phase = Phase::List;
        } else if matches!(self.phase, Phase::Watching(..)) {
            self.phase = Phase::Resume;
        }
        let since = *self.failing_since.get_or_insert_with(Instant::now);
        let doubled = BREATH
            .saturating_mul(1 << self.failures.min(6))
            .min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        // A server that asks to come back at once may mean it, and is not asked in a hot loop.
        let pause = asked.unwrap_or_default().max(doubled);
        let limit = self.subject.client.request_timeout().unwrap_or(UNLIMITED);
        if since.elapsed().saturating_add(pause) > limit {
            return Err(self.given_up(failure));
        }
        tokio::time::sleep(pause).await;
        Ok(())
    }

    fn poll(&mut self, why: &ClusterError) {
        let unseen = if self.subject.version.kind == Kind::Pod {
            "; force deletions are not detected"
        } else {
            ""
        };
        self.subject
            .client
            .notice(&format!("{why}: polling with list instead{unseen}"));
        self.phase = Phase::Poll(Duration::ZERO);
    }

    fn given_up(&self, failure: AttemptFailure) -> ClusterError {
        let read = self.subject.read(&self.state);
        self.subject.client.error(&read, failure)
    }
}
