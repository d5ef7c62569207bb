//! A node's part in one policy at the boundary.
//!
//! Not here: how nodes agree (`machine`).

use tollgate_contract::NamedPolicy;
use tollgate_limit::Instant;
use tollgate_mode::{
    Figure, Footprint, Malformed, Mode, ModeEvent, ModeKey, ModeProbe, NodeId, Saved, Send,
    Settlement, Standing, counter, gauge, wait_max,
};

use super::law::Law;
use super::link::Link;
use super::machine::Machine;
use super::{saved, wire};

impl<L: Law> Mode for Machine<L> {
    fn design(&self) -> &'static str {
        "links"
    }

    fn is_publication(&self, frame: &[u8]) -> bool {
        wire::is_report(frame)
    }

    fn change(&mut self, policy: &NamedPolicy, _: Instant) {
        self.law.set_wait(wait_max(policy.policy.config()));
    }

    fn probe(&mut self, key: ModeKey, cost: u64, now: Instant) -> ModeProbe {
        self.probe(key, cost, now)
    }

    fn take(&mut self, key: ModeKey, cost: u64, now: Instant) {
        self.take(key, cost, now);
    }

    fn charge(&mut self, key: ModeKey, cost: u64, debt_max: Option<u64>, now: Instant) {
        self.charge(key, cost, debt_max, now);
    }

    fn refund(&mut self, key: ModeKey, cost: u64, now: Instant) {
        self.refund(key, cost, now);
    }

    fn settle(&mut self, key: ModeKey, due: &Settlement<'_>, now: Instant) {
        match due.difference() {
            Ok(more) => self.charge(key, more, due.debt_max, now),
            Err(less) if self.law.counts(due.receipt.at, now) => self.refund(key, less, now),
            Err(_) => {}
        }
    }

    fn reset(&mut self, key: ModeKey, now: Instant) {
        self.reset(key, now);
    }

    fn standing(&mut self, key: ModeKey, now: Instant) -> Standing {
        self.standing(key, now)
    }

    fn handle_frame(&mut self, from: NodeId, frame: &[u8], now: Instant) -> Result<(), Malformed> {
        self.handle_frame(from, frame, now)
    }

    fn handle_event(&mut self, event: &ModeEvent<'_>, now: Instant) {
        match event {
            ModeEvent::Members(alive) => self.set_members(alive, now),
            ModeEvent::Delay(delay) => self.post.set_delay(*delay),
            ModeEvent::Join => self.join(now),
            ModeEvent::Leave => self.leave(now),
            ModeEvent::Renumber(new) => self.renumber(new.me, new.writer, &new.members, now),
            // What a key has used up moves with the clock, whichever way that was set.
            ModeEvent::ClockSet { from, to, .. } => self.shift(*from, *to),
            ModeEvent::Roster { .. }
            | ModeEvent::Kept(_)
            | ModeEvent::GiveUp
            | ModeEvent::Day { .. } => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.handle_timeout(now);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn poll_send(&mut self) -> Option<Send> {
        self.poll_send()
    }

    fn is_joining(&self) -> bool {
        self.join.is_joining()
    }

    fn is_quiet(&self) -> bool {
        self.is_quiet()
    }

    fn save(&mut self, key: ModeKey, now: Instant) -> Option<Saved> {
        let bytes = self.saved(key, now)?.encode();
        let left = self.standing(key, now).reset_after;
        let fresh_at = self.now.saturating_add(left);
        Some(Saved { bytes, fresh_at })
    }

    fn restore(&mut self, key: ModeKey, bytes: &[u8], now: Instant) -> Result<(), Malformed> {
        let saved = saved::SavedKey::decode(bytes, now)?;
        self.restore(key, &saved, now);
        Ok(())
    }

    fn keys(&self) -> Vec<ModeKey> {
        self.keys().keys()
    }

    fn keys_count(&self) -> usize {
        self.keys().len()
    }

    fn knows(&self, key: ModeKey) -> bool {
        self.keys().contains_key(key)
    }

    fn evict(&mut self, now: Instant) -> bool {
        self.evict(now)
    }

    fn drop_copy(&mut self) -> bool {
        self.drop_copy()
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            local: self.bytes(),
            extra: self.keep.bytes(),
        }
    }

    fn held(&self) -> u64 {
        self.keys().held() + self.keep.held() + self.post.held()
    }

    fn status(&mut self, _: Option<ModeKey>, _: Instant) -> Vec<Figure> {
        let tally = self.post.tally;
        let suspended = self.post.links().filter(|link| link.is_suspended());
        let suspended = suspended.count() as u64;
        let waiting: usize = self.post.links().map(Link::waiting).sum();
        let suspensions: u64 = self.post.links().map(|link| link.suspensions).sum();
        let copies = self.keep.len() as u64;
        vec![
            gauge(
                "copies",
                copies,
                "Keys of which silent tokens of another node are kept.",
            )
            .sum(),
            gauge(
                "suspended",
                suspended,
                "Links on which nothing gets through.",
            )
            .most(),
            gauge(
                "waiting",
                waiting as u64,
                "Keys of which reports wait for a link.",
            )
            .sum(),
            counter(
                "reports",
                tally.reported,
                "Frames with reports that were made.",
            ),
            counter(
                "resent",
                tally.resent,
                "Frames that were sent to a node again.",
            ),
            counter("repeats", tally.repeats, "Frames that came again."),
            counter(
                "acks",
                tally.acks,
                "Acknowledgements that had no frame to ride on.",
            ),
            counter(
                "suspensions",
                suspensions,
                "How often a link was suspended.",
            ),
            counter(
                "skipped",
                tally.skipped,
                "Frames that were lost to a node for good.",
            ),
            counter(
                "unsent",
                tally.dropped,
                "Frames that were dropped before they were sent.",
            ),
        ]
    }
}
