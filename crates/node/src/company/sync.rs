//! Policies of which every node has the whole bucket, and tells a centre now and then what it spent.
//!
//! Not here: the scheme (`tollgate-lease`), and who carries frames.

use std::sync::Arc;

use tollgate_contract::{Contract, NamedPolicy};
use tollgate_gossip::NodeId;
use tollgate_lease::{BadLimits, Keep, SyncConfig, SyncKey, SyncStand, Syncing, SyncingSetup};
use tollgate_limit::{Instant, Span};
use tollgate_table::Print;

use super::build::wait_max;
use super::lend::bucket_limits;
use super::mind::Mind;
use super::tag::{key, sync_tag};
use super::{Company, Membership, Seat, Seats};
use crate::node::Node;

/// How one policy that is synchronised stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicySync {
    /// The contract's id.
    pub contract: String,
    /// The policy's name.
    pub policy: String,
    /// What it is called on the wire.
    pub tag: u64,
    /// How it is synchronised.
    pub config: SyncConfig,
    /// Live nodes, this one included.
    pub nodes: u64,
    /// All keys together.
    pub stand: SyncStand,
    /// The key that was asked for.
    pub key: Option<SyncKey>,
}

/// How a policy is synchronised.
fn config(named: &NamedPolicy) -> Result<SyncConfig, BadLimits> {
    Ok(SyncConfig {
        limits: bucket_limits(named.policy.config())?,
        interval_ns: named.syncing.interval_ns,
        keep: if named.syncing.forgets {
            Keep::Nothing
        } else {
            Keep::Debt
        },
    })
}

/// How long a message and its answer take, where one takes that long.
pub(super) fn trip(delay: Span) -> u64 {
    u64::try_from(delay.as_nanos().saturating_mul(2)).unwrap_or(u64::MAX)
}

impl Company {
    /// The seat of a policy that is synchronised: the one there was, by the numbers of today, or a new one.
    pub(super) fn synced(
        &self,
        (contract, named): (&Contract, &NamedPolicy),
        before: &Seats,
        order: u64,
        now: Instant,
    ) -> Option<Arc<Seat>> {
        let (tag, config) = (sync_tag(contract, named), config(named).ok()?);
        let wait_max = wait_max(named.policy.config());
        if let Some(seat) = before.get(&tag) {
            let mut held = seat.hold(self);
            if let Some(syncing) = held.machine().sync() {
                syncing.change(config, now);
                syncing.set_wait_max(wait_max);
            }
            held.release();
            return Some(Arc::clone(seat));
        }
        let membership = self.membership.lock();
        let setup = SyncingSetup {
            config,
            me: membership.me,
            writer: membership.writer,
            members: membership.members.clone(),
            wait_max,
            trip_ns: trip(membership.knobs.delay),
        };
        let mind = Mind::Sync(Box::new(Syncing::new(setup)));
        Some(Arc::new(Seat::new(order, (tag, None), mind)))
    }
}

impl Seat {
    /// Goes on under other numbers, where it synchronises.
    pub(super) fn renumber(&self, company: &Company, now_is: &Membership, now: Instant) {
        let mut held = self.hold(company);
        let (me, members): (NodeId, &[NodeId]) = (now_is.me, &now_is.members);
        if let Some(syncing) = held.machine().sync() {
            syncing.renumber((me, now_is.writer), members, now);
        }
        held.release();
    }
}

impl Node {
    /// How policies that are synchronised stand, in the order of the contracts: for one key of one contract, or all.
    pub fn sync_status(&self, of: Option<(usize, Print)>, now: Instant) -> Vec<PolicySync> {
        self.told(of, now, |title, held, now| {
            let syncing = held.machine().sync()?;
            Some(PolicySync {
                contract: title.contract,
                policy: title.policy,
                tag: title.tag,
                config: syncing.config(),
                nodes: syncing.nodes(),
                stand: syncing.stand(now),
                key: of.map(|(_, print)| syncing.inspect(key(print), now)),
            })
        })
    }
}
