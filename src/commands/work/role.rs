//! The role that would have allowed what was denied: said once, at the end of a command.

use crate::cluster::{ClusterError, Permission, Purpose, cluster_role_for};
use crate::commands::context::Context;
use crate::error::Failure;

/// Whether the role is printed, or only said how to get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoleShown {
    /// All of it, to be applied.
    Whole,
    /// One line that names what is missing.
    Named,
}

impl From<bool> for RoleShown {
    /// By `--show-role`.
    fn from(is_asked_for: bool) -> Self {
        if is_asked_for {
            Self::Whole
        } else {
            Self::Named
        }
    }
}

/// Says what a command was denied, if it was denied anything, and which role would have allowed it; also
/// where it could do without. It comes last, behind the answer and the `failure` of the command.
pub(crate) fn tell_role(failure: Option<&Failure>, shown: RoleShown, context: &Context) {
    let cause = failure.and_then(Failure::cause::<ClusterError>);
    if cause.is_some_and(ClusterError::is_anonymous) {
        return;
    }
    let mut denied = context.denied();
    denied.extend(cause.and_then(ClusterError::denied).cloned());
    if denied.is_empty() {
        return;
    }
    let denied: Vec<Permission> = denied.into_iter().collect();
    let named: Vec<String> = denied.iter().map(ToString::to_string).collect();
    let named = named.join(", ");
    match shown {
        RoleShown::Named => context.printer.hint(&format!(
            "for a ClusterRole that allows what was denied ({named}), add --show-role"
        )),
        RoleShown::Whole => {
            let purpose = context.connection.purpose;
            let allows = match purpose {
                // Without a purpose, the role has nothing but what was denied; of what debug pods need, that of a drain has
                // no more either.
                Some(Purpose::Drain) | None => format!("allows what was denied ({named})"),
                Some(_) => {
                    format!(
                        "has all permissions that the command needs, including those that were denied ({named})"
                    )
                }
            };
            let role = cluster_role_for(purpose, &denied);
            context
                .printer
                .block(&format!("This ClusterRole {allows}:\n{role}"));
        }
    }
}
