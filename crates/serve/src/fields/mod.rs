//! Header fields that tell clients of their quota.
//!
//! Not here: the dialects, which the library shares (`tollgate_client::Report`).

use tollgate_client::{Dialect, Report};
use tollgate_node::Answer;

use crate::engine::Turn;

/// Hands over the rate-limit header fields of an answer: names in small letters, values of printable ASCII.
///
/// `dialect` is for contracts that name none themselves. Where one contract with one policy binds the key, and something
/// is left, the answer says everything: no cell is looked up again and nothing is allocated.
#[inline]
pub fn each(
    turn: &Turn<'_>,
    answer: &Answer,
    dialect: Dialect,
    put: impl FnMut(&'static str, &[u8]),
) {
    report(turn, answer).each_field(dialect, put);
}

/// How the policies stand that gave an answer: header fields, status and body of a refusal.
#[inline]
pub fn report<'t>(turn: &'t Turn<'_>, answer: &'t Answer) -> Report<'t> {
    Report::of(turn.node(), answer, turn.now())
}
