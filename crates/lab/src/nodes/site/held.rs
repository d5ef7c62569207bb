//! What the node at a place holds of keys of other nodes: it is asked, and carried for, as the daemon does.
//!
//! Not here: places that are no nodes.

use tollgate_limit::{Cost, Instant};
use tollgate_node::{HeldAnswer, HeldDecision, Node};

use super::{Fate, Kind, Site, SiteEvent, Wish, short};

/// A request that waits for a lease of the node here.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldWait {
    pub(super) ticket: u64,
    pub(super) key: u64,
    pub(super) cost: u64,
}

/// A key that the node here may hold, by its number in the world, and where it is lent.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldHome {
    pub(super) key: u64,
    pub(super) lender: u16,
}

impl Site {
    /// The same by the node here, as the daemon asks it.
    pub(super) fn check_held(&mut self, wish: &Wish, now: Instant) -> Fate {
        let cost = Cost::new(wish.cost).unwrap_or(Cost::MAX);
        let said = self.spot(wish.key).and_then(|(node, spot)| {
            let said = node.check_held(&spot, cost, now);
            said.or_else(|| node.hold(&spot, cost, now))
        });
        let fate = match said {
            Some(HeldAnswer::Now(answer)) if answer.is_allowed() => {
                Fate::Passes(answer.verdict.wait())
            }
            Some(HeldAnswer::Now(_)) => Fate::Refused,
            Some(HeldAnswer::Wait(name)) => {
                let &Wish {
                    key, cost, lender, ..
                } = wish;
                self.asked += 1;
                let ticket = self.asked;
                self.waits.insert(name, HeldWait { ticket, key, cost });
                self.homes.insert(name.0, HeldHome { key, lender });
                Fate::Later(ticket)
            }
            None => Fate::Later(self.ask(wish.key, wish.cost, wish.lender)),
        };
        self.follow(now);
        fate
    }

    /// The same of what the node here holds.
    pub(super) fn follow_node(&mut self, node: &Node, now: Instant) {
        let mut said = Vec::new();
        node.poll_inquiries(now, |inquiry| said.push(inquiry));
        for inquiry in said {
            if let Some(home) = self.homes.get(&inquiry.name).copied() {
                self.say(home.lender, Kind::Inquiry, home.key, inquiry.bytes);
            }
        }
        for HeldDecision { name, by, answer } in node.poll_held(now) {
            let (Some(wait), Some(home)) = (self.waits.remove(&name), self.homes.get(&name.0))
            else {
                continue;
            };
            let HeldWait { ticket, key, cost } = wait;
            let Some((answer, by)) = answer.zip(by) else {
                let bytes = short(key, ticket, cost);
                self.say(home.lender, Kind::Check, key, bytes);
                continue;
            };
            let passes = answer.is_allowed().then(|| answer.verdict.wait());
            self.log.tell(SiteEvent::Decided {
                site: self.me,
                key,
                ticket,
                cost,
                passes,
                by,
            });
        }
    }
}
