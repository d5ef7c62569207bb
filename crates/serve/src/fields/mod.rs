//! Header fields that tell clients of their quota.
//!
//! Not here: the dialects, which the library shares (`tollgate_client::Report`).

use tollgate_client::{Dialect, Report};
use tollgate_limit::Verdict;
use tollgate_node::Answer;

use crate::engine::{Ask, Turn};

/// Hands over the rate-limit header fields of an answer: names in small letters, values of printable ASCII.
///
/// `dialect` is for contracts that name none themselves. Where one contract with one policy binds the key, and something
/// is left, the answer says everything: no cell is looked up again and nothing is allocated.
#[inline]
pub fn each(
    turn: &Turn<'_>,
    _ask: &Ask<'_>,
    answer: &Answer,
    dialect: Dialect,
    put: impl FnMut(&'static str, &[u8]),
) {
    if is_overtaken(turn, answer) {
        return;
    }
    report(turn, answer).each_field(dialect, put);
}

/// Whether contracts that came while the request was decided gave the answer: it is right, but these contracts have no
/// words for it. A client that hears nothing once is better off than one that hears of a quota nobody has.
#[inline]
fn is_overtaken(turn: &Turn<'_>, answer: &Answer) -> bool {
    let Some(contract) = answer.contract.filter(|_| answer.verdict == Verdict::Allow) else {
        return false;
    };
    let contract = turn.node().contracts().get(contract);
    let policy = contract.and_then(|contract| contract.policies.get(answer.policy));
    policy.is_none_or(|named| named.policy.config().limit != answer.limit)
}

/// How the policies stand that gave an answer: header fields, status and body of a refusal.
#[inline]
pub fn report<'t>(turn: &'t Turn<'_>, answer: &Answer) -> Report<'t> {
    Report::of(turn.node(), answer, turn.now())
}
