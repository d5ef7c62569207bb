//! Who is asked to speak when a lessee gets less than its share (G8).
//!
//! Hints are only hints: nothing depends on their arriving. Not here: what those who speak are left with.

use super::{Pool, Record};
use crate::amount::part;

impl Pool {
    /// Asks those who have more than their share, then the largest who were silent, to speak.
    pub(super) fn nudge(&mut self, short: u64) {
        let now = self.level.at;
        let crowd = self.crowd(0);
        let is_due = |record: &Record| {
            now.nanos_since(record.nudged) >= PAUSE_NS || record.nudged.as_nanos() == 0
        };
        let is_over =
            |record: &Record| record.booked.rate > part(crowd.rate_share(record.want), 11, 10);
        let is_silent = |record: &Record| now.nanos_since(record.heard) >= PAUSE_NS;
        let others = self
            .busy
            .records
            .iter()
            .filter(|(client, record)| **client != short && is_due(record));
        let mut chosen: Vec<_> = others
            .filter(|(_, record)| is_over(record) || is_silent(record))
            .map(|(client, record)| (!is_over(record), -record.booked.rate, *client))
            .collect();
        chosen.sort_unstable();
        chosen.truncate(NUDGES_MAX);
        for (_, _, client) in chosen {
            if let Some(record) = self.busy.records.get_mut(&client) {
                record.nudged = now;
            }
            self.busy.nudges.push_back(client);
            self.busy.figures.nudges += 1;
        }
        while self.busy.nudges.len() > self.terms.rules.lessees_max {
            self.busy.nudges.pop_front();
        }
    }
}

/// No client is nudged twice within that, and none counts as silent before.
const PAUSE_NS: u64 = 50_000_000;
/// Hints for one answer.
const NUDGES_MAX: usize = 4;
