//! Gubernator's `TOKEN_BUCKET`: so many from a key's first request until the duration is over.

use super::{Asked, GubernatorAnswer, calendar};

/// A window that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GubernatorWindow {
    limit: i64,
    remaining: i64,
    /// As it was asked for.
    duration: i64,
    pub(super) began_at: i64,
    /// Its last millisecond.
    pub(super) ends_at: i64,
    /// Whether somebody was refused while nothing was left.
    is_shut: bool,
}

impl GubernatorWindow {
    /// The window that a key's first request begins. One that asks for more than the limit is refused and takes
    /// nothing.
    pub(super) fn begin(asked: &Asked) -> (Self, GubernatorAnswer) {
        let mut window = Self {
            limit: asked.limit,
            remaining: asked.limit,
            duration: asked.duration,
            began_at: asked.at,
            ends_at: asked.window_end(asked.at),
            is_shut: false,
        };
        let is_over = asked.cost > asked.limit;
        if !is_over {
            window.remaining = asked.limit.saturating_sub(asked.cost);
        }
        let answer = window.answer(is_over);
        (window, answer)
    }

    /// Decides one request of a window that has begun.
    pub(super) fn check(&mut self, asked: &Asked) -> GubernatorAnswer {
        self.adopt(asked);
        self.is_shut &= self.remaining == 0;
        if asked.cost == 0 {
            return self.answer(self.is_shut);
        }
        let is_over = asked.cost > self.remaining && asked.cost > 0;
        self.is_shut |= is_over && self.remaining == 0;
        if !is_over {
            self.remaining = self.remaining.saturating_sub(asked.cost);
        } else if asked.drains {
            self.remaining = 0;
        }
        self.answer(is_over)
    }

    /// Takes over another limit, which moves what is left with it, and another duration.
    fn adopt(&mut self, asked: &Asked) {
        let more = asked.limit.saturating_sub(self.limit);
        if more != 0 {
            self.remaining = self.remaining.saturating_add(more).max(0);
            self.limit = asked.limit;
        }
        if self.duration == asked.duration {
            return;
        }
        self.duration = asked.duration;
        self.ends_at = asked.window_end(self.began_at);
        if self.ends_at <= asked.at {
            self.began_at = asked.at;
            self.ends_at = asked.window_end(asked.at);
            self.remaining = self.limit;
        }
    }

    /// The limit, and what was left of it at the last request.
    pub(super) const fn left(&self) -> (i64, i64) {
        (self.limit, self.remaining)
    }

    const fn answer(&self, is_over: bool) -> GubernatorAnswer {
        GubernatorAnswer {
            is_over,
            limit: self.limit,
            remaining: self.remaining,
            reset_at: self.ends_at,
        }
    }
}

impl Asked {
    /// The last millisecond of a window that began then; of the calendar, it is the interval that tells.
    fn window_end(&self, began_at: i64) -> i64 {
        let Some((_, last)) = self.interval else {
            return began_at.saturating_add(self.duration);
        };
        if began_at <= last {
            return last;
        }
        let later = calendar::interval(self.duration, began_at);
        later.map_or(last, |(_, last)| last)
    }
}
