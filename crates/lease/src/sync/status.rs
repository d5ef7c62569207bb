//! What a node that synchronises shows of its keys.
//!
//! Not here: anything that decides.

use tollgate_limit::Instant;
use tollgate_mode::{Figure, ModeKey, NodeId, counter, gauge};

use super::config::Overdraft;
use super::machine::Syncing;
use crate::amount::tokens;

/// What was counted over all keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncCounts {
    /// Times that a key was told to its centre.
    pub told: u64,
    /// Times that a centre answered.
    pub answered: u64,
    /// Times that this centre was told of a key.
    pub heard: u64,
    /// Of those, what came too late, or for another centre, or from nobody that lives, or found no room.
    pub ignored: u64,
    /// The most whole tokens that a key whose centre this is was below zero.
    pub debt_max: u64,
    /// Whole tokens that were spent while the bucket of the centre had none.
    pub over: u64,
}

/// How the keys of a policy stand at a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncStand {
    /// What was counted.
    pub counts: SyncCounts,
    /// Keys known.
    pub keys: u64,
    /// Those among them whose centre this is.
    pub centred: u64,
    /// Keys of which the centre has not confirmed everything.
    pub untold: u64,
    /// Whole tokens that keys whose centre this is owe now.
    pub debt: u64,
    /// Tokens that all nodes together may admit too much of a key.
    pub over_max: u64,
}

/// How one key stands at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncKey {
    /// The node that is its centre.
    pub centre: NodeId,
    /// Whole tokens left, as far as this node knows.
    pub remaining: u64,
    /// Whole tokens owed, likewise.
    pub debt: u64,
    /// Tokens spent here since the key is known.
    pub spent: u64,
    /// Of those, what the centre has not confirmed.
    pub untold: u64,
    /// Tokens spent by all nodes that this centre heard of; zero elsewhere.
    pub heard: u64,
}

impl Syncing {
    /// How a key stands here.
    pub fn inspect(&mut self, key: ModeKey, now: Instant) -> SyncKey {
        let (limits, me) = (self.setup.config.limits, self.setup.me);
        let remaining = tokens(self.level(key, now));
        let Some(entry) = self.entries.get(key) else {
            return SyncKey {
                centre: self.setup.centre(key),
                remaining,
                debt: 0,
                spent: 0,
                untold: 0,
                heard: 0,
            };
        };
        SyncKey {
            centre: entry.centre,
            remaining,
            debt: entry.debt(&limits, now),
            spent: entry.spent(),
            untold: entry.untold().spent,
            heard: if entry.centre == me {
                entry.spent_by_all()
            } else {
                0
            },
        }
    }

    /// How all keys stand.
    pub fn stand(&mut self, now: Instant) -> SyncStand {
        let (me, limits) = (self.setup.me, self.setup.config.limits);
        let (entries, mut debt) = (&self.entries, 0_u64);
        self.debtors.retain(|key| {
            let entry = entries.get(*key).filter(|entry| entry.centre == me);
            let owed = entry.map_or(0, |entry| entry.debt(&limits, now));
            debt = debt.saturating_add(owed);
            owed > 0
        });
        SyncStand {
            counts: self.counts,
            keys: self.entries.len() as u64,
            centred: self.centred,
            untold: self.lists.untold(),
            debt,
            over_max: self.over_max(),
        }
    }
}

/// How the policy stands, and the key that was asked for.
pub(super) fn of(machine: &mut Syncing, of: Option<ModeKey>, now: Instant) -> Vec<Figure> {
    let mut figures = standing(machine, now);
    figures.extend(counts(machine, now));
    if let Some(key) = of {
        figures.extend(of_key(machine, key, now));
    }
    figures
}

/// How all keys stand. Amounts are tokens.
fn standing(machine: &mut Syncing, now: Instant) -> Vec<Figure> {
    let (config, nodes, stand) = (machine.config(), machine.nodes(), machine.stand(now));
    let counts = stand.counts;
    let debts = match config.keep {
        Overdraft::Debt => "keep",
        Overdraft::Nothing => "forget",
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
        )
        .most(),
        gauge(
            "debt",
            stand.debt,
            "Tokens that keys whose centre this is owe now.",
        )
        .sum(),
        counter(
            "over",
            counts.over,
            "Tokens that were spent while the bucket of the centre had none.",
        ),
        gauge("keys", stand.keys, "Keys that are known.").sum(),
        Figure::new("centred", stand.centred).sum(),
        gauge(
            "untold",
            stand.untold,
            "Keys of which the centre has not confirmed everything.",
        )
        .sum(),
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
fn of_key(machine: &mut Syncing, key: ModeKey, now: Instant) -> Vec<Figure> {
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
