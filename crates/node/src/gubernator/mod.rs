//! Buckets as gubernator counts them, for clients that expect its answers.
//!
//! A request brings its whole policy along. Its `TOKEN_BUCKET` is a window that begins with a key's first request
//! (`window`), its `LEAKY_BUCKET` a bucket that fills in steps of a token (`leaky`); both in whole milliseconds.
//! Answers are gubernator's, with its rounding, but for these:
//!
//! - A request is `OVER_LIMIT` if it was refused, and a peek if the request before it was and nothing is left. There a
//!   window that once refused says so to its end, even to requests that it lets pass.
//! - A window that begins anew because a shorter duration has ended it is whole in its first answer too.
//! - A peek drops no part of a token, calendar months and years have their own length for leaky buckets, there are
//!   calendar weeks, and the calendar is that of UTC.
//! - Negative limits, bursts and durations are zero.
//! - A time that a request brings counts within [`CREATED_AT_SKEW_MS_MAX`] of ours, and not if what it begins would be
//!   over: whoever sent old times would begin anew with every request.
//!
//! Not here: its messages, and agreement between its nodes.

mod calendar;
mod leaky;
mod window;

use std::fmt;
use std::sync::Arc;

use tollgate_limit::Instant;
use tollgate_table::{
    Budget, CellRules, Counters, Full, Holder, MemoryShare, Print, Seed, Table, TableConfig,
};

use crate::node::NodeConfig;
use crate::set_clock::{is_left_ahead, walk};
use leaky::Leaky;
use window::GubernatorWindow;

/// How far from ours the time of a request may be before ours counts instead.
pub const CREATED_AT_SKEW_MS_MAX: i64 = 5 * 60 * 1_000;

/// What a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GubernatorAsk<'a> {
    /// What is limited.
    pub name: &'a str,
    /// Who is counted.
    pub key: &'a str,
    /// Tokens to take; zero is a peek, and less gives back.
    pub cost: i64,
    /// How many.
    pub limit: i64,
    /// In how many milliseconds; or a code of the calendar, where `is_gregorian`.
    pub duration: i64,
    /// How many at once, of a leaky bucket; zero is the limit.
    pub burst: i64,
    /// How to count.
    pub algorithm: GubernatorAlgorithm,
    /// Whether the duration is a code: 0 minute, 1 hour, 2 day, 3 week, 4 month, 5 year.
    pub is_gregorian: bool,
    /// Whether what was counted is forgotten.
    pub resets: bool,
    /// Whether a request for more than is left takes what is left.
    pub drains: bool,
    /// When the request was made, in milliseconds since 1970.
    pub created_at: Option<i64>,
}

/// How to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GubernatorAlgorithm {
    /// A window that begins with the first request.
    TokenBucket,
    /// A bucket that fills again all the time.
    LeakyBucket,
}

/// What a request is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct GubernatorAnswer {
    /// Whether it is refused.
    pub is_over: bool,
    /// The limit that judged.
    pub limit: i64,
    /// What is left of it.
    pub remaining: i64,
    /// When it is whole again, in milliseconds since 1970.
    pub reset_at: i64,
}

/// Why a request has no answer. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GubernatorError {
    /// The duration is no code of the calendar.
    UnknownInterval,
    /// The table is full, and told to refuse keys it does not know.
    Full,
}

impl fmt::Display for GubernatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownInterval => "the duration is no calendar interval, which are 0 to 5",
            Self::Full => "no room for another key",
        })
    }
}

impl std::error::Error for GubernatorError {}

/// The keys that are counted as gubernator counts them.
#[derive(Debug)]
pub struct Gubernator {
    table: Table<Kept, Worth>,
    seed: Seed,
}

impl Gubernator {
    /// No keys yet; those to come are charged to a share of `budget`. The seed must be one that clients cannot guess.
    pub fn new(config: NodeConfig, seed: Seed, budget: &Arc<Budget>) -> Arc<Self> {
        let table = TableConfig {
            shards: Some(SHARDS),
            when_full: config.when_full,
            sweep: config.sweep,
        };
        let share = MemoryShare::equal(budget);
        let new = Arc::new(Self {
            table: Table::new(Worth, table, Arc::clone(&share)),
            seed,
        });
        let holder: Arc<dyn Holder> = Arc::clone(&new) as _;
        share.join(Arc::downgrade(&holder));
        new
    }

    /// Decides one request and charges it.
    pub fn check(
        &self,
        ask: &GubernatorAsk<'_>,
        now: Instant,
    ) -> Result<GubernatorAnswer, GubernatorError> {
        let asked = Asked::new(ask, now)?;
        let print = self.print(ask);
        let is_window = ask.algorithm == GubernatorAlgorithm::TokenBucket;
        if is_window && ask.resets && self.forget(print, asked.now) {
            return Ok(GubernatorAnswer {
                is_over: false,
                limit: asked.limit,
                remaining: asked.limit,
                reset_at: 0,
            });
        }
        let update = |kept: Option<&mut Kept>| Kept::check(kept, &asked, is_window);
        let answer = self.table.update(print, now.as_nanos(), update);
        answer.map_err(|Full| GubernatorError::Full)
    }

    /// Forgets a key, and says whether there was anything to forget.
    fn forget(&self, print: Print, now: i64) -> bool {
        let kept = self.table.remove(print);
        kept.is_some_and(|kept| kept.ends_at() >= now)
    }

    /// How many keys there are.
    pub fn keys_count(&self) -> usize {
        self.table.len()
    }

    /// Bytes the keys take of the budget.
    pub fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// What happened at the limits of the table so far.
    pub fn counters(&self) -> Counters {
        self.table.counters()
    }

    /// Forgets keys that are over in the next few pages of the table; for whoever has a moment to spare.
    pub fn drop_fresh(&self, now: Instant, pages: usize) -> usize {
        self.table.drop_fresh(now.as_nanos(), pages)
    }

    /// Moves every key from one time to another, as [`Node::move_time`](crate::Node::move_time) does.
    pub fn move_time(&self, from: Instant, to: Instant) {
        let by = millis(to).saturating_sub(millis(from));
        walk(&self.table, from, |_, kept| {
            let began = u64::try_from(kept.began_at()).unwrap_or(0);
            let began = Instant::from_nanos(began.saturating_mul(NANOS_PER_MILLI));
            if from < to || is_left_ahead(began, from, to) {
                kept.shift(by);
            }
        });
    }

    fn print(&self, ask: &GubernatorAsk<'_>) -> Print {
        let mut hasher = self.seed.hasher();
        hasher.bytes(ask.name.as_bytes());
        hasher.bytes(ask.key.as_bytes());
        hasher.finish()
    }
}

/// A request with its numbers put in order.
#[derive(Clone, Copy, Debug)]
struct Asked {
    cost: i64,
    limit: i64,
    burst: i64,
    /// As it was sent: another one is another duration, whatever it means.
    duration: i64,
    /// The calendar interval that holds our time, where the duration is one: its first millisecond and its last.
    interval: Option<(i64, i64)>,
    resets: bool,
    drains: bool,
    /// Our time.
    now: i64,
    /// The request's own time, if it makes sense.
    at: i64,
}

impl Asked {
    fn new(ask: &GubernatorAsk<'_>, now: Instant) -> Result<Self, GubernatorError> {
        let now = millis(now);
        let limit = ask.limit.max(0);
        let interval = if ask.is_gregorian {
            let interval = calendar::interval(ask.duration, now);
            Some(interval.ok_or(GubernatorError::UnknownInterval)?)
        } else {
            None
        };
        let mut asked = Self {
            cost: ask.cost,
            limit,
            burst: if ask.burst == 0 {
                limit
            } else {
                ask.burst.max(0)
            },
            duration: ask.duration.max(0),
            interval,
            resets: ask.resets,
            drains: ask.drains,
            now,
            at: now,
        };
        asked.at = ask.created_at.map_or(now, |at| asked.sane(at));
        Ok(asked)
    }

    /// The time of a request as far as it makes sense, else ours.
    fn sane(&self, created_at: i64) -> i64 {
        let first = self.now.saturating_sub(CREATED_AT_SKEW_MS_MAX);
        let last = self.now.saturating_add(CREATED_AT_SKEW_MS_MAX);
        let stays = self.stays();
        let makes_sense =
            (first..=last).contains(&created_at) && created_at.saturating_add(stays) >= self.now;
        if makes_sense { created_at } else { self.now }
    }

    /// Milliseconds from now that a bucket is remembered, or a window lasts.
    fn stays(&self) -> i64 {
        match self.interval {
            Some((_, last)) => last.saturating_sub(self.now),
            None => self.duration,
        }
    }
}

/// What is remembered of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Window(GubernatorWindow),
    Leaky(Leaky),
}

impl Kept {
    /// Decides for a key that may not be known; returns what to remember of it where that is something else.
    fn check(
        kept: Option<&mut Self>,
        asked: &Asked,
        is_window: bool,
    ) -> (GubernatorAnswer, Option<Self>) {
        match kept.filter(|kept| kept.ends_at() >= asked.now) {
            Some(Self::Window(window)) if is_window => (window.check(asked), None),
            Some(Self::Leaky(leaky)) if !is_window => (leaky.check(asked), None),
            _ if is_window => {
                let (window, answer) = GubernatorWindow::begin(asked);
                (answer, Some(Self::Window(window)))
            }
            _ => {
                let (leaky, answer) = Leaky::begin(asked);
                (answer, Some(Self::Leaky(leaky)))
            }
        }
    }

    /// When it began, or something flowed back last.
    const fn began_at(&self) -> i64 {
        match self {
            Self::Window(window) => window.began_at,
            Self::Leaky(leaky) => leaky.filled_at,
        }
    }

    /// Moves it by so many milliseconds.
    const fn shift(&mut self, by: i64) {
        let (began_at, ends_at) = match self {
            Self::Window(window) => (&mut window.began_at, &mut window.ends_at),
            Self::Leaky(leaky) => (&mut leaky.filled_at, &mut leaky.ends_at),
        };
        *began_at = began_at.saturating_add(by);
        *ends_at = ends_at.saturating_add(by);
    }

    /// The last millisecond in which it is remembered.
    const fn ends_at(&self) -> i64 {
        match self {
            Self::Window(window) => window.ends_at,
            Self::Leaky(leaky) => leaky.ends_at,
        }
    }
}

impl Holder for Gubernator {
    fn give(&self, bytes: usize, now: u64) -> usize {
        self.table.give(bytes, now)
    }
}

/// Tells the table what a key is worth.
#[derive(Debug)]
struct Worth;

impl CellRules<Kept> for Worth {
    fn fresh_at(&self, kept: &Kept) -> u64 {
        let after = u64::try_from(kept.ends_at().saturating_add(1)).unwrap_or(0);
        after.saturating_mul(NANOS_PER_MILLI)
    }

    fn used(&self, kept: &Kept, _: u64) -> u32 {
        let (most, left) = match kept {
            Kept::Window(window) => window.left(),
            Kept::Leaky(leaky) => leaky.left(),
        };
        let (most, left) = (most.max(1).unsigned_abs(), left.max(0).unsigned_abs());
        let used = u128::from(most.saturating_sub(left)) * u128::from(u32::MAX) / u128::from(most);
        u32::try_from(used).unwrap_or(u32::MAX)
    }

    fn heap_bytes(&self, _kept: &Kept) -> usize {
        0
    }
}

fn millis(at: Instant) -> i64 {
    i64::try_from(at.as_nanos() / NANOS_PER_MILLI).unwrap_or(i64::MAX)
}

const NANOS_PER_MILLI: u64 = 1_000_000;
/// Shards of the table, each of 32 bytes from the start on; more come as keys do.
const SHARDS: usize = 1_024;
