//! Gubernator's `LEAKY_BUCKET`: a bucket that holds the burst, and into which the limit flows back in every duration.
//!
//! What flows back is added when it is a whole token or more, with its part of the next token; less waits for more.
//! Whole tokens are taken. The request that takes the last whole token takes the part of the next one along.

use super::{Asked, GubernatorAnswer};

/// A bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaky {
    burst: i64,
    tokens: i64,
    /// The part of the next token: so many of [`Self::per`].
    part: u64,
    per: u64,
    /// When something flowed back last.
    pub(super) filled_at: i64,
    /// The last millisecond in which it is remembered.
    pub(super) ends_at: i64,
}

impl Leaky {
    /// The bucket that a key's first request finds: full. One that asks for more than it holds empties it.
    pub(super) fn begin(asked: &Asked) -> (Self, GubernatorAnswer) {
        let is_over = asked.cost > asked.burst;
        let leaky = Self {
            burst: asked.burst,
            tokens: if is_over {
                0
            } else {
                asked.burst.saturating_sub(asked.cost)
            },
            part: 0,
            per: 1,
            filled_at: asked.at,
            ends_at: asked.bucket_end(),
        };
        let answer = leaky.answer(is_over, asked);
        (leaky, answer)
    }

    /// Decides one request.
    pub(super) fn check(&mut self, asked: &Asked) -> GubernatorAnswer {
        self.adopt(asked);
        self.fill(asked);
        let before = self.answer(false, asked);
        match asked.cost {
            0 => before,
            cost if cost > self.tokens && cost > 0 => {
                // The part of a token is drained only together with a whole one.
                if asked.drains && self.tokens > 0 {
                    self.empty();
                }
                GubernatorAnswer {
                    is_over: true,
                    remaining: self.tokens,
                    // Told before it was drained.
                    ..before
                }
            }
            cost => {
                if cost == self.tokens {
                    self.empty();
                } else {
                    self.tokens = self.tokens.saturating_sub(cost);
                }
                self.answer(false, asked)
            }
        }
    }

    /// Takes over another burst, which fills the bucket if it is larger than what is there; and stays for longer.
    fn adopt(&mut self, asked: &Asked) {
        let is_larger = asked.burst != self.burst && asked.burst > self.tokens;
        if asked.resets || is_larger {
            self.tokens = asked.burst;
            self.part = 0;
        }
        self.burst = asked.burst;
        if asked.cost != 0 {
            self.ends_at = asked.bucket_end();
        }
    }

    /// Adds what flowed back, where that is a token or more, up to the burst.
    fn fill(&mut self, asked: &Asked) {
        let per = asked.length();
        if self.per != per {
            let part = u128::from(self.part) * u128::from(per) / u128::from(self.per.max(1));
            self.part = u64::try_from(part).unwrap_or(0);
            self.per = per;
        }
        let since = asked.at.saturating_sub(self.filled_at);
        let flow = u128::from(since.max(0).unsigned_abs()) * u128::from(asked.limit.unsigned_abs());
        if flow >= u128::from(per) {
            let flow = flow + u128::from(self.part);
            let tokens = i64::try_from(flow / u128::from(per)).unwrap_or(i64::MAX);
            self.tokens = self.tokens.saturating_add(tokens);
            self.part = u64::try_from(flow % u128::from(per)).unwrap_or(0);
            self.filled_at = asked.at;
        }
        if self.tokens > self.burst {
            self.tokens = self.burst;
            self.part = 0;
        }
    }

    /// The burst, and what was left of it at the last request.
    pub(super) const fn left(&self) -> (i64, i64) {
        (self.burst, self.tokens)
    }

    const fn empty(&mut self) {
        self.tokens = 0;
        self.part = 0;
    }

    /// The reset is when the limit, not the burst, is there again, at so many whole milliseconds for each token; it is
    /// past where more than the limit is there.
    fn answer(&self, is_over: bool, asked: &Asked) -> GubernatorAnswer {
        let missing = asked.limit.saturating_sub(self.tokens);
        let length = i64::try_from(asked.length()).unwrap_or(i64::MAX);
        let after = match asked.limit {
            0 => length,
            limit => missing.saturating_mul(length / limit),
        };
        GubernatorAnswer {
            is_over,
            limit: asked.limit,
            remaining: self.tokens,
            reset_at: asked.at.saturating_add(after),
        }
    }
}

impl Asked {
    /// Milliseconds in which the limit flows back; at least one.
    fn length(&self) -> u64 {
        let length = match self.interval {
            Some((first, last)) => last.saturating_sub(first).saturating_add(1),
            None => self.duration,
        };
        length.max(1).unsigned_abs()
    }

    /// The last millisecond in which a bucket is remembered that was asked for now.
    fn bucket_end(&self) -> i64 {
        self.at.saturating_add(self.stays())
    }
}
