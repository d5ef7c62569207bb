//! A node's part in one policy under sync, at the boundary.
//!
//! Not here: the scheme.

use tollgate_contract::{Contract, Coordination, NamedPolicy};
use tollgate_limit::{Instant, Span};
use tollgate_mode::{
    Build, Event, Figure, Key, Mode, ModeKind, by_machine, counter, gauge, told_by_machine,
    wait_max,
};

use super::{Syncing, SyncingSetup};
use crate::config::bucket_limits;
use crate::sync::{Keep, SyncConfig};

/// Synchronising now and then among the ways to agree.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sync;

impl ModeKind for Sync {
    fn coordination(&self) -> Coordination {
        Coordination::Sync
    }

    fn check(&self, _: &Contract, policy: &NamedPolicy) -> Result<(), String> {
        config(policy).map(drop)
    }

    fn build(&self, build: &Build<'_>) -> Result<Box<dyn Mode>, String> {
        let machine = Syncing::new(SyncingSetup {
            config: config(build.policy)?,
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
        if let Ok(config) = config(policy) {
            self.machine.change(config, now);
            self.machine.set_wait_max(wait_max(policy.policy.config()));
        }
    }

    fn handle_event(&mut self, event: &Event<'_>, now: Instant) {
        match event {
            Event::Members(alive) => self.machine.handle_members(alive, now),
            Event::Delay(delay) => self.machine.set_trip(trip(*delay)),
            Event::Leave => self.machine.handle_leave(now),
            Event::Renumber(numbers) => {
                let me = (numbers.me, numbers.writer);
                self.machine.renumber(me, &numbers.members, now);
            }
            Event::ClockSet { from, to, .. } => self.machine.move_time(*from, *to),
            Event::Roster { .. }
            | Event::Join
            | Event::Kept(_)
            | Event::GiveUp
            | Event::Day { .. } => {}
        }
    }

    fn status(&mut self, of: Option<Key>, now: Instant) -> Vec<Figure> {
        let mut figures = standing(&mut self.machine, now);
        figures.extend(counts(&mut self.machine, now));
        figures.extend(
            of.map(|key| of_key(&mut self.machine, key, now))
                .unwrap_or_default(),
        );
        figures
    }
}

/// How a policy is synchronised.
fn config(policy: &NamedPolicy) -> Result<SyncConfig, String> {
    let limits = bucket_limits(policy.policy.config());
    Ok(SyncConfig {
        limits: limits.map_err(|error| error.to_string())?,
        interval_ns: policy.interval_ns(),
        keep: if policy.forgets_debts() {
            Keep::Nothing
        } else {
            Keep::Debt
        },
    })
}

/// How long a message and its answer take, where one takes that long.
fn trip(delay: Span) -> u64 {
    u64::try_from(delay.as_nanos().saturating_mul(2)).unwrap_or(u64::MAX)
}

/// How all keys stand. Amounts are tokens.
fn standing(machine: &mut Syncing, now: Instant) -> Vec<Figure> {
    let (config, nodes, stand) = (machine.config(), machine.nodes(), machine.stand(now));
    let counts = stand.counts;
    let debts = match config.keep {
        Keep::Debt => "keep",
        Keep::Nothing => "forget",
    };
    vec![
        Figure::new("interval_ms", config.interval_ns / 1_000_000),
        Figure::new("debts", debts),
        Figure::new("nodes", nodes),
        gauge(
            "over_admission_bound",
            stand.over_max,
            "Tokens that all live nodes together may admit too much of a key at once.",
        ),
        gauge(
            "debt_max",
            counts.debt_max,
            "The most tokens that a key whose centre this is was below zero.",
        ),
        gauge(
            "debt",
            stand.debt,
            "Tokens that keys whose centre this is owe now.",
        ),
        counter(
            "over",
            counts.over,
            "Tokens that were spent while the bucket of the centre had none.",
        ),
        gauge("keys", stand.keys, "Keys that are known."),
        Figure::new("centred", stand.centred),
        gauge(
            "untold",
            stand.untold,
            "Keys of which the centre has not confirmed everything.",
        ),
    ]
}

fn counts(machine: &mut Syncing, now: Instant) -> Vec<Figure> {
    let counts = machine.stand(now).counts;
    vec![
        counter(
            "counts.told",
            counts.told,
            "Times that a key was told to its centre.",
        ),
        counter(
            "counts.answered",
            counts.answered,
            "Times that a centre answered.",
        ),
        counter(
            "counts.heard",
            counts.heard,
            "Times that this centre was told of a key.",
        ),
        counter(
            "counts.ignored",
            counts.ignored,
            "Of these, what came too late, or for another centre, or from a node that is not alive, or found no room.",
        ),
    ]
}

/// How the key stands that was asked for.
fn of_key(machine: &mut Syncing, key: Key, now: Instant) -> Vec<Figure> {
    let stand = machine.inspect(key, now);
    vec![
        Figure::new("key.centre", u64::from(stand.centre.0)),
        Figure::new("key.remaining", stand.remaining),
        Figure::new("key.debt", stand.debt),
        Figure::new("key.spent", stand.spent),
        Figure::new("key.untold", stand.untold),
        Figure::new("key.heard", stand.heard),
    ]
}
