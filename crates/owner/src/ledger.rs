//! Questions about keys whose books are in the store, decided over what was loaded of them.
//!
//! Not here: loading and writing it.

use tollgate_node::{Closed, KeyLedger};
use tollgate_store::{Failure, LoadedLedger};

use crate::asking::LedgerAsk;
use crate::question::{Question, RemoteAnswer, Verb};

/// Decides all questions of a group over what was loaded, in order.
pub fn decide_ledger(
    group: &[&LedgerAsk],
    loaded: &LoadedLedger,
) -> Result<(Vec<RemoteAnswer>, Closed), Failure> {
    let broken = || Failure::Broken("a ledger makes no sense".into());
    let first = *group.first().ok_or_else(broken)?;
    let bytes = loaded.bytes.as_deref();
    let opened = first.node.open_ledger(&first.spot, bytes, loaded.at);
    let opened = match opened {
        // What makes no sense is forgotten when somebody says so.
        Err(_) if first.question.verb == Verb::Reset => {
            first.node.open_ledger(&first.spot, None, loaded.at)
        }
        opened => opened,
    };
    let mut ledger = opened.map_err(|_| broken())?.ok_or_else(broken)?;
    let each = group.iter();
    let said = each.map(|ask| answer(&mut ledger, &ask.question));
    let said = said.collect();
    Ok((said, ledger.close()))
}

/// Does what a question asks.
fn answer(ledger: &mut KeyLedger<'_>, question: &Question) -> RemoteAnswer {
    let cost = question.cost;
    match &question.verb {
        Verb::Check => return RemoteAnswer::Answer(ledger.check(cost)),
        Verb::Status => return RemoteAnswer::Statuses(vec![ledger.status()]),
        Verb::Foresee => return RemoteAnswer::Forecasts(vec![ledger.foresee(cost)]),
        Verb::Lend(inquiry) => return RemoteAnswer::Lent(ledger.lend(inquiry).unwrap_or_default()),
        // Data planes cannot say what they hold.
        Verb::Quota(..) => return RemoteAnswer::Quota(None),
        Verb::Charge => ledger.charge(cost),
        Verb::Refund => ledger.refund(cost),
        Verb::Reset => ledger.reset(),
        Verb::Settle(dues) => dues.iter().take(1).for_each(|due| ledger.settle(due, cost)),
    }
    RemoteAnswer::Done(true)
}
