//! What a node that keeps silent lists exchanges with others, as every other design does.
//!
//! Not here: what becomes of each frame, and when a list is published.

use std::sync::Arc;

use tollgate_limit::{Instant, Span};
use tollgate_mode::{Footprint, Key, Malformed, NodeId, Send, Sort};

use crate::codec::latest;
use crate::machine::Exchange;

use super::frame::sort;
use super::{Entry, Frame, Rule, Talk};

impl<R: Rule> Exchange for Talk<R> {
    fn handle_frame(&mut self, from: NodeId, frame: &[u8], now: Instant) -> Result<(), Malformed> {
        let (header, frame) = Frame::decode(frame, latest(now))?;
        self.wind(now);
        match frame {
            Frame::Publish { key, check, list } => {
                let entry = Entry {
                    writer: header.writer,
                    version: header.sequence,
                    list,
                };
                self.hear(key, vec![entry], now);
                self.note_check(key, from, check, now);
            }
            Frame::Keep(copies) => self.keep(from, copies, now),
            Frame::Pull(keys) => self.answer_pull(from, &keys),
            Frame::Digest(hashes) => self.answer_digest(from, &hashes),
            Frame::Full(known) => self.exchange(from, known, now),
            Frame::Fill(known) => self.take_fill(from, known, now),
            Frame::Join => self.answer_join(from, now),
            Frame::Recall => self.answer_recall(from, header.writer),
            Frame::Kept(copies) => self.take_back(from, copies, now),
        }
        Ok(())
    }

    fn handle_members(&mut self, alive: &[NodeId], now: Instant) {
        let buddy = self.post.buddy();
        let newcomers = self.post.set_alive(alive);
        self.rule.set_nodes(self.post.nodes());
        if self.post.buddy() != buddy {
            self.keep_all_again(now);
        }
        self.restored.meet(&newcomers);
        for node in newcomers {
            self.welcome(node, now);
            self.repair.greet(node, now);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.tick.pass(now) {
            self.send_copies(now);
            self.repair_at_tick(now);
            self.tell_restored(now);
        }
        self.digest_at_beat(now);
        self.prune_due(now);
        self.drop_old_copies(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let tick = self.waits_for_tick().then(|| self.tick.next());
        let prune = self.due.first().map(|&(due, _)| due);
        let times = [tick, prune, self.kept.next(), self.repair.next_digest()];
        times.into_iter().flatten().min()
    }

    fn poll_send(&mut self) -> Option<Send> {
        self.post.poll_send()
    }

    fn is_quiet(&self) -> bool {
        self.post.is_silent() && !self.waits_for_tick()
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            local: self.bytes,
            extra: self.kept.bytes(),
        }
    }

    fn keys(&self) -> Vec<Key> {
        self.keys.keys().copied().collect()
    }

    fn sort(&self, kind: u8) -> Sort {
        sort(kind)
    }

    fn keys_count(&self) -> usize {
        self.keys.len()
    }

    fn knows(&self, key: Key) -> bool {
        self.keys.contains_key(&key)
    }

    fn evict(&mut self, now: Instant) -> bool {
        self.forget_one(now)
    }

    fn drop_copy(&mut self) -> bool {
        self.kept.drop_first()
    }

    fn held(&self) -> u64 {
        self.held_bytes()
    }

    /// Asks two peers for what a newcomer should know.
    fn handle_join(&mut self, now: Instant) {
        self.wind(now);
        self.repair.join(&mut self.post, self.unkept.is_some());
    }

    fn is_joining(&self) -> bool {
        self.repair.is_joining()
    }

    /// Publishes all that is unpublished.
    fn handle_leave(&mut self, now: Instant) {
        let keys: Vec<_> = self.keys.keys().copied().collect();
        for key in keys {
            self.tell_secret(key, now);
        }
    }

    fn save(&mut self, key: Key, now: Instant) -> Option<Arc<[u8]>> {
        self.saved(key, now)
    }

    fn restore(&mut self, frame: &[u8], now: Instant) -> Result<(), Malformed> {
        self.take_saved(frame, now)
    }

    fn set_delay(&mut self, delay: Span) {
        self.repair.set_delay(delay);
    }
}
