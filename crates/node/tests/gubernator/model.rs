//! A slow model of gubernator's buckets, in exact fractions.

use num_rational::Ratio;
use tollgate_node::{GubernatorAlgorithm, GubernatorAnswer, GubernatorAsk};

/// What the model remembers of a key.
#[derive(Clone, Debug)]
pub(crate) struct GubernatorModel {
    is_window: bool,
    limit: i64,
    duration: i64,
    burst: i64,
    remaining: Ratio<i128>,
    since: i64,
    ends: i64,
    refused_when_empty: bool,
}

impl GubernatorModel {
    /// Decides one request, in the words of gubernator's documentation and as slowly as one likes.
    pub(crate) fn check(
        kept: &mut Option<Self>,
        ask: &GubernatorAsk<'_>,
        now: i64,
    ) -> GubernatorAnswer {
        let is_window = ask.algorithm == GubernatorAlgorithm::TokenBucket;
        if kept.as_ref().is_some_and(|kept| kept.ends < now) {
            *kept = None;
        }
        if is_window && ask.resets && kept.take().is_some() {
            return GubernatorAnswer {
                is_over: false,
                limit: ask.limit,
                remaining: ask.limit,
                reset_at: 0,
            };
        }
        if kept
            .as_ref()
            .is_some_and(|kept| kept.is_window != is_window)
        {
            *kept = None;
        }
        let burst = if ask.burst == 0 { ask.limit } else { ask.burst };
        let holds = if is_window { ask.limit } else { burst };
        let Some(model) = kept else {
            let is_over = ask.cost > holds;
            let left = match (is_over, is_window) {
                (false, _) => holds - ask.cost,
                (true, true) => holds,
                (true, false) => 0,
            };
            let model = kept.insert(Self {
                is_window,
                limit: ask.limit,
                duration: ask.duration,
                burst,
                remaining: Ratio::from(i128::from(left)),
                since: now,
                ends: now + ask.duration,
                refused_when_empty: false,
            });
            return model.answer(ask, is_over, now);
        };
        if is_window {
            model.window(ask, now)
        } else {
            model.leaky(ask, burst, now)
        }
    }

    fn whole(&self) -> i64 {
        i64::try_from(self.remaining.to_integer()).expect("a small number")
    }

    fn answer(&self, ask: &GubernatorAsk<'_>, is_over: bool, now: i64) -> GubernatorAnswer {
        let reset_at = if self.is_window {
            self.ends
        } else {
            now + (ask.limit - self.whole()) * (ask.duration / ask.limit)
        };
        GubernatorAnswer {
            is_over,
            limit: ask.limit,
            remaining: self.whole(),
            reset_at,
        }
    }

    fn window(&mut self, ask: &GubernatorAsk<'_>, now: i64) -> GubernatorAnswer {
        if self.limit != ask.limit {
            let moved = self.remaining + i128::from(ask.limit - self.limit);
            self.remaining = moved.max(Ratio::from(0));
            self.limit = ask.limit;
        }
        if self.duration != ask.duration {
            self.duration = ask.duration;
            self.ends = self.since + ask.duration;
            if self.ends <= now {
                self.since = now;
                self.ends = now + ask.duration;
                self.remaining = Ratio::from(i128::from(ask.limit));
            }
        }
        let is_empty = self.whole() == 0;
        self.refused_when_empty = self.refused_when_empty && is_empty;
        if ask.cost == 0 {
            return self.answer(ask, self.refused_when_empty, now);
        }
        let is_over = ask.cost > self.whole();
        if is_over && is_empty {
            self.refused_when_empty = true;
        }
        if !is_over {
            self.remaining -= i128::from(ask.cost);
        } else if ask.drains {
            self.remaining = Ratio::from(0);
        }
        self.answer(ask, is_over, now)
    }

    fn leaky(&mut self, ask: &GubernatorAsk<'_>, burst: i64, now: i64) -> GubernatorAnswer {
        let full = Ratio::from(i128::from(burst));
        if ask.resets || self.burst != burst && burst > self.whole() {
            self.remaining = full;
        }
        self.burst = burst;
        if ask.cost != 0 {
            self.ends = now + ask.duration;
        }
        let per_token = Ratio::new(i128::from(ask.duration), i128::from(ask.limit));
        let leaked = Ratio::from(i128::from(now - self.since)) / per_token;
        if leaked >= Ratio::from(1) {
            self.remaining += leaked;
            self.since = now;
        }
        if self.whole() > burst {
            self.remaining = full;
        }
        let before = self.answer(ask, false, now);
        if ask.cost == 0 {
            return before;
        }
        if ask.cost > self.whole() {
            if ask.drains && self.whole() > 0 {
                self.remaining = Ratio::from(0);
            }
            return GubernatorAnswer {
                is_over: true,
                remaining: self.whole(),
                ..before
            };
        }
        if ask.cost == self.whole() {
            self.remaining = Ratio::from(0);
        } else {
            self.remaining -= i128::from(ask.cost);
        }
        self.answer(ask, false, now)
    }
}
