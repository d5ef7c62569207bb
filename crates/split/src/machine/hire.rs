//! Rate and depth go where messages come: parts of the bucket are hired from those who are asked for less, for a short
//! term.
//!
//! A node that is short looks every period at what it is asked for, and asks the others one after the other. Each keeps
//! what it is asked for itself, of the whole rate by all demand that is known, and lets the rest. What messages were
//! promised is never let. Nobody decides for all, and nothing has to arrive. Not here: terms (`hires`).

use tollgate_gossip::NodeId;
use tollgate_limit::Instant;

use super::SplitMachine;
use crate::config::AdaptorConfig;
use crate::hires::{OpenQuestion, QuestionId};
use crate::limits::{Share, TopicLimits};
use crate::wire::{LeaseGrant, LeaseRequest, Message};

impl SplitMachine {
    fn hiring(&self) -> Option<&AdaptorConfig> {
        self.config.hire.as_ref().filter(|_| !self.follow.is_on())
    }

    /// Messages came, in time or not.
    pub(super) fn asked_for(&mut self, messages: u64, in_time: bool) {
        let Some(window) = self.hiring().map(|hiring| hiring.window) else {
            return;
        };
        self.hires.pace.add(messages, window, self.now);
        if !in_time {
            self.hires.is_short = true;
            let first = self.now.max(self.hires.clear_at);
            self.hires.tick_at.get_or_insert(first);
        }
    }

    /// What this node is asked for, in thousandths of a message per second; what waits counts as what comes within a
    /// horizon.
    pub(super) fn demand(&mut self) -> u64 {
        let Some((window, horizon)) = self.hiring().map(|hiring| (hiring.window, hiring.horizon))
        else {
            return 0;
        };
        let milli = self.hires.pace.milli(window, self.now);
        let Some(horizon) = horizon else {
            return milli;
        };
        let waiting = self.queued() / self.limits.message().max(1);
        let more = waiting.saturating_mul(MILLI_PER_NANO) / horizon.as_nanos().max(1);
        milli.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
    }

    /// What has to be looked at by time: the next look, or a question that nobody answers.
    pub(super) fn hire_due(&self) -> Option<Instant> {
        let deadline = self.hires.open.map(|question| question.deadline);
        deadline.into_iter().chain(self.hires.tick_at).min()
    }

    pub(super) fn hire_if_due(&mut self) {
        let now = self.now;
        let is_over = |question: &mut OpenQuestion| question.deadline <= now;
        if self.hires.open.take_if(is_over).is_some() {
            self.ask_next();
        }
        if self.hires.tick_at.is_some_and(|at| at <= now) {
            self.look();
        }
    }

    /// Begins to ask around, if that is of use.
    fn look(&mut self) {
        let Some(period) = self.hiring().map(|hiring| hiring.period) else {
            self.hires.tick_at = None;
            return;
        };
        let is_short = std::mem::take(&mut self.hires.is_short);
        if !is_short && self.hires.hired() == Share::NONE {
            self.hires.tick_at = None;
            self.hires.sweep.clear();
            return;
        }
        self.hires.tick_at = Some(self.now.saturating_add(period));
        let rate = self.bucket.share().rate;
        let lacks = is_short && self.fair(None) > rate + rate / LACK_PART;
        let mut sweep = self.peers.others();
        sweep.retain(|id| {
            let renews = self.hires.hired_from(*id) != Share::NONE;
            (lacks || renews) && self.hires.let_to(*id) == Share::NONE
        });
        self.hires.sweep = sweep;
        self.ask_next();
    }

    /// This node's part of the rate by demand, as far as it is known.
    fn fair(&mut self, demand: Option<u64>) -> u128 {
        let mine = demand.unwrap_or_else(|| self.demand());
        let others = self.hires.demand_of_others(None, self.heard_since());
        by_demand(self.limits.whole().rate, mine, others)
    }

    /// What was heard before is not believed any more.
    fn heard_since(&self) -> Instant {
        let periods = self.hiring().map_or(0, |hiring| hiring.period.as_nanos());
        let long = periods.saturating_mul(BELIEVED_PERIODS);
        let long = u64::try_from(long).unwrap_or(u64::MAX);
        Instant::from_nanos(self.now.as_nanos().saturating_sub(long))
    }

    fn ask_next(&mut self) {
        while self.hires.open.is_none()
            && let Some(to) = self.hires.sweep.pop()
        {
            let demand = self.demand();
            let (fair, rate) = (self.fair(Some(demand)), self.bucket.share().rate);
            let have = self.hires.hired_from(to);
            let want = (have.rate + fair).saturating_sub(rate);
            if want == 0 && have == Share::NONE {
                continue;
            }
            let since = self.heard_since();
            let others = self.hires.demand_of_others(Some(to), since);
            let ticket = self.hires.next_ticket();
            self.hires.open = Some(OpenQuestion {
                to,
                ticket,
                at: self.now,
                deadline: self
                    .now
                    .saturating_add(self.peers.patience(to, &self.config)),
            });
            self.counts.hires += 1;
            let request = LeaseRequest {
                ticket,
                have,
                want: want.min(self.limits.whole().rate),
                demand: demand.saturating_add(others),
            };
            self.send(to, &Message::Hire(request));
        }
    }

    /// Somebody wants a part of what this node has.
    pub(super) fn handle_hire(
        &mut self,
        from: NodeId,
        boot: u64,
        request: LeaseRequest,
        now: Instant,
    ) {
        let ticket = request.ticket;
        let asked = QuestionId { boot, ticket };
        self.run(now);
        self.bucket.pass(now);
        let is_clear = self.hiring().is_some() && now >= self.hires.clear_at;
        if !is_clear || !self.hires.hear(from, asked, request.have) {
            return;
        }
        let demand = self.demand();
        let share = self.to_let(from, request.want, demand, request.demand);
        let before = self.bucket.tokens();
        let until = now.saturating_add(self.config.hold());
        if !self.hires.let_out(from, asked, (share, until)) {
            return;
        }
        self.share_anew();
        let tokens = before - self.bucket.tokens();
        let grant = LeaseGrant {
            ticket,
            yours: boot,
            share,
            tokens,
            demand,
        };
        self.send(from, &Message::Let(grant));
    }

    /// What is not needed here; never more than before while somebody was promised something.
    fn to_let(&self, to: NodeId, want: u128, demand: u64, others: u64) -> Share {
        let (right, whole) = (self.hires.right, self.limits.whole());
        let floor = self.hiring().map_or(0, |hiring| hiring.floor_milli);
        let floor = right.rate / 1000 * u128::from(floor);
        let keep = by_demand(whole.rate, demand, others).max(floor);
        let before = self.hires.let_to(to);
        let sure = right.less(self.hires.lets()).plus(before);
        let mut rate = want.min(sure.rate.saturating_sub(keep));
        if self.queued() > 0 {
            rate = rate.min(before.rate);
        }
        // So much stays that tokens can be given away.
        let free = self.bucket.sure_room().saturating_sub(self.floor() * 2);
        let depth = rate.saturating_mul(u128::from(self.limits.lasts_ns()));
        Share {
            rate,
            depth: depth.min(before.depth + free).min(TopicLimits::GRAINS_MAX),
        }
    }

    /// An answer came.
    pub(super) fn handle_let(&mut self, from: NodeId, grant: LeaseGrant, now: Instant) {
        self.run(now);
        self.bucket.pass(now);
        let answers = |open: &mut OpenQuestion| open.to == from && open.ticket == grant.ticket;
        let Some(question) = self.hires.open.take_if(answers) else {
            return;
        };
        self.hires.heard_demand(from, grant.demand, now);
        let took = u128::from(now.nanos_since(question.at));
        if took < self.config.term.as_nanos() && grant.share.is_within(self.limits.whole()) {
            let until = question.at.saturating_add(self.config.term);
            let counts_on_old = self.bucket.owed() > 0;
            self.hires.hire(from, (grant.share, until), counts_on_old);
            self.share_anew();
            self.bucket.put(grant.tokens);
            self.leave(now);
        }
        self.ask_next();
    }

    /// What is hired or let has changed.
    pub(super) fn share_anew(&mut self) {
        let sure = self.hires.right.less(self.hires.lets());
        let until = self.hires.hired_until();
        self.bucket.hire(sure, self.hires.hired(), until);
    }
}

/// A part of a rate by demand; nothing where nothing is asked for.
fn by_demand(rate: u128, mine: u64, others: u64) -> u128 {
    let all = u128::from(mine) + u128::from(others);
    let mine = u128::from(mine);
    // Without the product of the whole: a rate may have a hundred bits.
    let (each, rest) = (rate.checked_div(all), rate.checked_rem(all));
    let odd = rest.and_then(|rest| rest.saturating_mul(mine).checked_div(all));
    each.map_or(0, |each| each.saturating_mul(mine))
        .saturating_add(odd.unwrap_or(0))
}

/// A node lacks rate if it has less than its part by so much of it: a sixteenth.
const LACK_PART: u128 = 16;
/// What others are asked for is believed for so many periods.
const BELIEVED_PERIODS: u128 = 20;
/// From per nanosecond to thousandths per second.
pub(super) const MILLI_PER_NANO: u128 = 1_000_000_000_000;
