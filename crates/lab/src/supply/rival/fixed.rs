//! Everybody has the same share for good.
//!
//! Not here: anything that passes supply.

use super::purse::{Purse, fine};
use crate::nodes::Member;
use crate::supply::stage::{Fleet, MemberStart, Sharer, SupplySetting};

/// The limit over the number of founders, for each of them.
#[derive(Clone, Debug)]
pub(crate) struct Static(pub(crate) SupplySetting);

#[derive(Debug)]
pub(crate) struct StaticNode {
    supply: i64,
    purse: Purse,
}

impl Fleet for Static {
    type Member = StaticNode;

    fn boot(&self, seat: &MemberStart) -> StaticNode {
        let supply = share(&self.0, seat);
        StaticNode {
            supply,
            purse: purse(&self.0, supply, seat),
        }
    }
}

/// What a node starts with: an even share, for founders; the first get what does not divide.
pub(crate) fn share(setting: &SupplySetting, seat: &MemberStart) -> i64 {
    if seat.node >= setting.founders {
        return 0;
    }
    let count = u64::from(setting.founders.max(1));
    let extra = u64::from(u64::from(seat.node) < setting.rate % count);
    (setting.rate / count + extra).cast_signed()
}

/// A bucket for it: full at the first start, empty after a crash, which may have been right after it was spent.
pub(crate) fn purse(setting: &SupplySetting, supply: i64, seat: &MemberStart) -> Purse {
    let mut purse = Purse::full(supply, seat.now, setting.depth_us, setting.drift);
    if seat.boot > 0 {
        purse.give(1, 1);
    }
    purse
}

impl Member for StaticNode {
    type Message = ();

    fn handle_message(&mut self, _from: u16, _message: &(), _now: u64) {}

    fn handle_timeout(&mut self, _now: u64) {}

    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    fn poll_send(&mut self) -> Option<(u16, ())> {
        None
    }
}

impl Sharer for StaticNode {
    fn handle_request(&mut self, now: u64) -> bool {
        self.purse.refill(self.supply, now);
        self.purse.spend()
    }

    fn usable(&self, _now: u64) -> i128 {
        fine(self.supply)
    }
}
