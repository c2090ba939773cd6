//! The taints that are asked about, as rules.

use super::impact::{Origin, ProposedTaint};
use super::select::RuleTaint;

/// The proposed taints as the rules that they are or would be, in the order of the question.
pub(super) fn proposed_rules(proposed: &[ProposedTaint]) -> impl Iterator<Item = RuleTaint<'_>> {
    proposed
        .iter()
        .enumerate()
        .map(|(place, proposed)| RuleTaint {
            origin: Origin::Proposed(place),
            name: proposed.rule.as_ref(),
            selector: proposed.selector.as_ref(),
            taint: &proposed.taint,
        })
}
