//! Cells as bytes, for whoever keeps them longer than a process lives.
//!
//! The bytes name neither policies nor limits: whoever keeps them must know the set that wrote them, and restore by
//! that same set ([`PolicySet::inherit`] then brings the cell to another). States that are as good as never written are
//! left out. Any bytes are read into a sound cell or refused; none make a decision panic.
//!
//! ```text
//! version 1 | time | number of states | per state: place of its policy, kind, numbers
//! ```
//!
//! Every number is a varint: seven bits a byte, lowest first. Not here: names, prints, files.

use core::fmt;

use tollgate_kit::{Reader, put_varint};

use crate::cell::Cell;
use crate::log::Log;
use crate::policy::{Policy, Rule};
use crate::set::PolicySet;
use crate::slices::{SliceRule, Slices};
use crate::state::State;
use crate::tally::bit;
use crate::time::Instant;

/// A cell as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellBytes {
    /// What [`PolicySet::restore`] reads.
    pub bytes: Vec<u8>,
    /// From when on the bytes say no more than a key never seen; the last instant where that is later still.
    pub fresh_at: Instant,
}

/// Why bytes are no cell of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellError {
    /// They were written by a later version.
    Version(u8),
    /// They end too early, or a number in them is too large.
    Cut,
    /// They go on after their end.
    Long,
    /// They name a policy that the set does not have, or name policies out of order.
    Policy,
    /// A state is of another algorithm than its policy.
    Algorithm,
    /// A state is one that its policy never writes.
    State,
}

impl fmt::Display for CellError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "a cell of version {version} cannot be read"),
            Self::Cut => f.write_str("the bytes of a cell end too early"),
            Self::Long => f.write_str("the bytes of a cell go on after its end"),
            Self::Policy => f.write_str("a cell has a state for a policy that is not there"),
            Self::Algorithm => f.write_str("a cell has a state of another algorithm"),
            Self::State => f.write_str("a cell has a state that its policy never writes"),
        }
    }
}

impl core::error::Error for CellError {}

impl PolicySet {
    /// The states of the policies whose bit is set in `keep`, as bytes.
    pub fn store<const N: usize>(&self, cell: &Cell<N>, keep: u64) -> CellBytes {
        cell.view(self, |at, states| {
            let policies = self.policies().iter().zip(states).enumerate();
            let kept = policies.filter(|(place, (policy, state))| {
                keep & bit(*place) != 0 && **state != policy.fresh()
            });
            let (mut count, mut fresh_ns) = (0_u64, 0_u128);
            let mut body = Vec::new();
            for (place, (policy, state)) in kept {
                count += 1;
                fresh_ns = fresh_ns.max(policy.fresh_at_ns(state, at));
                put_varint(&mut body, place as u64);
                put_state(&mut body, policy, state);
            }
            let mut bytes = Vec::with_capacity(body.len() + 12);
            bytes.push(VERSION);
            put_varint(&mut bytes, at.as_nanos());
            put_varint(&mut bytes, count);
            bytes.append(&mut body);
            let fresh_at = Instant::from_nanos(u64::try_from(fresh_ns).unwrap_or(u64::MAX));
            CellBytes { bytes, fresh_at }
        })
    }

    /// The cell that this set wrote as these bytes; policies that were not kept start afresh.
    pub fn restore<const N: usize>(&self, bytes: &[u8]) -> Result<Cell<N>, CellError> {
        let mut reader = CellReader(Reader(bytes));
        match reader.byte()? {
            VERSION => {}
            version => return Err(CellError::Version(version)),
        }
        let at = reader.instant()?;
        let mut next = 0;
        let mut read = Vec::new();
        for _ in 0..reader.word()? {
            let place = usize::try_from(reader.word()?).map_err(|_| CellError::Policy)?;
            let policy = self.policies().get(place).filter(|_| place >= next);
            next = place.saturating_add(1);
            read.push((place, reader.state(policy.ok_or(CellError::Policy)?, at)?));
        }
        if !reader.0.0.is_empty() {
            return Err(CellError::Long);
        }
        let mut cell = Cell::fresh(self);
        cell.edit(self, |time, states| {
            *time = at;
            for (place, state) in read {
                if let Some(to) = states.get_mut(place) {
                    *to = state;
                }
            }
        });
        Ok(cell)
    }
}

const VERSION: u8 = 1;
const SPENT: u8 = 0;
const COUNT: u8 = 1;
const PAIR: u8 = 2;
const LOG: u8 = 3;
const SLICES: u8 = 4;

fn put_state(bytes: &mut Vec<u8>, policy: &Policy, state: &State) {
    match state {
        State::Spent(grains) => {
            bytes.push(SPENT);
            put_varint(bytes, *grains);
        }
        State::Count(count) => {
            bytes.push(COUNT);
            put_varint(bytes, *count);
        }
        State::Pair { current, previous } => {
            bytes.push(PAIR);
            put_varint(bytes, *current);
            put_varint(bytes, *previous);
        }
        State::Log(log) => {
            bytes.push(LOG);
            let times = log.entries().map(|(time, cost)| (time.as_nanos(), cost));
            put_entries(bytes, times);
        }
        State::Slices(slices) => {
            bytes.push(SLICES);
            put_varint(bytes, slices.newest());
            let k = match &policy.rule {
                Rule::Slices(rule) => rule.slices,
                Rule::Bucket(_) | Rule::Window(_) | Rule::Weighted(_) | Rule::Log(_) => 0,
            };
            put_entries(bytes, slices.in_use(k));
        }
    }
}

/// How many there are, then each as the distance from the one before and what it counts.
fn put_entries(bytes: &mut Vec<u8>, entries: impl Iterator<Item = (u64, u64)>) {
    let entries: Vec<_> = entries.collect();
    put_varint(bytes, entries.len() as u64);
    let mut before = 0;
    for (place, count) in entries {
        put_varint(bytes, place.saturating_sub(before));
        put_varint(bytes, count);
        before = place;
    }
}

/// What is left to read.
struct CellReader<'a>(Reader<'a>);

impl CellReader<'_> {
    fn byte(&mut self) -> Result<u8, CellError> {
        self.0.u8().ok_or(CellError::Cut)
    }

    fn number(&mut self) -> Result<u128, CellError> {
        self.0.varint(u128::BITS).ok_or(CellError::Cut)
    }

    fn word(&mut self) -> Result<u64, CellError> {
        u64::try_from(self.number()?).map_err(|_| CellError::Cut)
    }

    fn instant(&mut self) -> Result<Instant, CellError> {
        let nanos = self.word()?;
        let instant = Instant::from_nanos(nanos);
        if instant.as_nanos() == nanos {
            Ok(instant)
        } else {
            Err(CellError::State)
        }
    }

    fn state(&mut self, policy: &Policy, at: Instant) -> Result<State, CellError> {
        match (self.byte()?, &policy.rule) {
            (SPENT, Rule::Bucket(_)) => Ok(State::Spent(self.number()?)),
            (COUNT, Rule::Window(_)) => Ok(State::Count(self.word()?)),
            (PAIR, Rule::Weighted(_)) => Ok(State::Pair {
                current: self.word()?,
                previous: self.word()?,
            }),
            (LOG, Rule::Log(_)) => self.log(at),
            (SLICES, Rule::Slices(rule)) => self.slices(rule, at),
            _ => Err(CellError::Algorithm),
        }
    }

    fn log(&mut self, at: Instant) -> Result<State, CellError> {
        let mut log = Log::default();
        for (time, count) in self.entries(at.as_nanos())? {
            log.add(Instant::from_nanos(time), count);
        }
        Ok(State::Log(Box::new(log)))
    }

    fn slices(&mut self, rule: &SliceRule, at: Instant) -> Result<State, CellError> {
        let newest = self.word()?;
        if newest > rule.slice(at) {
            return Err(CellError::State);
        }
        let entries = self.entries(newest)?;
        let too_old = |entry: &(u64, u64)| newest - entry.0 >= rule.slices;
        if entries.iter().any(too_old) {
            return Err(CellError::State);
        }
        let slices = Slices::of(newest, &entries, rule);
        Ok(State::Slices(Box::new(slices)))
    }

    /// Entries in order, none after `last`, none of nothing.
    fn entries(&mut self, last: u64) -> Result<Vec<(u64, u64)>, CellError> {
        let mut entries = Vec::new();
        let mut place = 0_u64;
        for number in 0..self.word()? {
            let step = self.word()?;
            let count = self.word()?;
            place = place.checked_add(step).ok_or(CellError::State)?;
            if place > last || count == 0 || (number > 0 && step == 0) {
                return Err(CellError::State);
            }
            entries.push((place, count));
        }
        Ok(entries)
    }
}
