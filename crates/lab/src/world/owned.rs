//! What a node of the world asks others, or a store, about keys that they decide about, as the daemon asks it.
//!
//! Frames stand for streams: each is taken once, and a stream to a node that crashed breaks at once. Whoever gets no
//! answer by the deadline does without. Not here: who is asked, and what follows, which `tollgate-owner` decides.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tollgate_gossip::NodeId;
use tollgate_kit::{FNV, Reader, fnv, put_varint};
use tollgate_limit::{Cost, Instant};
use tollgate_node::{Key, Node, Scope};
use tollgate_owner::{
    Arrival, Asking, Crew, NoReply, OwnerKey, Owners, Pass, Question, RemoteAnswer, StepPlace,
    StoreAsks, StoreUse, Verb, batch, parcels,
};
use tollgate_store::{EngineAnswer, Name, StoreRequest, StoredKey, Write};

use crate::nodes::Whole;

/// What nodes say to each other, and to a store.
#[derive(Clone, Debug)]
pub(crate) struct OwnerFrame {
    number: u64,
    kind: OwnerKind,
    bytes: Arc<[u8]>,
}

#[derive(Clone, Debug)]
enum OwnerKind {
    /// Questions, and pages of cells.
    Batch,
    Page,
    /// Whether a newcomer is known, and has all its keys.
    Known,
    Keys,
    Store(Arc<[StoreRequest]>),
    /// What is said to any of these; nothing where it is refused.
    Reply(bool),
    Stored(Arc<[EngineAnswer]>),
}

impl OwnerFrame {
    fn of(kind: OwnerKind, body: impl Into<Arc<[u8]>>) -> Self {
        Self {
            number: 0,
            kind,
            bytes: body.into(),
        }
    }

    /// As it is on the wire.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// It is decided.
    Now(bool),
    /// It waits, under this number.
    Later(u64),
}

/// The one store of a world.
#[derive(Debug, Default)]
pub(crate) struct WorldStore {
    keys: BTreeMap<Name, StoredKey>,
    seen: BTreeSet<(u16, u64)>,
}

impl WorldStore {
    /// Answers questions, each once.
    pub(crate) fn handle(&mut self, from: u16, frame: &OwnerFrame) -> Option<OwnerFrame> {
        let OwnerKind::Store(asks) = &frame.kind else {
            return None;
        };
        if !self.seen.insert((from, frame.number)) {
            return None;
        }
        let said: Vec<_> = asks.iter().filter_map(|ask| self.answer(ask)).collect();
        Some(OwnerFrame {
            number: frame.number,
            bytes: vec![0; 32 * said.len()].into(),
            kind: OwnerKind::Stored(said.into()),
        })
    }

    fn answer(&mut self, ask: &StoreRequest) -> Option<EngineAnswer> {
        let found = self.keys.get(&ask.name);
        let now = found.map_or(ask.now, |found| found.at.max(ask.now));
        let done = ask.book.apply(found, ask.verb, now).ok()?;
        match done.write {
            Some(Write::Keep { found, .. }) => drop(self.keys.insert(ask.name, found)),
            Some(Write::Forget) => drop(self.keys.remove(&ask.name)),
            None => {}
        }
        Some(done.said)
    }
}

/// Questions of one request.
struct Waiting {
    asking: Asking,
    /// What was sent of them and is not answered.
    sent: usize,
    until: u64,
}

/// Something that was sent, and what it belongs to.
enum Sent {
    Letter(u64, Vec<StepPlace>),
    Store(u64, StoreAsks),
    Page,
    Round,
}

/// A node's part in owning keys.
pub(crate) struct OwnedPart {
    owners: Owners,
    arrival: Arc<Arrival>,
    me: u16,
    /// Where the store is, where one decides.
    store: Option<u16>,
    deadline: u64,
    numbers: u64,
    waiting: BTreeMap<u64, Waiting>,
    /// What was sent, to whom and until when it is waited for.
    sent: BTreeMap<u64, (u16, u64, Sent)>,
    seen: BTreeSet<(u16, u64)>,
    /// Nodes to which no stream is open.
    down: BTreeSet<u16>,
    moving: Moving,
    /// Newcomers that wait until they are known, or have their keys as of a pass.
    newcomers: Vec<(u16, u64, Option<u64>)>,
    pub(crate) out: VecDeque<(u16, OwnerFrame)>,
    /// Requests that waited, and whether they passed.
    pub(crate) decided: Vec<(u64, bool)>,
}

/// Keys that leave.
struct Moving {
    pass: Option<Pass>,
    due: u64,
    rest: u64,
    /// Answers to a round of questions of a newcomer that are missing.
    round: usize,
}

impl OwnedPart {
    /// A node that knows of no other.
    pub(crate) fn new(me: u16, store: Option<u16>, deadline: u64, numbers: u64) -> Self {
        let arrival = Arc::new(Arrival::default());
        arrival.begin();
        let used = store.map_or(StoreUse::None, |_| StoreUse::Some);
        let owners = Owners::new(OwnerKey([7; 16]), |bytes| fnv(FNV, bytes), used);
        let owners = owners.arriving(&arrival);
        Self {
            owners,
            arrival,
            me,
            store,
            deadline,
            numbers,
            waiting: BTreeMap::new(),
            sent: BTreeMap::new(),
            seen: BTreeSet::new(),
            down: BTreeSet::new(),
            moving: Moving {
                pass: None,
                due: u64::MAX,
                rest: REST_MIN,
                round: 0,
            },
            newcomers: Vec::new(),
            out: VecDeque::new(),
            decided: Vec::new(),
        }
    }

    /// Decides a request, or asks those who do.
    pub(crate) fn ask(&mut self, node: &Arc<Node>, key: Key<'_>, cost: Cost, now: u64) -> Asked {
        let at = Instant::from_nanos(now);
        let within = node.within(Scope::All).ok();
        let spots = within.map(|within| within.spots(key)).unwrap_or_default();
        if self.owners.is_here(node, &spots) {
            return Asked::Now(node.check_spots(&spots, cost, at).is_allowed());
        }
        let question = Question {
            verb: Verb::Check,
            spots,
            cost,
            names: Vec::new(),
        };
        let asking = self.owners.ask(node, vec![question], at);
        let number = self.number();
        self.waiting.insert(
            number,
            Waiting {
                asking,
                sent: 0,
                until: now.saturating_add(self.deadline),
            },
        );
        self.advance(number);
        match self.decided.pop_if(|(of, _)| *of == number) {
            Some((_, passes)) => Asked::Now(passes),
            None => Asked::Later(number),
        }
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        u64::from(self.me) << 48 | self.numbers
    }

    /// Sends what a request wants sent, or says what came of it.
    fn advance(&mut self, of: u64) {
        let Some(mut waiting) = self.waiting.remove(&of) else {
            return;
        };
        let Some(wanted) = waiting.asking.poll(&self.owners) else {
            let (replies, _) = waiting.asking.finish();
            let said = replies.into_iter().next().and_then(|reply| reply.said);
            let passes = matches!(said, Some(RemoteAnswer::Answer(answer)) if answer.is_allowed());
            return self.decided.push((of, passes));
        };
        let until = waiting.until;
        waiting.sent = wanted.letters.len() + usize::from(!wanted.stored.each.is_empty());
        self.waiting.insert(of, waiting);
        for letter in wanted.letters {
            let mut body = batch();
            letter.parcel.write(&mut body);
            let sent = Sent::Letter(of, letter.steps);
            let frame = OwnerFrame::of(OwnerKind::Batch, body);
            self.send(Whole::address(letter.to), frame, until, sent);
        }
        if let Some(store) = self.store.filter(|_| !wanted.stored.each.is_empty()) {
            let asks = OwnerKind::Store(wanted.stored.each.clone().into());
            let body = vec![0; 48 * wanted.stored.each.len()];
            let sent = Sent::Store(of, wanted.stored);
            self.send(store, OwnerFrame::of(asks, body), until, sent);
        }
    }

    fn send(&mut self, to: u16, frame: OwnerFrame, until: u64, sent: Sent) {
        let number = self.number();
        let until = if self.down.contains(&to) { 0 } else { until };
        self.sent.insert(number, (to, until, sent));
        if until > 0 {
            self.out.push_back((to, OwnerFrame { number, ..frame }));
        }
    }

    /// Takes a frame of another node or of the store.
    pub(crate) fn handle(&mut self, node: &Arc<Node>, from: u16, frame: &OwnerFrame, now: u64) {
        if !self.seen.insert((from, frame.number)) {
            return;
        }
        let at = Instant::from_nanos(now);
        let answer = match &frame.kind {
            OwnerKind::Reply(is_done) => {
                let bytes = is_done.then_some(&*frame.bytes);
                return self.answered(frame.number, bytes.ok_or(NoReply::Gone), now);
            }
            OwnerKind::Stored(said) => return self.stored(frame.number, said),
            OwnerKind::Store(_) => None,
            OwnerKind::Known => return self.newcomers.push((from, frame.number, None)),
            OwnerKind::Keys => {
                self.moving.due = now;
                let pass = self.owners.next_pass();
                return self.newcomers.push((from, frame.number, Some(pass)));
            }
            OwnerKind::Batch => {
                let answered = self.owners.answer(node, &frame.bytes, at, |_| {});
                answered.map(|answered| answered.bytes)
            }
            OwnerKind::Page => {
                let is_open = self.owners.takes_keys();
                let taken = is_open.then(|| self.owners.take_over(node, &frame.bytes, at));
                taken.flatten().map(|taken| {
                    let mut bytes = Vec::new();
                    put_varint(&mut bytes, taken);
                    bytes
                })
            }
        };
        self.reply(from, frame.number, answer);
    }

    fn reply(&mut self, to: u16, number: u64, answer: Option<Vec<u8>>) {
        let kind = OwnerKind::Reply(answer.is_some());
        let frame = OwnerFrame::of(kind, answer.unwrap_or_default());
        self.out.push_back((to, OwnerFrame { number, ..frame }));
    }

    /// What was sent has an answer, or none.
    fn answered(&mut self, number: u64, answer: Result<&[u8], NoReply>, now: u64) {
        match self.sent.remove(&number) {
            Some((_, _, Sent::Letter(of, steps))) => {
                let read = |bytes| parcels(bytes)?.first().copied();
                let answer = answer.and_then(|bytes| read(bytes).ok_or(NoReply::Gone));
                if let Some(waiting) = self.waiting.get_mut(&of) {
                    waiting.asking.handle_letter(&self.owners, &steps, answer);
                    self.is_answered(of);
                }
            }
            Some((_, _, Sent::Store(of, asks))) => {
                let missing = asks.each.iter().map(|_| None).collect::<Vec<_>>();
                if let Some(waiting) = self.waiting.get_mut(&of) {
                    let asking = &mut waiting.asking;
                    asking.handle_stored(&self.owners, asks, missing, |_| None);
                    self.is_answered(of);
                }
            }
            Some((_, _, Sent::Page)) => {
                let taken = answer.ok().and_then(|bytes| Reader(bytes).number());
                if let Some(pass) = &mut self.moving.pass {
                    pass.handle(taken, Instant::from_nanos(now));
                }
                self.move_keys(now);
            }
            Some((_, _, Sent::Round)) => {
                self.moving.round -= 1;
                if self.moving.round == 0 && self.owners.takes_keys() {
                    self.arrival.end();
                } else if self.moving.round == 0 {
                    self.arrival.set_known();
                    self.begin_round(now);
                }
            }
            None => {}
        }
    }

    fn stored(&mut self, number: u64, said: &[EngineAnswer]) {
        let Some((_, _, Sent::Store(of, asks))) = self.sent.remove(&number) else {
            return;
        };
        if let Some(waiting) = self.waiting.get_mut(&of) {
            let said = said.iter().cloned().map(Some);
            let asking = &mut waiting.asking;
            asking.handle_stored(&self.owners, asks, said, |_| None);
            self.is_answered(of);
        }
    }

    fn is_answered(&mut self, of: u64) {
        if let Some(waiting) = self.waiting.get_mut(&of) {
            waiting.sent = waiting.sent.saturating_sub(1);
            if waiting.sent == 0 {
                self.advance(of);
            }
        }
    }

    /// Learns who is there.
    pub(crate) fn handle_members(&mut self, node: &Arc<Node>, alive: &[NodeId], now: u64) {
        let crew = Crew {
            me: Some(Whole::number(usize::from(self.me))),
            alive: alive.iter().map(|node| (*node, node.0.into())).collect(),
        };
        let at = Instant::from_nanos(now);
        if self.owners.handle_members(crew, node, at) {
            (self.moving.due, self.moving.rest) = (now, REST_MIN);
        }
        if self.arrival.is_under_way() && self.moving.round == 0 && alive.len() > 1 {
            self.moving.round = alive.len() - 1;
            self.ask_round(alive, &OwnerKind::Known, now);
        }
    }

    /// Asks the others for the keys that this node owns.
    fn begin_round(&mut self, now: u64) {
        let others: Vec<NodeId> = self.owners.members();
        self.moving.round = others.len().saturating_sub(1);
        self.ask_round(&others, &OwnerKind::Keys, now);
    }

    fn ask_round(&mut self, alive: &[NodeId], kind: &OwnerKind, now: u64) {
        for to in alive.iter().map(|node| Whole::address(*node)) {
            if to != self.me {
                let until = now.saturating_add(PATIENCE);
                let frame = OwnerFrame::of(kind.clone(), Vec::new());
                self.send(to, frame, until, Sent::Round);
            }
        }
    }

    /// A stream to a node breaks, or may be opened again.
    pub(crate) fn set_down(&mut self, to: u16, is_down: bool) {
        if !is_down {
            self.down.remove(&to);
            return;
        }
        self.down.insert(to);
        for (_, until, _) in self.sent.values_mut().filter(|(of, ..)| *of == to) {
            *until = 0;
        }
    }

    /// Does what is due.
    pub(crate) fn handle_timeout(&mut self, node: &Arc<Node>, now: u64) {
        let late = self.sent.iter().filter(|(_, (_, until, _))| *until <= now);
        let late: Vec<_> = late
            .map(|(number, (_, until, _))| (*number, *until))
            .collect();
        for (number, until) in late {
            let why = if until == 0 {
                NoReply::Gone
            } else {
                NoReply::Late
            };
            self.answered(number, Err(why), now);
        }
        if self.moving.pass.is_none() && self.moving.due <= now {
            self.moving.due = now.saturating_add(self.moving.rest);
            self.moving.rest = (2 * self.moving.rest).min(REST_MAX);
            if self.owners.take_strays() {
                self.moving.pass = Some(self.owners.pass(node, |_| false));
                self.move_keys(now);
            }
        }
        self.answer_newcomers();
    }

    fn answer_newcomers(&mut self) {
        for (to, number, pass) in std::mem::take(&mut self.newcomers) {
            let who = Whole::number(usize::from(to));
            let is_known = self.owners.has_member(who);
            if is_known && pass.is_none_or(|pass| self.owners.has_passed(pass, who)) {
                self.reply(to, number, Some(Vec::new()));
            } else {
                self.newcomers.push((to, number, pass));
            }
        }
    }

    /// Sends the next page of a pass, or ends it.
    fn move_keys(&mut self, now: u64) {
        let Some(mut pass) = self.moving.pass.take() else {
            return;
        };
        if let Some((to, page)) = pass.poll(&self.owners, Instant::from_nanos(now)) {
            self.moving.pass = Some(pass);
            let until = now.saturating_add(PAGE_PATIENCE);
            let frame = OwnerFrame::of(OwnerKind::Page, page);
            return self.send(Whole::address(to), frame, until, Sent::Page);
        }
        let is_last = pass.end(&self.owners).all_went && self.moving.rest >= REST_MAX;
        if !is_last {
            self.owners.note_strays();
        }
        self.answer_newcomers();
    }

    /// When something is due.
    pub(crate) fn poll_timeout(&self) -> u64 {
        let sent = self.sent.values().map(|(_, until, _)| *until).min();
        let due = match self.moving.pass {
            None if self.owners.has_strays() => self.moving.due,
            _ => u64::MAX,
        };
        sent.unwrap_or(u64::MAX).min(due)
    }

    /// Whether a request waits for an answer.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// Between two looks at the keys after a change; it doubles.
const REST_MIN: u64 = 100_000_000;
const REST_MAX: u64 = 5_000_000_000;
/// How long a newcomer waits for each of its questions, and a node for a page to be taken.
const PATIENCE: u64 = 4_000_000_000;
const PAGE_PATIENCE: u64 = 2_000_000_000;

#[cfg(test)]
mod tests {
    use tollgate_gossip::{Bucket, ModeKey};
    use tollgate_limit::Span;

    use super::*;
    use crate::contender::Contender;
    use crate::world::{Cluster, LendingMode, Request, RunOutcome, WorldFault, simulate};

    const BURST: u64 = 100;

    fn run(lent: LendingMode, faults: Vec<WorldFault>, seed: u64) -> RunOutcome {
        run_over(500_000, lent, faults, seed)
    }

    /// One key at five times its limit of 100 a second, for 20 s, at five nodes in turn, a way apart that takes so long
    /// or up to four times that.
    fn run_over(way_ns: u64, lent: LendingMode, faults: Vec<WorldFault>, seed: u64) -> RunOutcome {
        let mut cluster = Cluster::new(Bucket::new(100, BURST, 1_000_000_000).unwrap());
        cluster.nodes = 5;
        let base = Span::from_nanos(way_ns.into());
        let jitter = Span::from_nanos(u128::from(3 * way_ns));
        cluster.faults = vec![WorldFault::Delay { base, jitter }];
        cluster.faults.extend(faults);
        let trace: Vec<Request> = (0..10_000_u64)
            .map(|number| Request {
                at: Instant::from_nanos(1_000_000_000 + number * 2_000_000),
                key: ModeKey(9),
                cost: 1,
                node: Some(u16::try_from(number % 5).unwrap()),
            })
            .collect();
        simulate(&cluster, Contender::Lent(lent), &trace, seed).unwrap()
    }

    fn seconds(seconds: u64) -> Span {
        Span::from_nanos(u128::from(seconds) * 1_000_000_000)
    }

    fn crash(node: u16, at: u64, outage: u64) -> WorldFault {
        WorldFault::Crash {
            node,
            at: seconds(at),
            outage: seconds(outage),
            keeps_state: false,
        }
    }

    #[test]
    fn an_owner_that_dies_costs_one_limit_and_nothing_when_it_returns() {
        for seed in 0..8 {
            let overs = (0..5).map(|node| run(LendingMode::Owner, vec![crash(node, 5, 4)], seed));
            let overs: Vec<u64> = overs.map(|ran| ran.judged.over).collect();
            let owned = overs.iter().filter(|over| **over > BURST / 2).count();
            assert!(
                owned == 1 && overs.iter().all(|over| *over <= BURST + 5),
                "{overs:?}"
            );
        }
    }

    #[test]
    fn a_node_that_joins_costs_nothing() {
        for seed in 0..8 {
            for node in 0..5 {
                let at = seconds(5);
                let ran = run(
                    LendingMode::Owner,
                    vec![WorldFault::Join { node, at }],
                    seed,
                );
                assert!(ran.judged.over <= 5, "{seed}, {node}: {:?}", ran.judged);
            }
        }
    }

    /// Without the rule that nobody decides about a key whose counts others may have this is a whole limit.
    #[test]
    fn a_node_that_joins_costs_little_however_long_counts_are_on_their_way() {
        let overs = (0..5_u16).flat_map(|node| (0..4).map(move |seed| (node, seed)));
        let overs: Vec<u64> = overs
            .map(|(node, seed)| {
                let at = seconds(5);
                let faults = vec![WorldFault::Join { node, at }];
                run_over(30_000_000, LendingMode::Owner, faults, seed)
                    .judged
                    .over
            })
            .collect();
        assert!(overs.iter().all(|over| *over <= BURST / 4), "{overs:?}");
    }

    #[test]
    fn lost_and_doubled_frames_cost_one_limit_for_each_node_at_most() {
        for lent in [LendingMode::Owner, LendingMode::Store] {
            let faults = vec![WorldFault::Loss(20_000), WorldFault::Duplication(100_000)];
            let ran = run(lent, faults.clone(), 3);
            assert!(ran.judged.over <= 5 * 100, "{:?}", ran.judged);
            assert!(ran.judged.rejected > 0 && ran.traffic.lost > 0);
            assert_eq!(run(lent, faults, 3).hash, ran.hash);
        }
    }

    #[test]
    fn nodes_cut_off_from_a_store_decide_by_themselves() {
        let faults = vec![WorldFault::Leave {
            node: 1,
            at: seconds(3),
        }];
        let ran = run(LendingMode::Store, faults, 1);
        assert_eq!(ran.judged.over, 0);
        let skewed = run(LendingMode::Owner, vec![WorldFault::Skew(seconds(1))], 1);
        assert_eq!(skewed.judged.over, 0);
    }
}
