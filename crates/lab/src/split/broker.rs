//! A model of a broker: two servers, first come first served, each takes a while to wake up for a batch and a while per
//! message.
//!
//! Messages come when they have their tokens. Those of one batch that come at the same time are one job, and are done
//! one after the other. A broker wakes up once for a batch, however late the last of it has its tokens. Not here:
//! tokens.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "times of a simulation"
)]

use super::topic::DepartedMessage;
use super::traffic::{MICRO, SECOND, exponential};
use crate::dice::{LabDice, Purpose};

/// What a broker takes, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Broker {
    pub(super) wake: u64,
    pub(super) message: u64,
    /// On the way, without any load.
    pub(super) base: u64,
}

/// Calibrated to the document's testbed: 60,000 single messages a second saturate it.
pub(super) const BROKER: Broker = Broker {
    wake: 23 * MICRO,
    message: 10 * MICRO,
    base: 300 * MICRO,
};

/// What a broker carries besides: batches without memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    /// Messages per second.
    pub(super) rate: u64,
    pub(super) batch: u32,
}

struct Others {
    dice: LabDice,
    beside: Beside,
    at: f64,
}

impl Others {
    fn new(beside: Beside, seed: u64) -> Self {
        let mut others = Self {
            dice: LabDice::new(seed, Purpose::Keys),
            beside,
            at: 0.0,
        };
        others.go_on();
        others
    }

    fn go_on(&mut self) {
        let rate = self.beside.rate as f64 / f64::from(self.beside.batch.max(1));
        self.at = if rate > 0.0 {
            self.at + exponential(&mut self.dice, SECOND as f64 / rate)
        } else {
            f64::INFINITY
        };
    }
}

/// When each server is free.
struct Servers([u64; 2]);

impl Servers {
    /// The end of a job that comes at `at`.
    fn serve(&mut self, at: u64, takes: u64) -> u64 {
        let [one, two] = &mut self.0;
        let free = if one <= two { one } else { two };
        *free = at.max(*free) + takes;
        *free
    }
}

impl Broker {
    /// How long each message took from its arrival to its end, in the order in which they left their bucket.
    pub(super) fn latencies(
        &self,
        lefts: &[DepartedMessage],
        beside: Beside,
        seed: u64,
    ) -> Vec<u64> {
        let mut others = Others::new(beside, seed);
        let mut servers = Servers([0; 2]);
        let mut latencies = Vec::with_capacity(lefts.len());
        let mut woken_for = None;
        for job in lefts.chunk_by(|one, two| one.at == two.at && one.burst == two.burst) {
            let Some(first) = job.first() else { continue };
            while others.at < first.at as f64 {
                let takes = self.wake + u64::from(beside.batch) * self.message;
                servers.serve(others.at as u64, takes);
                others.go_on();
            }
            let count = job.len() as u64;
            let is_new = woken_for.replace(first.burst) != Some(first.burst);
            let wake = if is_new { self.wake } else { 0 };
            let end = servers.serve(first.at, wake + count * self.message) + self.base;
            // One after the other, the last at the end.
            let done = (0..count).rev().map(|after| end - after * self.message);
            latencies.extend(job.iter().zip(done).map(|(left, done)| done - left.arrived));
        }
        latencies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_are_served_at_once_and_the_third_waits() {
        let left = |burst, at| DepartedMessage {
            arrived: 0,
            at,
            burst,
        };
        let lefts = [left(0, 0), left(0, 0), left(1, 0), left(2, 0), left(2, 5)];
        let found = BROKER.latencies(&lefts, Beside::default(), 1);
        assert_eq!(found, [333_000, 343_000, 333_000, 366_000, 353_000]);
    }

    #[test]
    fn what_is_carried_besides_takes_time() {
        let lefts: Vec<DepartedMessage> = (0..1_000)
            .map(|at| DepartedMessage {
                arrived: at * 100_000,
                at: at * 100_000,
                burst: at as u32,
            })
            .collect();
        let mean = |rate| {
            let beside = Beside { rate, batch: 10 };
            BROKER.latencies(&lefts, beside, 1).iter().sum::<u64>() / 1_000
        };
        assert_eq!(mean(0), 333_000);
        assert!(mean(80_000) > mean(40_000) && mean(40_000) > mean(0));
    }
}
