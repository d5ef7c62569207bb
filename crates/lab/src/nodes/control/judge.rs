//! Judges what nodes are sure of, by the world's clock: it shares no code with the machines.
//!
//! Not here: the world.

use std::collections::BTreeMap;
use std::sync::Arc;

use tollgate_control::{ControlState, ControlView, SLOTS};

const WORDS: usize = SLOTS / 64;

/// What one node is sure of.
#[derive(Clone, Debug)]
struct Claims {
    /// Until when, by the world's clock.
    end: u64,
    /// The slots, one bit for each.
    slots: [u64; WORDS],
    /// What it was read from, so that it is not read again.
    from: Option<Arc<ControlState>>,
    stopped: Option<Arc<BTreeMap<u16, u64>>>,
}

/// Looks for what must never be.
#[derive(Clone, Debug, Default)]
pub struct ControlJudge {
    /// What was found.
    pub findings: Vec<String>,
    /// How many claims were compared.
    pub checks: u64,
    claims: BTreeMap<usize, Claims>,
    /// The highest epoch that any node was sure of, and which node that was, by slot.
    epochs: BTreeMap<u16, (u64, usize)>,
    /// What was committed, by place.
    commits: BTreeMap<u64, u64>,
}

/// Findings that are kept.
const FINDINGS_MAX: usize = 20;

impl ControlJudge {
    /// A node runs no more: it is sure of nothing.
    pub(super) fn gone(&mut self, place: usize) {
        self.claims.remove(&place);
    }

    /// A node applied a command.
    pub(super) fn committed(&mut self, place: usize, index: u64, hash: u64) {
        let first = *self.commits.entry(index).or_insert(hash);
        if first != hash {
            self.find(format!("node {place} committed another command at {index}"));
        }
    }

    /// What a node is sure of from `now` until `end`.
    pub(super) fn claims(&mut self, place: usize, view: &ControlView, end: u64, now: u64) {
        let known = self.claims.get(&place);
        let is_same = known.is_some_and(|known| {
            let from = known.from.as_ref();
            let stopped = known.stopped.as_ref();
            from.is_some_and(|from| Arc::ptr_eq(from, view.state()))
                && stopped.is_some_and(|stopped| Arc::ptr_eq(stopped, view.stopped()))
        });
        if end <= now {
            self.claims.remove(&place);
            return;
        }
        if is_same {
            if let Some(known) = self.claims.get_mut(&place) {
                known.end = end;
            }
        } else {
            let slots = self.read(place, view);
            let from = Some(Arc::clone(view.state()));
            let stopped = Some(Arc::clone(view.stopped()));
            let claims = Claims {
                end,
                slots,
                from,
                stopped,
            };
            self.claims.insert(place, claims);
        }
        self.compare(place, now);
    }

    fn read(&mut self, place: usize, view: &ControlView) -> [u64; WORDS] {
        let mut slots = [0; WORDS];
        for slot in (0_u16..).take(SLOTS) {
            let in_charge = view.in_charge(slot);
            if in_charge.until.is_none() {
                continue;
            }
            slots[usize::from(slot) / 64] |= 1 << (slot % 64);
            let (highest, whose) = *self.epochs.get(&slot).unwrap_or(&(0, place));
            if in_charge.epoch < highest || (in_charge.epoch == highest && whose != place) {
                let epoch = in_charge.epoch;
                self.find(format!(
                    "slot {slot}: epoch {epoch} of node {place} after {highest} of node {whose}"
                ));
            }
            self.epochs
                .insert(slot, (in_charge.epoch.max(highest), place));
        }
        slots
    }

    fn compare(&mut self, place: usize, now: u64) {
        let Some(mine) = self.claims.get(&place) else {
            return;
        };
        let mut found = None;
        for (other, theirs) in &self.claims {
            self.checks += 1;
            let is_over = theirs.end <= now || mine.end <= now || *other == place;
            let both = mine
                .slots
                .iter()
                .zip(&theirs.slots)
                .position(|(a, b)| a & b > 0);
            if let (false, Some(word)) = (is_over, both) {
                found = Some(format!(
                    "nodes {place} and {other} are sure of a slot near {} at {now}",
                    word * 64
                ));
            }
        }
        if let Some(finding) = found {
            self.find(finding);
        }
    }

    /// Slots of which a node is sure at a time.
    pub fn covered(&self, now: u64) -> usize {
        let mut slots = [0_u64; WORDS];
        for claims in self.claims.values().filter(|claims| claims.end > now) {
            for (all, some) in slots.iter_mut().zip(claims.slots) {
                *all |= some;
            }
        }
        slots.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// How many places of the log were seen committed.
    pub fn commits(&self) -> u64 {
        self.commits.len() as u64
    }

    /// Takes note of something that must never be.
    pub(super) fn find(&mut self, what: String) {
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(what);
        }
    }
}
