//! One key on one node: admits, keeps its share to itself, reports, hears, forgets.
//!
//! Not here: what the home and the standby do beyond that.

use tollgate_limit::Instant;
use tollgate_mode::{Footprint, Key, NodeId, Writer, planted};

use crate::bucket::{Bucket, Mark};
use crate::codec::Encoder;
use crate::home::desk::{Cause, Desk};
use crate::home::epoch::{Count, Epoch, EpochId};
use crate::home::own::Own;
use crate::home::peers::{Pair, Role};
use crate::home::rules::{Desktop, SETTLE};
use crate::home::view::{Silence, View};
use crate::home::wire::{Announce, DIRECT, Direct, Held, REPORT, Report, Route};

/// Lists of former boots that are kept for the next home.
const OLD_MAX: usize = 16;

/// What a node knows of one key.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) pair: Pair,
    pub(super) view: View,
    pub(super) own: Own,
    silence: Silence,
    pub(super) epoch: Option<Epoch>,
    /// Tokens left at which nodes tell each other directly.
    pub(super) near: u64,
    /// The version of the last report.
    pub(super) version: u64,
    pub(super) settle_at: Option<Instant>,
    /// Lists of this node's former boots, kept only for the next home.
    pub(super) old: Vec<Held>,
    pub(super) desk: Option<Box<Desk>>,
    /// What it was last said to take.
    pub(super) bytes: Footprint,
}

impl Entry {
    pub(super) fn new(cx: &Desktop, key: Key) -> Self {
        Self {
            key,
            pair: cx.peers.pair(key),
            view: View::new(cx.now),
            own: Own::default(),
            silence: Silence::new(cx.now),
            epoch: None,
            near: cx.rules.near.unwrap_or(1),
            version: 0,
            settle_at: None,
            old: Vec::new(),
            desk: None,
            bytes: Footprint::default(),
        }
    }

    pub(super) fn role(&self, cx: &Desktop) -> Role {
        self.pair.role(cx.peers.me())
    }

    /// Counts tokens admitted here, and says so if it is time to.
    pub(super) fn admit(&mut self, cx: &mut Desktop, cost: u64) {
        self.prune(cx);
        self.view.admit(cx.rules.bucket, cost, cx.now);
        self.own.add(cost, cx.now, self.view.busy);
        self.silence.add(cx.rules.bucket.grains(cost));
        if let Some(epoch) = &mut self.epoch {
            epoch.admit(cost);
        }
        let is_direct = self.is_direct(cx);
        if is_direct || self.is_over_share(cx) {
            self.report(cx, is_direct);
            if self.pair.has(cx.peers.me()) {
                self.desk(cx);
            }
            self.review(cx, Cause::Report);
        } else {
            self.review(cx, Cause::Other);
        }
    }

    /// Learns of a published end. First news of a backlog makes everybody report what it kept to itself.
    pub(super) fn hear(&mut self, cx: &mut Desktop, end: Mark) {
        self.fade(cx);
        let is_first = self.view.hear(cx.rules.bucket, end, cx.now);
        if let Some(desk) = self.desk.as_mut().filter(|_| is_first) {
            desk.kept_until = None;
        }
        if self.own.has_unsent() && (is_first || self.is_over_share(cx)) {
            self.report(cx, false);
        }
    }

    /// Takes what the home announced.
    pub(super) fn take_announce(&mut self, cx: &mut Desktop, announce: &Announce) {
        let mut end = announce.end;
        if let Some(sum) = announce.sum {
            end = end.plus(cx.rules.bucket.grains(sum.tokens));
            self.join(sum.id, announce.end);
        }
        self.near = announce.near;
        if planted!("home-patience", true, false) {
            self.leave_to_home(cx);
        }
        self.hear_all(cx, end);
    }

    /// Takes what a writer told everybody.
    pub(super) fn take_direct(&mut self, cx: &mut Desktop, writer: Writer, direct: &Direct) {
        self.hear_count(cx, writer, direct.count, true);
        self.hear_all(cx, direct.end);
    }

    /// Hears an end that everybody has been sent, and what the epoch adds up to by now.
    fn hear_all(&mut self, cx: &mut Desktop, end: Mark) {
        self.hear(cx, end.max(self.epoch_public(cx.rules.bucket)));
        self.raise_by_epoch(cx);
        if let Some(desk) = &mut self.desk {
            desk.told = desk.told.max(end);
        }
        self.review(cx, Cause::Other);
    }

    /// Follows an epoch if it is later than the one followed.
    fn join(&mut self, id: EpochId, base: Mark) {
        match &mut self.epoch {
            Some(epoch) if epoch.id == id => epoch.raise(base),
            Some(epoch) if epoch.id > id => {}
            _ => self.epoch = Some(Epoch::new(id, base)),
        }
    }

    /// Hears what a writer has counted, if it is in the same epoch.
    pub(super) fn hear_count(
        &mut self,
        cx: &Desktop,
        writer: Writer,
        count: Option<Count>,
        is_told: bool,
    ) {
        if let (Some(epoch), Some(count)) = (&mut self.epoch, count)
            && epoch.id == count.id
            && writer != cx.post.writer
        {
            epoch.hear(writer, count.tokens, is_told);
        }
    }

    /// The end by the counts of the epoch, without what this node has not reported.
    pub(super) fn epoch_public(&self, bucket: Bucket) -> Mark {
        let public = |epoch: &Epoch| epoch.public(bucket);
        self.epoch.as_ref().map_or(Mark(0), public)
    }

    pub(super) fn raise_by_epoch(&mut self, cx: &Desktop) {
        if let Some(epoch) = &self.epoch {
            self.view
                .raise(cx.rules.bucket, epoch.end(cx.rules.bucket), cx.now);
        }
    }

    /// Reports the whole list to the home and the standby, and tells everybody else when it is `direct`.
    pub(super) fn report(&mut self, cx: &mut Desktop, is_direct: bool) {
        self.own.fold(self.view.busy);
        self.own.publish();
        self.silence = Silence::new(cx.now);
        if let Some(epoch) = &mut self.epoch {
            epoch.publish(is_direct);
        }
        if planted!("home-add-up", true, false) {
            self.add_up(cx);
        }
        self.view.hear(cx.rules.bucket, self.view.end, cx.now);
        let (encoder, sequence) = cx.post.begin(REPORT);
        self.version = 2 * sequence;
        self.send_report(cx, encoder, is_direct, self.pair.standby);
        let settles = cx.rules.repeats && self.role(cx) != Role::Home;
        self.settle_at = settles.then(|| cx.after(SETTLE));
        if is_direct {
            self.tell(cx);
        }
    }

    /// Says again to the home what was last reported, under the same number: a later one would make it newer than the
    /// copy of what was admitted since. The standby does without: both would have to fail for that to matter.
    pub(super) fn settle(&mut self, cx: &mut Desktop) {
        self.settle_at = None;
        if !self.own.sent().is_empty() {
            let encoder = cx.post.again(REPORT, self.version / 2);
            self.send_report(cx, encoder, false, None);
        }
    }

    /// Whether the newest admission leaves so little that everybody must know at once. Within an epoch, twice the
    /// threshold: what refills is contested as long as requests keep coming.
    fn is_direct(&self, cx: &Desktop) -> bool {
        let level = cx.level(self.view.end);
        let tokens = if self.epoch.is_some() {
            self.near.saturating_mul(2)
        } else {
            self.near
        };
        self.near > 0 && cx.rules.leaves_less(level, tokens)
    }

    fn is_over_share(&self, cx: &Desktop) -> bool {
        let share = cx.rules.share(cx.level(self.view.end));
        self.silence.level()
            > cx.rules
                .bucket
                .grains(planted!("home-share", share, 2 * share + 1))
    }

    fn send_report(
        &self,
        cx: &mut Desktop,
        encoder: Encoder,
        is_told: bool,
        standby: Option<NodeId>,
    ) {
        let count = self.epoch.as_ref().map(Epoch::told);
        let report = Report {
            key: self.key,
            end: self.view.public,
            count,
            list: self.own.sent(),
            is_told,
            is_forwarded: false,
        };
        let frame = report.write(cx.rules.bucket, encoder);
        let me = cx.peers.me();
        let readers = std::iter::once(self.pair.home).chain(standby);
        let readers = readers.filter(|&node| node != me);
        cx.post.send(readers, &frame);
    }

    /// Tells everybody but the home and the standby, or along the tree everybody.
    fn tell(&mut self, cx: &mut Desktop) {
        let me = cx.peers.me();
        let route = cx.rules.tree.map(|_| Route { root: me, hops: 0 });
        let direct = Direct {
            key: self.key,
            end: self.view.end,
            count: self.epoch.as_ref().map(Epoch::told),
            route,
        };
        let (encoder, _) = cx.post.begin(DIRECT);
        let frame = direct.write(cx.rules.bucket, encoder);
        if let Some(arity) = cx.rules.tree {
            cx.post.send(cx.peers.children(me, arity), &frame);
        } else {
            let pair = self.pair;
            let others = cx.peers.others().filter(|&node| !pair.has(node));
            cx.post.send(others, &frame);
        }
    }

    /// Forgets what nobody was told of once it has faded.
    fn fade(&mut self, cx: &Desktop) {
        self.silence.fade(&cx.rules, self.view.public, cx.now);
        if self.silence.level() == 0 && self.view.public <= cx.mark() {
            self.own.drop_unsent();
        }
    }

    /// Forgets what is drained. Comes before anything else that happens to the key: whoever is told of a backlog by
    /// then must have forgotten the one before, or some would report what others have dropped.
    pub(super) fn prune(&mut self, cx: &Desktop) {
        self.fade(cx);
        if self.forget_at(cx).is_some_and(|at| at <= cx.now) {
            self.forget(cx);
        }
    }

    fn forget(&mut self, cx: &Desktop) {
        let public = self.view.public;
        self.view.public = Mark(0);
        self.epoch = None;
        self.desk = None;
        self.old.clear();
        self.settle_at = None;
        self.near = cx.rules.near.unwrap_or(1);
        self.own.carry(floor(cx.rules.bucket, public));
        if let Some(backlog) = crate::list::backlog(cx.rules.bucket, &mut self.own.list())
            && backlog.end > self.view.end
        {
            self.view.end = backlog.end;
            self.view.busy = backlog.start;
        }
    }

    /// When what was published is forgotten.
    fn forget_at(&self, cx: &Desktop) -> Option<Instant> {
        let has_public = self.view.public > Mark(0) || self.desk.is_some();
        let drained = cx.rules.bucket.instant(self.view.public);
        let at = drained.saturating_add(cx.rules.grace);
        let kept = self.desk.as_ref().and_then(|desk| desk.kept_until);
        has_public.then(|| kept.map_or(at, |kept| at.max(kept)))
    }

    /// When to look again for something to forget.
    pub(super) fn prune_at(&self, cx: &Desktop) -> Instant {
        let fades = self.own.has_unsent();
        let fades = fades.then(|| self.silence.ends_at(&cx.rules, self.view.public));
        let at = [self.forget_at(cx), fades].into_iter().flatten().min();
        at.unwrap_or_else(|| cx.rules.bucket.instant(self.view.end))
    }

    /// For how many seconds what nobody was told of may still matter.
    pub(super) fn lasts_seconds(&self, cx: &Desktop) -> u64 {
        let ends_at = self.silence.ends_at(&cx.rules, self.view.public);
        ends_at.nanos_since(cx.now) / 1_000_000_000 + 1
    }

    /// Whether nothing is left to know.
    pub(super) fn is_spent(&self, cx: &Desktop) -> bool {
        let is_forgotten = self.own.is_empty() && self.view.public == Mark(0);
        is_forgotten && self.desk.is_none() && self.view.end <= cx.mark()
    }

    /// Keeps a list of a former boot for the next home.
    pub(super) fn keep_old(&mut self, held: Held) {
        let newer = |known: &Held| known.writer == held.writer && known.version >= held.version;
        if self.old.iter().any(newer) {
            return;
        }
        self.old.retain(|known| known.writer != held.writer);
        if self.old.len() < OLD_MAX {
            self.old.push(held);
        }
    }

    /// This node's lists as others may know them: what was reported, and what former boots did.
    pub(super) fn lists(&self, cx: &Desktop) -> Vec<Held> {
        let sent = Held {
            writer: cx.post.writer,
            version: self.version,
            list: self.own.sent(),
        };
        let sent = (!sent.list.is_empty()).then_some(sent);
        self.old.iter().cloned().chain(sent).collect()
    }

    /// Bytes as on the wire. Local: key 16, two ends and two instants 8 each, a count, the threshold, the version 5, 10
    /// for each own segment, the epoch, and 8 while a report is to be repeated. Extra: what is kept for others.
    pub(super) fn footprint(&self) -> Footprint {
        let epoch = self.epoch.as_ref().map_or(0, Epoch::bytes);
        let settle = self.settle_at.map_or(0, |_| 8);
        let old: usize = self.old.iter().map(|held| 8 + 9 * held.list.len()).sum();
        let desk = self.desk.as_ref().map_or(0, |desk| desk.bytes());
        Footprint {
            local: 55 + settle + 10 * self.own.len() as u64 + epoch,
            extra: old as u64 + desk,
        }
    }
}

/// The last instant at or before `mark`.
fn floor(bucket: Bucket, mark: Mark) -> Instant {
    let at = bucket.instant(mark);
    if bucket.mark(at) > mark {
        Instant::from_nanos(at.as_nanos().saturating_sub(1))
    } else {
        at
    }
}
