//! A newcomer's question for all elements, its answer, and reading what was told.
//!
//! Not here: whom a newcomer asks (`rounds`).

use tollgate_limit::Instant;
use tollgate_mode::Malformed;

use super::Queue;
use super::wire::{self, Reading};
use crate::codec::Decoder;
use crate::rounds::{END, JOIN, PART_BYTES, STATE};

impl Queue {
    /// Reads elements that the neighbour in a slot knows, and merges them if all of them make sense.
    pub(super) fn take(
        &mut self,
        decoder: Decoder<'_>,
        sender: usize,
        now: Instant,
    ) -> Result<(), Malformed> {
        let reading = Reading {
            bucket: self.rules.bucket,
            step: self.rules.step,
            margin: self.rules.margin,
            now,
        };
        let mut parsed = std::mem::take(&mut self.parsed);
        let read = parsed.read(decoder, reading);
        if read.is_ok() {
            for (key, heard) in parsed.iter() {
                self.absorb(key, heard, sender, now);
            }
        }
        parsed.clear();
        self.parsed = parsed;
        read
    }

    /// Tells a newcomer all that lives.
    pub(super) fn tell_all(&mut self, slot: usize, now: Instant) {
        let Some(to) = self.rounds.node(slot) else {
            return;
        };
        let now = self.rules.bucket.mark(now);
        let mut batch = self.outbox.batch_of(STATE, PART_BYTES, to);
        for (key, line) in &mut self.lines {
            if line.waiting.remove(slot) {
                line.settle(slot, &mut self.counts);
                self.listed -= 1;
            }
            let living = line.living(now);
            if !living.is_empty() {
                wire::encode(batch.next(), self.rules.bucket, *key, &living);
            }
        }
        batch.flush();
        self.outbox.signal(END, to);
    }

    pub(super) fn ask(&mut self) {
        for slot in self.asks.due(&self.rounds) {
            if let Some(to) = self.rounds.node(slot) {
                self.outbox.signal(JOIN, to);
            }
        }
    }
}
