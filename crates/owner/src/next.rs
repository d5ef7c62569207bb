//! Whom a question is asked of first, and next where that one has no answer, and what is done where nobody has one.
//!
//! Not here: what is sent (`asking`), and what policies say (`here`).

use std::sync::Arc;

use tollgate_gossip::NodeId;
use tollgate_limit::Instant;
use tollgate_node::{Node, Spot};

use crate::asking::{AskTally, NoReply};
use crate::here;
use crate::map::Map;
use crate::owners::Owners;
use crate::question::{Question, RemoteAnswer, Verb};
use crate::work::{OwnerStep, To, Work};

/// Where and when questions are asked.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    pub(crate) owners: &'a Owners,
    pub(crate) node: &'a Arc<Node>,
    pub(crate) map: &'a Map,
    pub(crate) now: Instant,
}

impl At<'_> {
    pub(crate) fn plan(&self, question: Question, tally: &mut AskTally) -> Work {
        let Self { owners, map, .. } = *self;
        match question.verb {
            Verb::Check if owners.is_all_stored() => {}
            Verb::Check => {
                if let Some(answer) = owners.denied.get(self, &question) {
                    tally.denied_here += 1;
                    let mut work = Work::new(question, |_| None);
                    work.hear(0, Some(RemoteAnswer::Answer(answer)), self.node, self.now);
                    return work;
                }
            }
            Verb::Refund | Verb::Reset | Verb::Settle(_) => owners.denied.forget(&question.spots),
            Verb::Charge | Verb::Status | Verb::Foresee | Verb::Lend(_) | Verb::Quota(..) => {}
        }
        let known = owners.known();
        Work::new(question, |spot| {
            owners.decides(&known, map, self.node, spot)
        })
    }

    /// A node has no counts of a key, which come to it just now: the node that follows is asked, which had the key
    /// before. Where that one has none either, the owner decides all the same.
    pub(crate) fn ask_next(&self, work: &mut Work, at: usize) {
        let Self {
            owners, map, node, ..
        } = *self;
        let known = owners.known();
        let Some((asked, step)) = asked_of(work, at) else {
            return;
        };
        let next = |spot: &Spot| owners.next_owner(&known.crew, map, spot, asked);
        // Its cell left this node, and is about to be there.
        let is_mine = |spot: &Spot| next(spot).is_none() && owners.awaits(&known, map, node, spot);
        let is_last = step.is_retry || step.question.spots.iter().any(is_mine);
        work.retry(at, is_last, |spot| {
            let first = owners.owner_of(&known, map, node, spot)?;
            let to = if is_last { Some(first) } else { next(spot) };
            to.map(To::Node)
        });
    }

    /// A node gave no answer: whoever owns the keys instead is asked, once.
    pub(crate) fn fail(&self, work: &mut Work, at: usize, why: NoReply, tally: &mut AskTally) {
        let Self {
            owners, map, node, ..
        } = *self;
        match why {
            NoReply::Late => tally.late += 1,
            NoReply::Gone | NoReply::Busy => tally.unreachable += 1,
        }
        let known = owners.known();
        let Some((gone, step)) = asked_of(work, at) else {
            return;
        };
        let is_gone = why == NoReply::Gone || !owners.has_member(gone);
        let is_once = step.question.verb.is_once();
        let was_sent_on = step.is_retry && !step.is_last;
        if !is_gone || is_once || step.is_retry && !was_sent_on {
            return self.fall_back(work, at, tally);
        }
        tally.retried += 1;
        // Whoever follows a node that is gone decides all the same: its counts are gone as well.
        work.retry(at, true, |spot| {
            if was_sent_on {
                return owners.owner_of(&known, map, node, spot).map(To::Node);
            }
            let next = owners.next_owner(&known.crew, map, spot, gone);
            if next.is_none() && map.is_lent(spot.contract) {
                node.act_for(spot, self.now);
            }
            next.map(To::Node)
        });
    }

    pub(crate) fn fall_back(&self, work: &mut Work, at: usize, tally: &mut AskTally) {
        let Self {
            owners,
            node,
            map,
            now,
        } = *self;
        let Some(step) = work.step(at) else {
            return;
        };
        let instead = here::instead(node, map, &step.question, now);
        tally.owners.note(&step.question.verb, instead.wish);
        if instead.wish.is_some() {
            owners.note_strays();
        }
        work.fall_back(at, instead, node, now);
    }
}

/// A step that was asked of a node.
fn asked_of(work: &Work, at: usize) -> Option<(NodeId, &OwnerStep)> {
    let step = work.step(at)?;
    match step.to? {
        To::Node(asked) => Some((asked, step)),
        To::Store(_) | To::Ledger(_) => None,
    }
}
