//! A node's part in one policy under sync, at the boundary.
//!
//! Not here: the scheme.

use tollgate_contract::{Contract, Coordination, NamedPolicy};
use tollgate_limit::{Instant, Span};
use tollgate_mode::{
    Build, Figure, Mode, ModeEvent, ModeKey, ModeKind, SHARDS, by_machine, told_by_machine,
    wait_max,
};

use super::config::SyncConfig;
use super::machine::{Syncing, SyncingSetup};
use super::status;

/// Synchronising now and then among the ways to agree.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sync;

impl ModeKind for Sync {
    fn coordination(&self) -> Coordination {
        Coordination::Sync
    }

    fn shards(&self) -> usize {
        SHARDS
    }

    fn check(&self, _: &Contract, policy: &NamedPolicy) -> Result<(), String> {
        SyncConfig::of(policy).map(drop)
    }

    fn build(&self, build: &Build<'_>) -> Result<Box<dyn Mode>, String> {
        let machine = Syncing::new(SyncingSetup {
            config: SyncConfig::of(build.policy)?,
            me: build.numbers.me,
            writer: build.numbers.writer,
            members: build.numbers.members.clone(),
            wait_max: wait_max(build.policy.policy.config()),
            trip_ns: trip(build.numbers.delay),
        });
        Ok(Box::new(Part { machine }))
    }
}

/// One node's part in one policy.
#[derive(Debug)]
struct Part {
    machine: Syncing,
}

impl Mode for Part {
    by_machine!();
    told_by_machine!();

    fn design(&self) -> &'static str {
        Coordination::Sync.name()
    }

    fn change(&mut self, policy: &NamedPolicy, now: Instant) {
        if let Ok(config) = SyncConfig::of(policy) {
            self.machine.change(config, now);
            self.machine.set_wait_max(wait_max(policy.policy.config()));
        }
    }

    fn handle_event(&mut self, event: &ModeEvent<'_>, now: Instant) {
        match event {
            ModeEvent::Members(alive) => self.machine.handle_members(alive, now),
            ModeEvent::Delay(delay) => self.machine.set_trip(trip(*delay)),
            ModeEvent::Leave => self.machine.handle_leave(now),
            ModeEvent::Renumber(numbers) => {
                let me = (numbers.me, numbers.writer);
                self.machine.renumber(me, &numbers.members, now);
            }
            ModeEvent::ClockSet { from, to, .. } => self.machine.move_time(*from, *to),
            ModeEvent::Roster { .. }
            | ModeEvent::Join
            | ModeEvent::Kept(_)
            | ModeEvent::GiveUp
            | ModeEvent::Day { .. } => {}
        }
    }

    fn status(&mut self, of: Option<ModeKey>, now: Instant) -> Vec<Figure> {
        status::of(&mut self.machine, of, now)
    }
}

/// How long a message and its answer take, where one takes that long.
fn trip(delay: Span) -> u64 {
    u64::try_from(delay.as_nanos().saturating_mul(2)).unwrap_or(u64::MAX)
}
