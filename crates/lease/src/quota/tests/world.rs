//! A grantor, or nodes of which one grants at a time; some data planes that are a stream away, and requests that ask
//! the grantor itself.
//!
//! Messages of a stream come in order, each as late as the schedule says. Streams break, reports get lost and come
//! twice, the grantor falls, is away for a while, and is succeeded; what it answers gets lost. A bucket of its own
//! arithmetic is charged at each admission. Streams end at nodes that stay: the way from there to the grantor is a part
//! of that of a message.

use std::collections::VecDeque;

use tollgate_limit::Instant;
use tollgate_mode::planted;

use super::envoy::Envoy;
use super::nodes::{KEY, Nodes};
use crate::message::{Need, Question};
use crate::quota::{Action, PlaneId, QuotaBucket, QuotaFigures, QuotaReport, QuotaRules};
use crate::tests::dice::LeaseDice;
use crate::{Lender, LenderSetup, Limits, Pool, QuotaTold, Rules};

pub(super) const MS: u64 = 1_000_000;
pub(super) const SECOND: u64 = 1_000 * MS;
const STEP: u64 = 5 * MS;
/// When the schedule begins, so that everything of before is over.
const BEGIN: u64 = 100 * SECOND;

/// One bucket that sees everything, in 10^-9 of a token.
#[derive(Clone, Debug)]
pub(super) struct QuotaReferenceBucket {
    per_second: i128,
    depth: i128,
    level: i128,
    at: u64,
    /// Requests that it would have refused.
    pub(super) over: u64,
    /// The deepest that it was below zero, in tokens.
    pub(super) debt: u64,
    pub(super) admitted: u64,
}

impl QuotaReferenceBucket {
    fn new(per_second: u64, burst: u64) -> Self {
        let depth = i128::from(burst) * 1_000_000_000;
        Self {
            per_second: i128::from(per_second),
            depth,
            level: depth,
            at: 0,
            over: 0,
            debt: 0,
            admitted: 0,
        }
    }

    fn admit(&mut self, now: u64) {
        let gained = self.per_second * i128::from(now - self.at);
        self.level = (self.level + gained).min(self.depth) - 1_000_000_000;
        self.at = now;
        self.admitted += 1;
        if self.level < 0 {
            self.over += 1;
            let debt = u64::try_from(-self.level).unwrap().div_ceil(1_000_000_000);
            self.debt = self.debt.max(debt);
        }
    }
}

/// What a data plane's clients do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Quiet,
    /// So many requests in a second.
    Steady(u64),
    /// All that passes, at once.
    Burst,
}

#[derive(Clone, Debug)]
pub(super) struct PlaneSide {
    pub(super) envoy: Envoy,
    pub(super) mood: Mood,
    stream: PlaneId,
    /// When to look after it.
    due: Option<Instant>,
    down: VecDeque<(u64, Action)>,
    up: VecDeque<(u64, QuotaReport)>,
    next_report: u64,
    report_every: u64,
    owed: u64,
    is_subscribed: bool,
    /// The bucket that it was told last.
    told: Option<QuotaBucket>,
}

/// What may go wrong, in thousandths, and how long messages take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Faults {
    pub(super) delay_max: u64,
    pub(super) lost: u64,
    pub(super) twice: u64,
    /// Of assignments: later than is promised, and by how much at most.
    pub(super) late: (u64, u64),
}

#[derive(Debug)]
pub(super) struct QuotaWorld {
    pub(super) nodes: Nodes,
    pub(super) ghost: QuotaReferenceBucket,
    pub(super) sides: Vec<PlaneSide>,
    pub(super) now: u64,
    pub(super) faults: Faults,
    /// Requests of a second that ask the grantor itself.
    pub(super) direct: u64,
    /// What late assignments may have cost, and taking data planes at their word.
    pub(super) excuse: u64,
    pub(super) broken_books: u64,
    rules: QuotaRules,
    limits: Limits,
    dice: LeaseDice,
    streams: PlaneId,
    asked: u64,
    seq: u64,
}

impl QuotaWorld {
    pub(super) fn new(
        seed: u64,
        per_second: u64,
        burst: u64,
        rules: QuotaRules,
        faults: Faults,
    ) -> Self {
        let limits = Limits::new(per_second, SECOND, burst).unwrap();
        let setup = LenderSetup {
            limits,
            window: None,
            rules: Rules::default(),
            generation: 1,
            since: Instant::from_nanos(0),
            has_successors: false,
            quota: Some(rules),
        };
        Self {
            nodes: Nodes::new(setup, 1),
            ghost: QuotaReferenceBucket::new(per_second, burst),
            sides: Vec::new(),
            now: 0,
            faults,
            direct: 0,
            excuse: 0,
            broken_books: 0,
            rules,
            limits,
            dice: LeaseDice::new(seed),
            streams: 0,
            asked: 0,
            seq: 0,
        }
    }

    /// The same with so many nodes, of which the first grants.
    pub(super) fn among(mut self, nodes: usize) -> Self {
        self.nodes = Nodes::new(self.nodes.setup, nodes);
        self.nodes.deaf = if nodes > 1 { self.faults.lost } else { 0 };
        // They have been there for long.
        self.nodes.handle_timeout(self.at());
        self
    }

    /// Whoever grants.
    pub(super) fn grantor(&mut self) -> &mut Lender {
        self.nodes.grantor(self.at())
    }

    /// The pool of whoever grants, where it has one.
    pub(super) fn pool(&mut self) -> Option<&Pool> {
        self.nodes.pool(self.at())
    }

    pub(super) fn figures(&self) -> QuotaFigures {
        self.nodes.figures()
    }

    pub(super) fn add(&mut self, envoy: Envoy, report_every: u64) {
        self.streams += 1;
        self.sides.push(PlaneSide {
            envoy,
            mood: Mood::Quiet,
            stream: self.streams,
            due: None,
            down: VecDeque::new(),
            up: VecDeque::new(),
            next_report: self.now,
            report_every,
            owed: 0,
            is_subscribed: false,
            told: None,
        });
    }

    pub(super) fn at(&self) -> Instant {
        Instant::from_nanos(BEGIN + self.now)
    }

    /// A stream breaks: of what is under way, some never arrives.
    pub(super) fn cut(&mut self, side: usize) {
        self.streams += 1;
        let side = &mut self.sides[side];
        let kept = usize::try_from(self.dice.below(side.down.len() as u64 + 1)).unwrap();
        side.down.truncate(kept);
        side.up.clear();
        let left = std::mem::replace(&mut side.stream, self.streams);
        side.due = None;
        // Nobody need hear of it.
        if self.dice.chance(500, 1_000) {
            self.grantor().leave(KEY, left);
        }
    }

    /// The only server falls with all streams, and begins again without its books.
    pub(super) fn fall(&mut self) {
        for side in 0..self.sides.len() {
            self.cut(side);
        }
        self.nodes.fall(self.at());
        if self.nodes.count() == 1 {
            self.excuse += self.rules.restated_over_max(&self.limits);
        }
    }

    /// From here on another node owns the key, as all of them know.
    pub(super) fn pass_to(&mut self, owner: usize) {
        self.nodes.pass_to(owner, self.at());
    }

    /// Whoever grants is not there for so long, and the next one grants in its place; one that fell has no books when
    /// it is back.
    pub(super) fn stand_in(&mut self, time: u64, falls: bool) {
        let until = Instant::from_nanos(self.at().as_nanos() + time);
        self.nodes.stand_in(until, falls);
    }

    fn tell(&mut self, at: usize, told: QuotaTold) {
        if self.dice.chance(self.nodes.deaf, 1_000) {
            return self.miss(at);
        }
        let now = self.at().as_nanos();
        let due = told.due_ns.map(|wait| now.saturating_add(wait));
        self.sides[at].due = due.map(Instant::from_nanos);
        let Some(action) = told.action else {
            return;
        };
        let mut delay = self.dice.below(self.faults.delay_max + 1);
        if self.dice.chance(300, 1_000) {
            delay = self.faults.delay_max;
        }
        if self.dice.chance(self.faults.late.0, 1_000) {
            delay = self.rules.delivery_ns + self.dice.below(self.faults.late.1);
        }
        let side = &mut self.sides[at];
        let last = side.down.back().map_or(0, |(due, _)| *due);
        let due = last.max(self.now + delay);
        let late = due.saturating_sub(self.now + self.rules.delivery_ns);
        let bucket = match action {
            Action::Assign(bucket, _) => Some(bucket),
            Action::Deny(_) | Action::Abandon => None,
        };
        // It may be used as late as it came, and what it takes the place of for as long.
        let before = std::mem::replace(&mut side.told, bucket);
        for bucket in [bucket, before].into_iter().flatten() {
            self.excuse += self.rules.over_max(&bucket, late);
        }
        side.down.push_back((due, action));
    }

    /// The answer does not get to the node that has the stream: nobody may take it for heard.
    fn miss(&mut self, at: usize) {
        self.streams += 1;
        let side = &mut self.sides[at];
        side.due = None;
        side.stream = planted!("lease-43", self.streams, side.stream);
    }

    fn hear(&mut self, at: usize) {
        while let Some((due, report)) = self.sides[at].up.front().copied() {
            if due > self.now {
                return;
            }
            self.sides[at].up.pop_front();
            let stream = self.sides[at].stream;
            let now = self.at();
            let told = self.grantor().handle_report(KEY, stream, &report, now);
            self.tell(at, told.expect("quotas are on"));
        }
    }

    fn speak(&mut self, at: usize) {
        let side = &mut self.sides[at];
        let is_new = !side.is_subscribed && side.mood != Mood::Quiet;
        if !is_new && (self.now < side.next_report || !side.is_subscribed) {
            return;
        }
        side.is_subscribed = true;
        side.next_report = self.now + side.report_every;
        let report = side.envoy.report(self.now);
        if self.dice.chance(self.faults.lost, 1_000) {
            return;
        }
        let copies = 1 + u64::from(self.dice.chance(self.faults.twice, 1_000));
        for _ in 0..copies {
            let delay = self.dice.below(self.faults.delay_max + 1);
            let last = side.up.back().map_or(0, |(due, _)| *due);
            side.up.push_back((last.max(self.now + delay), report));
        }
    }

    fn use_up(&mut self, at: usize) {
        let side = &mut self.sides[at];
        while let Some((due, action)) = side.down.front().copied() {
            if due > self.now {
                break;
            }
            side.down.pop_front();
            side.envoy.handle(&action, self.now);
            if action == Action::Abandon {
                side.is_subscribed = false;
            }
        }
        match side.mood {
            Mood::Quiet => {}
            Mood::Steady(per_second) => {
                side.owed += per_second * STEP;
                while side.owed >= SECOND {
                    side.owed -= SECOND;
                    if side.envoy.check(self.now) {
                        self.ghost.admit(self.now);
                    }
                }
            }
            Mood::Burst => {
                while side.envoy.check(self.now) {
                    self.ghost.admit(self.now);
                }
            }
        }
    }

    /// Requests that ask the grantor.
    fn ask(&mut self) {
        self.asked += self.direct * STEP;
        let count = self.asked / SECOND;
        self.asked %= SECOND;
        self.ask_for(count);
    }

    /// So many requests at once that ask the grantor.
    pub(super) fn ask_for(&mut self, count: u64) {
        if count == 0 {
            return;
        }
        self.seq += 1;
        let question = Question {
            client: 1,
            boot: 1,
            key: KEY,
            seq: self.seq,
            need: Need { cost: 1, count },
            seen: count,
            is_ask: true,
            ..Question::default()
        };
        let now = self.at();
        let served = self
            .grantor()
            .handle_question(KEY, &question, u64::MAX, now);
        for _ in 0..served.map_or(0, |grant| grant.served) {
            self.ghost.admit(self.now);
        }
    }

    /// One step of time.
    pub(super) fn step(&mut self) {
        self.now += STEP;
        for at in 0..self.sides.len() {
            self.use_up(at);
            self.speak(at);
            self.hear(at);
        }
        self.ask();
        self.look_after();
        let Some(pool) = self.pool() else {
            return;
        };
        let ((rate, depth), (more_rate, more_depth)) = (pool.reserved(), pool.unknown());
        let deep = pool.level() + depth + more_depth;
        let is_fast = rate + more_rate > self.limits.rate();
        self.broken_books += u64::from(deep > self.limits.depth() || is_fast);
    }

    /// Does what is due.
    fn look_after(&mut self) {
        let now = self.at();
        self.nodes.come_back(now);
        for at in 0..self.sides.len() {
            let PlaneSide { stream, due, .. } = self.sides[at];
            if due.is_some_and(|due| due <= now) {
                let told = self.grantor().handle_due(KEY, stream, now);
                self.tell(at, told);
            }
        }
        if self.now.is_multiple_of(250 * MS) {
            self.nodes.handle_timeout(now);
        }
    }

    pub(super) fn run(&mut self, time: u64) {
        let end = self.now + time;
        while self.now < end {
            self.step();
        }
    }
}
