//! How the machines of a policy come about: one for each shard of its keys, known by a tag.
//!
//! Not here: which mode counts a policy, and what a machine is.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tollgate_contract::{Contract, NamedPolicy};
use tollgate_limit::Instant;
use tollgate_mode::{Build, ClockKind, Mode, ModeKind, Tag};

use super::roster::Roster;
use super::seat::PolicyShards;
use super::tag::shard_tag;
use super::uncounted::Uncountable;
use super::{Company, LockedMachine, Seats};

/// A shard of a policy that has no machine yet.
#[derive(Clone, Copy)]
pub(super) struct ToBuild<'a> {
    pub(super) kind: &'a dyn ModeKind,
    pub(super) named: &'a NamedPolicy,
    /// What other nodes know it by.
    pub(super) tag: u64,
}

impl Company {
    /// A machine of a policy's first shard that begins now, by the roster in force or another; `None` where no mode of
    /// this node counts the policy.
    pub(super) fn build(
        &self,
        contract: &Contract,
        named: &NamedPolicy,
        roster: Option<&Roster>,
        now: Instant,
    ) -> Option<Result<Box<dyn Mode>, Uncountable>> {
        let kind = self.kind(contract, named)?;
        let tag = tag_of(kind, contract, named);
        let part = self.build_as(ToBuild { kind, named, tag }, roster, now);
        Some(part.map_err(|why| Uncountable::of(contract, named, why)))
    }

    /// A machine of the shard of a policy that other nodes know by a tag.
    pub(super) fn build_as(
        &self,
        shard: ToBuild<'_>,
        roster: Option<&Roster>,
        now: Instant,
    ) -> Result<Box<dyn Mode>, String> {
        let ToBuild { kind, named, tag } = shard;
        let union = self.union.as_ref().filter(|_| kind.is_by_roster());
        let roster = union.map(|union| union.part(tag, roster, now));
        let build = Build {
            policy: named,
            tag,
            numbers: &self.numbers(),
            start: match kind.clock() {
                ClockKind::Wall => now,
                ClockKind::Steady => self.steady(now),
            },
            roster: roster.as_ref(),
        };
        kind.build(&build)
    }

    /// The machines of a policy, one for each shard: those there were, by the numbers of today, or new ones. `None`
    /// where no mode of this node counts it, or a mode cannot: whoever loads contracts asks [`Node::countable`] first.
    pub(crate) fn shards(
        &self,
        contract: &Contract,
        named: &NamedPolicy,
        before: &Seats,
        now: Instant,
    ) -> Option<Box<[Arc<LockedMachine>]>> {
        let kind = self.kind(contract, named)?;
        let tag = tag_of(kind, contract, named);
        let known = before.get(&tag).map(|first| Arc::clone(&first.policy));
        let policy = known.unwrap_or_else(|| Arc::new(PolicyShards::new(kind.shards())));
        let mut shards = Vec::with_capacity(policy.count);
        for shard in 0..policy.count {
            let tag = shard_tag(tag, shard);
            let known = before.get(&tag).cloned();
            let is_new = known.is_none();
            let seat = match known {
                Some(seat) => seat,
                None => Arc::new(LockedMachine::new(
                    self.made.fetch_add(1, Relaxed),
                    tag,
                    Arc::clone(&policy),
                    kind,
                    self.build_as(ToBuild { kind, named, tag }, None, now)
                        .ok()?,
                )),
            };
            let mut held = seat.hold(self);
            if !is_new {
                held.change(named, now);
            }
            if held.release() {
                self.outbox.wake();
            }
            shards.push(seat);
        }
        Some(shards.into())
    }
}

/// The name of a policy's part on the wire.
fn tag_of(kind: &dyn ModeKind, contract: &Contract, named: &NamedPolicy) -> u64 {
    let mut tag = Tag::of(contract, named);
    kind.tag(&mut tag, named);
    tag.finish()
}
