//! Data planes that are assigned quotas out of the pools of this node.
//!
//! Only of contracts with one policy, which is lent. Not here: what is assigned (`tollgate-lease`), which node is
//! asked, and streams.

use tollgate_lease::{Lender, PlaneId, QuotaReport, QuotaStand, QuotaTold};
use tollgate_limit::Instant;

use super::lend::{each_lender, lender};
use super::tag::key;
use crate::apart::Spot;
use crate::node::Node;

impl Node {
    /// Takes a report of a data plane; `None` where nothing is assigned, or there is no room for the key.
    pub fn quota_report(
        &self,
        spot: &Spot,
        plane: PlaneId,
        report: &QuotaReport,
        now: Instant,
    ) -> Option<QuotaTold> {
        self.of_planes(spot, now, true, |lender, now| {
            lender.handle_report(key(spot.print), plane, report, now)
        })?
    }

    /// Does what is due for a data plane.
    pub fn quota_due(&self, spot: &Spot, plane: PlaneId, now: Instant) -> QuotaTold {
        let told = self.of_planes(spot, now, false, |lender, now| {
            lender.handle_due(key(spot.print), plane, now)
        });
        told.unwrap_or_default()
    }

    /// A data plane is gone.
    pub fn quota_leave(&self, spot: &Spot, plane: PlaneId, now: Instant) {
        self.of_planes(spot, now, false, |lender, _| {
            lender.leave(key(spot.print), plane);
        });
    }

    /// How data planes stand, all contracts together.
    pub fn quota_stand(&self) -> QuotaStand {
        let node = self.newest();
        let mut sum = QuotaStand::default();
        let Some(company) = node.company() else {
            return sum;
        };
        for (_, _, parts) in node.placed_parts() {
            each_lender(company, parts.each(), None, |lender, _| {
                let stand = lender.quota_stand();
                sum.keys += stand.keys;
                sum.planes += stand.planes;
                sum.figures = sum.figures.with(&stand.figures);
            });
        }
        sum
    }

    /// Does something with whoever lends the only policy of a contract.
    fn of_planes<T>(
        &self,
        spot: &Spot,
        now: Instant,
        is_new: bool,
        act: impl FnOnce(&mut Lender, Instant) -> T,
    ) -> Option<T> {
        let lent_parts = self.lent_parts(spot.contract);
        let (_, company, parts) =
            lent_parts.filter(|_| !self.is_beside(spot.contract, spot.print))?;
        let [part] = parts else {
            return None;
        };
        let mut held = part.shard(key(spot.print)).hold(company);
        let now = held.at(Some(now));
        let has_room = !is_new || held.has_room(key(spot.print), now);
        let done = match lender(&mut held) {
            Some(lender) if has_room => Some(act(lender, now)),
            _ => None,
        };
        if held.release() {
            company.outbox().wake();
        }
        done
    }
}
