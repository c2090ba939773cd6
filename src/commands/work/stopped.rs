//! Failures of commands that change rules: the account of the changes, and whether the same command completes them.

use crate::cluster::ClusterError;
use crate::commands::context::Context;
use crate::decide::ledger::Incompleteness;
use crate::error::{ExitStatus, Failure};

/// The failure with the outcomes of the command's changes.
pub(crate) fn stopped(failure: Failure, context: &Context) -> Failure {
    let blocker = blocker(&failure);
    context.ledger.account(failure, blocker)
}

/// True if the failure is about the rule that was to be changed, so that others may be changed all the same.
pub(crate) fn is_about_one_rule(failure: &Failure) -> bool {
    match blocker(failure) {
        Incompleteness::Decided | Incompleteness::Denied => true,
        Incompleteness::Passing | Incompleteness::Lasting => false,
    }
}

/// Incompleteness that the failure of the command causes.
fn blocker(failure: &Failure) -> Incompleteness {
    let cause: Option<&ClusterError> = failure.cause();
    if cause.is_some_and(|error| error.denied().is_some()) {
        return Incompleteness::Denied;
    }
    match failure.status() {
        ExitStatus::TryAgain
        | ExitStatus::TimedOut
        | ExitStatus::Interrupted
        | ExitStatus::Terminated => Incompleteness::Passing,
        // With a cause it is the server or the network; without one, something was decided here.
        ExitStatus::Failed if cause.is_some() => Incompleteness::Lasting,
        ExitStatus::Failed
        | ExitStatus::Success
        | ExitStatus::Usage
        | ExitStatus::Refused
        | ExitStatus::Incomplete => Incompleteness::Decided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Permission;
    use crate::commands::work::connect::failed;
    use crate::model::Kind;

    #[test]
    fn what_was_decided_or_denied_about_one_rule_keeps_no_other_from_being_changed() {
        let decided = Failure::new(ExitStatus::Failed, "it is gone");
        assert!(is_about_one_rule(&decided));
        assert!(is_about_one_rule(&Failure::refused("not confirmed")));
        let denied = failed(ClusterError::Forbidden {
            permission: Permission::new("patch", Kind::DeviceTaintRule),
            user: None,
            purpose: None,
        });
        assert!(is_about_one_rule(&denied));
        let passing = Failure::new(ExitStatus::TryAgain, "the server is busy");
        assert!(!is_about_one_rule(&passing));
        let lasting = failed(ClusterError::Invalid {
            path: "/apis".to_owned(),
            message: "no".to_owned(),
        });
        assert!(!is_about_one_rule(&lasting));
    }
}
