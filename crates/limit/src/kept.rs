//! States as plain numbers, for whoever keeps them in a form of its own.
//!
//! What [`PolicySet::keep`] gives, [`PolicySet::recall`] takes back, and so it takes numbers that somebody else worked
//! out: any numbers make a sound cell or are refused. Not here: bytes (`cell_bytes`).

use crate::cell::Cell;
use crate::cell_bytes::CellError;
use crate::log::Log;
use crate::policy::{Policy, Rule};
use crate::set::PolicySet;
use crate::slices::Slices;
use crate::state::State;
use crate::time::Instant;

/// What one policy remembers about one key, as of the cell's newest charge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptState {
    /// Buckets: grains spent and not yet refilled.
    Spent(u128),
    /// Fixed window: what was counted in the window of the cell's time.
    Count(u64),
    /// Weighted windows: what was counted in the window of the cell's time, and in the one before.
    Pair {
        /// In the window of the cell's time.
        current: u64,
        /// In the window before.
        previous: u64,
    },
    /// Sliding log: nanosecond and cost. Sliding counters: first nanosecond of the slice, and what was counted in it.
    /// Oldest first, each time once.
    Entries(Vec<(u64, u64)>),
}

impl PolicySet {
    /// When a cell was last charged, and what each policy remembers.
    pub fn keep<const N: usize>(&self, cell: &Cell<N>) -> (Instant, Vec<KeptState>) {
        cell.view(self, |at, states| {
            let each = self.policies().iter().zip(states);
            (
                at,
                each.map(|(policy, state)| kept(policy, state)).collect(),
            )
        })
    }

    /// The cell that remembers this. Entries that no longer count are left out.
    pub fn recall<const N: usize>(
        &self,
        at: Instant,
        kept: &[KeptState],
    ) -> Result<Cell<N>, CellError> {
        if kept.len() != self.policies().len() {
            return Err(CellError::Policy);
        }
        let states = self.policies().iter().zip(kept);
        let states = states.map(|(policy, kept)| state(policy, kept, at));
        let states: Vec<State> = states.collect::<Result<_, _>>()?;
        let mut cell = Cell::fresh(self);
        cell.edit(self, |time, fresh| {
            *time = at;
            for (to, state) in fresh.iter_mut().zip(states) {
                *to = state;
            }
        });
        Ok(cell)
    }
}

fn kept(policy: &Policy, state: &State) -> KeptState {
    match (state, &policy.rule) {
        (State::Spent(grains), _) => KeptState::Spent(*grains),
        (State::Count(count), _) => KeptState::Count(*count),
        (State::Pair { current, previous }, _) => KeptState::Pair {
            current: *current,
            previous: *previous,
        },
        (State::Log(log), _) => {
            let entries = log.entries().map(|(time, cost)| (time.as_nanos(), cost));
            KeptState::Entries(entries.collect())
        }
        (State::Slices(slices), Rule::Slices(rule)) => {
            let in_use = slices.in_use(rule.slices);
            // A slice that was written begins at an instant, so nothing saturates.
            let starts = in_use.map(|(slice, count)| (slice.saturating_mul(rule.width_ns), count));
            KeptState::Entries(starts.collect())
        }
        (State::Slices(_), _) => KeptState::Entries(Vec::new()),
    }
}

fn state(policy: &Policy, kept: &KeptState, at: Instant) -> Result<State, CellError> {
    match (kept, &policy.rule) {
        (KeptState::Spent(grains), Rule::Bucket(_)) => Ok(State::Spent(*grains)),
        (KeptState::Count(count), Rule::Window(_)) => Ok(State::Count(*count)),
        (KeptState::Pair { current, previous }, Rule::Weighted(_)) => Ok(State::Pair {
            current: *current,
            previous: *previous,
        }),
        (KeptState::Entries(entries), Rule::Log(rule)) => {
            in_order(entries, at.as_nanos())?;
            let mut log = Log::default();
            for (time, cost) in entries {
                let time = Instant::from_nanos(*time);
                if rule.counts(time, at) {
                    log.add(time, *cost);
                }
            }
            Ok(State::Log(Box::new(log)))
        }
        (KeptState::Entries(entries), Rule::Slices(rule)) => {
            in_order(entries, at.as_nanos())?;
            if entries.iter().any(|(start, _)| start % rule.width_ns != 0) {
                return Err(CellError::State);
            }
            let newest = rule.slice(at);
            let slices = entries
                .iter()
                .map(|(start, count)| (start / rule.width_ns, *count));
            let counting = slices.filter(|(slice, _)| newest - slice < rule.slices);
            let slices = Slices::of(newest, &counting.collect::<Vec<_>>(), rule);
            Ok(State::Slices(Box::new(slices)))
        }
        _ => Err(CellError::Algorithm),
    }
}

/// Refuses entries that are not in order, come after `last`, or count nothing.
fn in_order(entries: &[(u64, u64)], last: u64) -> Result<(), CellError> {
    let rising = entries.is_sorted_by(|a, b| a.0 < b.0);
    let sound = |(time, count): &(u64, u64)| *time <= last && *count > 0;
    if rising && entries.iter().all(sound) {
        Ok(())
    } else {
        Err(CellError::State)
    }
}
