//! Deletion of rules, and the line about each.

use super::changer::{Changer, state};
use crate::cluster::{self, ChangeDoubt, ChangeResult, ConflictAction, Removal, Rules, WriteMode};
use crate::decide::conflict::made_anew;
use crate::decide::ledger::Sending;
use crate::decide::outcomes::Removed;
use crate::decide::{ConflictOutcome, conflict};
use crate::error::{ExitStatus, Failure};
use crate::model::DeviceTaintRule;

impl Changer<'_> {
    /// Deletes a rule with the same care.
    pub(crate) async fn delete(
        &mut self,
        decided_on: &DeviceTaintRule,
    ) -> Result<Removed, Failure> {
        let name = decided_on.name.to_string();
        let removed = match self.begin(&name, Sending::Change) {
            None => Removed::Deleted,
            // Deleted again, it would look as if this command had requested it.
            Some(_) if decided_on.metadata.deletion.is_some() => Removed::RequestedBefore,
            Some((rules, mode)) => self.delete_in(decided_on, rules, mode).await?,
        };
        self.done(removed.describe(decided_on))?;
        Ok(removed)
    }

    async fn delete_in(
        &mut self,
        decided_on: &DeviceTaintRule,
        rules: &Rules,
        mode: WriteMode,
    ) -> Result<Removed, Failure> {
        let name = decided_on.name.to_string();
        let first = cluster::ObjectChange::Delete {
            on: state(decided_on),
        };
        let mut another = None;
        let made = rules.change(&name, first, mode, |found| {
            // Another client was first, with the same goal; another rule of that name is not meant.
            let found = found.map(|stored| &stored.fact);
            another = found.and_then(|found| made_anew(decided_on, found));
            let Some(found) = found.filter(|_| another.is_none()) else {
                return ConflictAction::End(Ok(Removed::Already));
            };
            if found.metadata.deletion.is_some() {
                return ConflictAction::End(Ok(Removed::RequestedBefore));
            }
            match conflict(decided_on, Some(found)) {
                ConflictOutcome::Ours => {
                    ConflictAction::Send(cluster::ObjectChange::Delete { on: state(found) })
                }
                // The same command would delete it as it is by then.
                ConflictOutcome::Theirs(failure) => {
                    ConflictAction::End(Err(failure.ending(ExitStatus::TryAgain)))
                }
            }
        });
        let made = made.await;
        if let Some(line) = another {
            self.note(line);
        }
        match made {
            Ok(ChangeResult::Removed(Removal::Deleted) | ChangeResult::Done(_)) => {
                Ok(Removed::Deleted)
            }
            Ok(ChangeResult::Removed(Removal::Gone)) => Ok(Removed::Gone),
            Ok(ChangeResult::Removed(Removal::Requested)) => Ok(Removed::Requested),
            Ok(ChangeResult::Removed(Removal::Leaving)) => Ok(Removed::Leaving),
            Ok(ChangeResult::Ended(Ok(removed), ChangeDoubt::None)) => Ok(removed),
            Ok(ChangeResult::Ended(Ok(removed), ChangeDoubt::MayBeMade)) => {
                Ok(removed.by_somebody())
            }
            Ok(ChangeResult::Ended(Err(failure), doubt)) => {
                Err(self.refused(&name, failure, doubt))
            }
            Err(error) => Err(self.failed(&name, error)),
        }
    }
}
