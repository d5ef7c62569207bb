//! The home's and the standby's part in one key: collects reports, and announces when it is time to.
//!
//! Not here: when that is ([`Desk::due`]), and how lists are handed over when the home changes.

use tollgate_mode::{NodeId, Writer, planted};

use crate::bucket::Mark;
use crate::home::desk::{Cause, Desk, Due, Sight};
use crate::home::entry::Entry;
use crate::home::epoch::{Count, Epoch, EpochId};
use crate::home::peers::Role;
use crate::home::rules::{Desktop, REPEAT_FIRST, REPEATS, SETTLE};
use crate::home::wire::{ANNOUNCE, Announce, Held, Report, Route};

/// Who sent a report: the node if it came straight from it, and the boot and version in any case.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender {
    pub(super) node: Option<NodeId>,
    pub(super) writer: Writer,
    pub(super) version: u64,
}

impl Entry {
    /// The desk, set up if this is the first that arrives.
    pub(super) fn desk(&mut self, cx: &Desktop) -> &mut Desk {
        self.desk.get_or_insert_with(|| {
            let mut desk = Desk::default();
            desk.gathered_at = Some(cx.gathered_at).filter(|&at| cx.now < at);
            Box::new(desk)
        })
    }

    /// Takes a writer's report.
    pub(super) fn take_report(&mut self, cx: &mut Desktop, sender: Sender, report: Report) {
        let is_mine = sender.writer == cx.post.writer;
        if planted!("home-own-report", is_mine, false) {
            return;
        }
        self.note_epoch(cx, sender.writer, &report);
        let held = Held {
            writer: sender.writer,
            version: sender.version,
            list: report.list,
        };
        let now = cx.now;
        self.desk(cx).put(held, now);
        self.hear(cx, report.end.max(self.epoch_public(cx.rules.bucket)));
        self.raise_by_epoch(cx);
        self.recount(cx);
        if report.is_told {
            let desk = self.desk(cx);
            desk.told = desk.told.max(report.end);
        }
        self.check_sender(cx, sender.node, report.end);
        self.review(cx, Cause::Report);
    }

    /// A count belongs to the list it came with. Once a writer is in a later epoch its count in ours is unknown, and
    /// the base of ours must not be raised any more.
    fn note_epoch(&mut self, cx: &Desktop, writer: Writer, report: &Report) {
        let count = report.count;
        self.hear_count(cx, writer, count, report.is_told);
        let desk = self.desk(cx);
        if let (Some(ours), Some(count)) = (desk.raises, count)
            && count.id > ours
        {
            desk.raises = None;
        }
    }

    /// Takes lists that come without counts.
    pub(super) fn take_lists(&mut self, cx: &mut Desktop, lists: Vec<Held>) {
        let now = cx.now;
        let mine = cx.post.writer;
        let desk = self.desk(cx);
        for held in lists.into_iter().filter(|held| held.writer != mine) {
            if desk.put(held, now) {
                desk.raises = None;
            }
        }
        self.recount(cx);
        self.review(cx, Cause::Other);
    }

    /// Works the end out of all lists; what this node has not reported itself is in its own end, but is not published.
    fn recount(&mut self, cx: &mut Desktop) {
        let sent = self.own.sent();
        if let Some(backlog) = self.desk(cx).count(&cx.rules, sent) {
            self.hear(cx, backlog.end);
        }
        if self.own.has_unsent() {
            self.add_up(cx);
        }
    }

    /// Brings a collector's end up to all lists. What it kept to itself comes on top of an end it heard from others,
    /// and when that end makes it report, nobody else would ever add the two.
    pub(super) fn add_up(&mut self, cx: &Desktop) {
        let own = self.own.list();
        let desk = self.desk.as_ref();
        if let Some(backlog) = desk.and_then(|desk| desk.count(&cx.rules, own)) {
            self.view.raise(cx.rules.bucket, backlog.end, cx.now);
        }
    }

    /// Notes who knows what was announced, and tells again who should but does not.
    fn check_sender(&mut self, cx: &mut Desktop, node: Option<NodeId>, end: Mark) {
        let Some(node) = node else { return };
        let is_home = self.role(cx) == Role::Home;
        let (half, round, mark) = (cx.rules.half(), cx.rules.round(), cx.mark());
        let now = cx.now;
        let desk = self.desk(cx);
        if end >= desk.announced {
            desk.confirmed.insert(node);
        }
        let is_stale = end.plus(half) < desk.announced && desk.announced > mark;
        let is_late = desk.announced_at.saturating_add(round) < now;
        if is_home && is_stale && is_late {
            self.send_announce(cx, Some(&[node]));
        }
    }

    /// Announces what is due, or says when to look again.
    pub(super) fn review(&mut self, cx: &mut Desktop, cause: Cause) {
        let role = self.role(cx);
        let due = self.due(cx, cause);
        let Some(desk) = &mut self.desk else { return };
        let wait = match (role, due) {
            (Role::Writer, _) | (_, Due::No) => {
                desk.due_at = None;
                return;
            }
            (Role::Home, _) if desk.gathered_at.is_some() => return,
            (Role::Home, Due::Now) => cx.now,
            (Role::Home, Due::Soon) => cx.after(cx.rules.round()),
            (Role::Standby, Due::Now | Due::Soon) => cx.after(cx.rules.patience()),
        };
        let at = desk.due_at.map_or(wait, |at| at.min(wait));
        desk.due_at = Some(at);
        if at <= cx.now && self.due(cx, Cause::Report) != Due::No {
            self.announce(cx);
        }
    }

    /// A standby that hears the home waits anew. Two nodes that open epochs in turn would make everybody count from
    /// nothing each time.
    pub(super) fn leave_to_home(&mut self, cx: &Desktop) {
        if self.role(cx) == Role::Standby
            && let Some(desk) = &mut self.desk
        {
            desk.due_at = None;
        }
    }

    fn due(&mut self, cx: &Desktop, cause: Cause) -> Due {
        let common = |epoch: &Epoch| epoch.common(cx.rules.bucket);
        let common = self.epoch.as_ref().and_then(common).unwrap_or_default();
        let near = self.threshold(cx);
        let end = self.collected(cx);
        let Some(desk) = &mut self.desk else {
            return Due::No;
        };
        desk.told = desk.told.max(common);
        let sight = Sight {
            end,
            near,
            now: cx.now,
            cause,
        };
        desk.due(&cx.rules, sight)
    }

    /// The end this node answers for: the home's own; the standby's without what only it knows.
    fn collected(&self, cx: &Desktop) -> Mark {
        if self.role(cx) == Role::Home {
            self.view.end
        } else {
            self.view.public
        }
    }

    /// The direct threshold: as set, or as the rate demands, and then fixed for the epoch; the standby goes by the
    /// home's.
    fn threshold(&self, cx: &Desktop) -> u64 {
        if let Some(near) = cx.rules.near {
            return near;
        }
        let is_free = self.role(cx) == Role::Home && self.raised().is_none();
        match &self.desk {
            Some(desk) if is_free => cx.rules.near_for(desk.rate.per_second(cx.now)),
            _ => self.near,
        }
    }

    /// The epoch whose base this node may raise, if it is the one followed.
    fn raised(&self) -> Option<EpochId> {
        let raises = self.desk.as_ref().and_then(|desk| desk.raises);
        raises.filter(|&id| self.epoch.as_ref().is_some_and(|epoch| epoch.id == id))
    }

    /// Tells everybody the end, as the base of an epoch when little is left.
    pub(super) fn announce(&mut self, cx: &mut Desktop) {
        if self.role(cx) == Role::Home && self.own.has_unsent() {
            // The end that is announced holds it, so it counts as published from here on.
            self.report(cx, false);
        }
        let end = self.collected(cx);
        self.near = self.threshold(cx);
        let level = cx.level(end);
        let is_near = self.near > 0 && cx.rules.leaves_at_most(level, self.near);
        let told = if is_near {
            self.renew_epoch(cx, end)
        } else {
            end
        };
        let repeats = if cx.rules.repeats { REPEATS } else { 0 };
        let repeat_at = cx.after(REPEAT_FIRST);
        let now = cx.now;
        let desk = self.desk(cx);
        desk.told = desk.told.max(told);
        desk.announced = told;
        desk.announced_at = now;
        desk.due_at = None;
        desk.gathered_at = None;
        desk.confirmed.clear();
        desk.repeats_left = repeats;
        desk.repeat_at = (repeats > 0).then_some(repeat_at);
        self.view.hear(cx.rules.bucket, told, cx.now);
        self.send_announce(cx, None);
    }

    /// Raises the base of this node's epoch by what is in the lists and in nobody's count, or begins another; the end
    /// by it.
    fn renew_epoch(&mut self, cx: &mut Desktop, end: Mark) -> Mark {
        self.raise_base(cx);
        let bucket = cx.rules.bucket;
        if let (Some(_), Some(epoch)) = (self.raised(), &mut self.epoch) {
            let told = epoch.end(bucket);
            epoch.announce();
            if told >= end {
                return told;
            }
        }
        let known = self.epoch.as_ref().map_or(0, |epoch| epoch.id.number);
        cx.epochs = cx.epochs.max(known) + 1;
        let id = EpochId {
            number: cx.epochs,
            creator: cx.post.writer,
        };
        self.epoch = Some(Epoch::new(id, end));
        self.desk(cx).raises = Some(id);
        end
    }

    /// The lists alone must count for this, not an end heard from others: that may hold tokens whose count has yet to
    /// arrive. And the backlog must have begun before the base, or counts from before its beginning would be added to
    /// it.
    fn raise_base(&mut self, cx: &Desktop) {
        if self.raised().is_none() || self.role(cx) != Role::Home {
            return;
        }
        let own = self.own.list();
        let backlog = self.desk(cx).count(&cx.rules, own);
        let bucket = cx.rules.bucket;
        if let (Some(backlog), Some(epoch)) = (backlog, &mut self.epoch)
            && bucket.mark(backlog.start) <= epoch.base()
        {
            let counted = bucket.grains(epoch.counted());
            epoch.raise(Mark(backlog.end.0.saturating_sub(counted)));
        }
    }

    /// Sends what was announced, to these or to everybody.
    fn send_announce(&mut self, cx: &mut Desktop, only: Option<&[NodeId]>) {
        let me = cx.peers.me();
        let tree = cx.rules.tree.filter(|_| only.is_none());
        let announce = self.announcement(cx, tree.map(|_| Route { root: me, hops: 0 }));
        let (encoder, _) = cx.post.begin(ANNOUNCE);
        let frame = announce.write(cx.rules.bucket, encoder);
        match (only, tree) {
            (Some(only), _) => cx.post.send(only.iter().copied(), &frame),
            (None, Some(arity)) => cx.post.send(cx.peers.children(me, arity), &frame),
            (None, None) => cx.post.send(cx.peers.others(), &frame),
        }
    }

    fn announcement(&self, cx: &Desktop, route: Option<Route>) -> Announce {
        let announced = self.desk.as_ref().map_or(Mark(0), |desk| desk.announced);
        let bucket = cx.rules.bucket;
        let in_epoch = |epoch: &&Epoch| epoch.end(bucket) >= announced;
        let (end, sum) = match self.epoch.as_ref().filter(in_epoch) {
            Some(epoch) => {
                let sum = Count {
                    id: epoch.id,
                    tokens: epoch.counted(),
                };
                (epoch.base(), Some(sum))
            }
            None => (announced, None),
        };
        Announce {
            key: self.key,
            end,
            sum,
            near: self.near,
            route,
        }
    }

    /// Repeats the announcement to those who have not shown that they know it.
    fn repeat(&mut self, cx: &mut Desktop) {
        let again = cx.after(SETTLE);
        let me = cx.peers.me();
        let Some(desk) = &mut self.desk else { return };
        desk.repeats_left = desk.repeats_left.saturating_sub(1);
        desk.repeat_at = (desk.repeats_left > 0).then_some(again);
        let known = |node: &NodeId| *node == me || desk.confirmed.contains(node);
        let missing: Vec<_> = cx.peers.others().filter(|node| !known(node)).collect();
        if missing.is_empty() {
            desk.repeat_at = None;
        } else {
            self.send_announce(cx, Some(&missing));
        }
    }

    /// Says what is due by now.
    pub(super) fn speak(&mut self, cx: &mut Desktop) {
        if self.settle_at.is_some_and(|at| at <= cx.now) {
            self.settle(cx);
        }
        let Some(desk) = &mut self.desk else { return };
        if desk.gathered_at.is_some_and(|at| at <= cx.now) {
            // A newcomer may be told of a key by many, one after the other.
            desk.gathered_at = Some(cx.learns_until).filter(|&until| until > cx.now);
            let is_home = self.role(cx) == Role::Home && self.collected(cx) > cx.mark();
            if is_home && self.take_over(cx) {
                self.announce(cx);
                return;
            }
        }
        let Some(desk) = &mut self.desk else { return };
        if desk.due_at.is_some_and(|at| at <= cx.now) {
            self.review(cx, Cause::Report);
            return;
        }
        let is_due = desk.repeat_at.is_some_and(|at| at <= cx.now);
        if is_due && desk.told > cx.mark() {
            self.repeat(cx);
        } else if is_due {
            desk.repeat_at = None;
        } else {
            self.review(cx, Cause::Other);
        }
    }

    /// Whether a new home that has gathered what there is must speak: not where the home before it told everybody as
    /// much.
    fn take_over(&mut self, cx: &Desktop) -> bool {
        let (end, half, now) = (self.collected(cx), cx.rules.half(), cx.now);
        let desk = self.desk(cx);
        if desk.gathered_at.is_some() {
            return false;
        }
        let is_told = desk.told.plus(half) >= end;
        if is_told {
            desk.announced = desk.told;
            desk.announced_at = now;
        }
        !is_told
    }

    /// When something may have to be said.
    pub(super) fn speak_at(&self, cx: &Desktop) -> Option<tollgate_limit::Instant> {
        let desk = self.desk.as_ref();
        let of_desk = desk.and_then(|desk| {
            let is_waiting = desk.due_at.is_some() || desk.gathered_at.is_some();
            let is_open = self.pair.has(cx.peers.me()) && !is_waiting;
            let refresh = is_open.then(|| desk.refresh_at(&cx.rules, self.collected(cx), cx.now));
            let refresh = refresh.flatten();
            let times = [desk.gathered_at, desk.due_at, desk.repeat_at, refresh];
            times.into_iter().flatten().min()
        });
        [self.settle_at, of_desk].into_iter().flatten().min()
    }
}
