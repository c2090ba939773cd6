//! The role that would have allowed what was denied: said once, at the end of a command.

use crate::cluster::{ClusterError, Permission, cluster_role_for};
use crate::commands::context::Context;
use crate::error::Failure;

/// Says what a command was denied, if it was denied anything, and which role would have allowed it; also
/// where it could do without. It comes last, behind the answer and the `failure` of the command.
pub(crate) fn tell_role(failure: Option<&Failure>, context: &Context) {
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
    context.printer.block(&format!(
        "This role would allow what was denied ({}):\n{}",
        named.join(", "),
        cluster_role_for(context.connection.purpose, &denied)
    ));
}
