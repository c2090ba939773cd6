//! A running control plane: start and end.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError, atomic::AtomicUsize},
};

use serde::Deserialize;

use super::{Variant, access::User, client::Client, machine::Machine, program};

/// A control plane of the whole test binary, or why there is none.
type Shared = OnceLock<Result<ControlPlane, String>>;

/// Number of users that [`ControlPlane::kubeconfig_for`] can hand out.
const USERS: usize = 64;

/// A control plane that ends when this is dropped, and at the latest with the test binary.
pub struct ControlPlane {
    pub(super) ready: Ready,
    pub(super) client: Client,
    pub(super) users_taken: AtomicUsize,
    _machine: Mutex<Machine<Event>>,
}

/// The line in which `up` prints the address of the control plane.
#[derive(Debug, Deserialize)]
pub(super) struct Ready {
    pub(super) server: String,
    pub(super) admin: User,
    pub(super) users: Option<Vec<User>>,
    pub(super) folder: PathBuf,
    pub(super) binaries: PathBuf,
}

/// A line from `up`.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
enum Event {
    Ready(Ready),
    Failed { message: String },
}

impl ControlPlane {
    /// The control plane that the tests of this binary share. Tests keep out of each other's way by
    /// their own driver name and namespace.
    pub fn shared() -> &'static Self {
        Self::of(&Variant::default())
    }

    /// As [`Self::shared`], of a variant: started for the first test that needs it, and for all that look at
    /// nothing but their own driver, namespace and rules.
    pub fn of(variant: &Variant) -> &'static Self {
        static PLANES: Mutex<BTreeMap<String, &'static Shared>> = Mutex::new(BTreeMap::new());
        let shared: &'static Shared = {
            let mut planes = PLANES.lock().unwrap_or_else(PoisonError::into_inner);
            let plane = planes.entry(variant.flags().join(" "));
            plane.or_insert_with(|| Box::leak(Box::default()))
        };
        let plane = shared.get_or_init(|| Self::try_start(variant));
        // Every test fails with the reason, not only the first.
        plane.as_ref().unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// Starts a control plane of its own, for a test that reads all of its objects, and waits
    /// until it is ready: some three seconds, and minutes when the program has to be built first.
    pub fn start(variant: &Variant) -> Self {
        Self::try_start(variant).unwrap_or_else(|reason| panic!("{reason}"))
    }

    /// As [`Self::start`]; the error is the reason, one line if something has to be installed.
    pub fn try_start(variant: &Variant) -> Result<Self, String> {
        let mut command = program::up(variant)?;
        command
            .arg("--machine")
            .arg(format!("--users={USERS}"))
            .args(variant.flags());
        let mut machine = Machine::open(command)?;
        let ready = match machine.event()? {
            Event::Ready(ready) => ready,
            Event::Failed { message } => {
                return Err(format!("no control plane for {variant:?}: {message}"));
            }
        };
        Ok(Self {
            client: Client::new(&ready.admin.kubeconfig),
            ready,
            users_taken: AtomicUsize::new(0),
            _machine: Mutex::new(machine),
        })
    }

    /// The API server's address.
    pub fn server(&self) -> &str {
        &self.ready.server
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> &Path {
        &self.ready.admin.kubeconfig
    }

    /// A folder for the test's own files that is removed with the control plane.
    pub fn folder(&self) -> &Path {
        &self.ready.folder
    }
}
