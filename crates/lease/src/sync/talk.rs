//! What nodes say to the centres of keys and are answered, and when.
//!
//! Not here: what it means for a key (`entry`), and the bytes of it (`wire`).

use std::collections::BTreeMap;

use tollgate_gossip::{Malformed, NodeId, Send, Writer};
use tollgate_limit::Instant;

use super::entry::{DUE, SyncEntry, WAITS, owed};
use super::lists::Turn;
use super::machine::{Syncing, WAITS_INTERVALS, can_wait};
use super::wire::{self, CentreLevel, SyncFrame, SyncReport};
use crate::amount::{after, tokens};

impl Syncing {
    /// A frame came. A malformed one changes nothing.
    pub fn handle_frame(
        &mut self,
        from: NodeId,
        frame: &[u8],
        now: Instant,
    ) -> Result<(), Malformed> {
        let frame = wire::read(frame)?;
        let is_known = self.setup.members.contains(&from) && from != self.setup.me;
        match frame {
            SyncFrame::Reports(writer, reports) => {
                self.counts.heard += reports.len() as u64;
                if !is_known {
                    self.counts.ignored += reports.len() as u64;
                    return Ok(());
                }
                let reports = reports.iter();
                let answers: Vec<CentreLevel> = reports
                    .filter_map(|report| self.hear(writer, report, now))
                    .collect();
                self.post(from, wire::levels(&answers));
            }
            SyncFrame::Levels(levels) if is_known => {
                for level in levels {
                    self.answered(from, &level, now);
                }
            }
            SyncFrame::Levels(_) => {}
        }
        Ok(())
    }

    /// Tells the centres what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        let interval = self.setup.config.interval_ns;
        if self.lists.next(interval).is_some_and(|due| due <= now) {
            let turns = self.lists.some_due(interval, now);
            self.speak(&turns, now);
        }
    }

    /// Tells the centres what only this node knows, as it is about to go.
    pub fn handle_leave(&mut self, now: Instant) {
        let turns = self.lists.all();
        self.speak(&turns, now);
    }

    /// At the centre: what a node says of a key.
    fn hear(&mut self, writer: Writer, report: &SyncReport, now: Instant) -> Option<CentreLevel> {
        let config = self.setup.config;
        let has_room = self.entries.len() < KEYS_MAX || self.knows(report.key);
        let answer = if has_room && self.setup.centre(report.key) == self.setup.me {
            let now = self.wind(now);
            let entry = self.entry(report.key, now);
            let answer = entry.handle_report(&config, writer, report, now);
            self.note_debt(report.key, now);
            answer
        } else {
            None
        };
        let Some((level, over)) = answer else {
            self.counts.ignored += 1;
            return None;
        };
        self.over = self.over.saturating_add(over.more);
        self.counts.over = tokens(self.over);
        self.counts.debt_max = self.counts.debt_max.max(owed(over.debt));
        Some(level)
    }

    /// Elsewhere: what the centre says of a key. Only what was asked for is believed.
    fn answered(&mut self, from: NodeId, level: &CentreLevel, at: Instant) {
        let (config, now) = (self.setup.config, self.wind(at));
        let waits_max = self.waits_max();
        let entry = self.entries.get_mut(level.key);
        let asked =
            |entry: &&mut SyncEntry| entry.marks & (DUE | WAITS) > 0 && entry.centre == from;
        let Some(entry) = entry.filter(asked) else {
            return;
        };
        let Some(is_all) = entry.handle_level(&config.limits, level, now) else {
            return;
        };
        self.counts.answered += 1;
        if is_all {
            self.lists.confirmed(entry);
        } else if can_wait(entry, &config.limits, waits_max, now) {
            let until = config.interval_ns.saturating_mul(WAITS_INTERVALS);
            self.lists.wait(level.key, entry, after(at, until));
        }
    }

    /// Tells centres of some keys what they have not confirmed.
    fn speak(&mut self, turns: &[Turn], now: Instant) {
        let now = self.wind(now);
        let limits = &self.setup.config.limits;
        let mut by_centre: BTreeMap<NodeId, Vec<SyncReport>> = BTreeMap::new();
        for turn in turns {
            let Some(entry) = self.entries.get_mut(turn.key) else {
                continue;
            };
            if !self.lists.told(*turn, entry) {
                continue;
            }
            let reports = by_centre.entry(entry.centre).or_default();
            reports.push(entry.report(limits, turn.key, now));
            self.counts.told += 1;
        }
        for (centre, reports) in by_centre {
            self.post(centre, wire::reports(self.setup.writer, &reports));
        }
    }

    fn post(&mut self, to: NodeId, frames: Vec<std::sync::Arc<[u8]>>) {
        for frame in frames {
            self.sends.push_back(Send { to, frame });
        }
        while self.sends.len() > SENDS_MAX {
            self.sends.pop_front();
        }
    }
}

/// Keys that others can make a node remember.
const KEYS_MAX: usize = 1 << 20;
/// Frames that may wait; the oldest are dropped, as on any network.
const SENDS_MAX: usize = 1 << 12;
