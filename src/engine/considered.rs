//! The taints that are asked about, as rules.

use super::select::RuleTaint;
use super::{ConsideredTaint, Origin};

/// The considered taints as the rules that they are or would be, in the order of the question.
pub(super) fn considered_rules(
    considered: &[ConsideredTaint],
) -> impl Iterator<Item = RuleTaint<'_>> {
    considered
        .iter()
        .enumerate()
        .map(|(place, considered)| RuleTaint {
            origin: Origin::Considered(place),
            name: considered.rule.as_ref(),
            selector: considered.selector.as_ref(),
            taint: &considered.taint,
        })
}
