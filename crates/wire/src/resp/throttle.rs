//! The two throttle commands that clients of other limiters send, with each one's own reply.
//!
//! `CL.THROTTLE` is redis-cell's and `THROTTLE` throttlecrab's. They take the same arguments and
//! differ in what the five integers of the reply mean:
//!
//! | | `CL.THROTTLE` | `THROTTLE` |
//! |---|---|---|
//! | 1 | 0 allowed, 1 limited | 1 allowed, 0 denied |
//! | 2 | `max_burst` + 1 | `max_burst` |
//! | 3 | remaining | remaining |
//! | 4 | seconds to retry after, -1 if allowed | seconds until full |
//! | 5 | seconds until full | seconds to retry after, 0 if allowed |
//!
//! Seconds are rounded up: a client that waits that long is not refused for coming a moment early.

use std::time::Duration;

use super::error::CommandError;
use super::number::at_least;
use super::parse::Arguments;
use super::reply::Writer;

/// The origin of a throttle command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `CL.THROTTLE`, where a burst of zero still lets one request through.
    RedisCell,
    /// `THROTTLE`, where the burst is the whole limit.
    Throttlecrab,
}

impl Dialect {
    /// The most that may be taken at once under a `max_burst`.
    pub const fn limit(self, max_burst: u64) -> u64 {
        match self {
            Self::RedisCell => max_burst.saturating_add(1),
            Self::Throttlecrab => max_burst,
        }
    }

    const fn burst_least(self) -> u64 {
        match self {
            Self::RedisCell => 0,
            Self::Throttlecrab => 1,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::RedisCell => "cl.throttle",
            Self::Throttlecrab => "throttle",
        }
    }
}

/// `key max_burst count period [cost]`: may `cost` be taken from a bucket that refills by `count`
/// in each `period` and holds [`limit`](Self::limit)?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle<'a> {
    /// Decides the limit and the order of the reply.
    pub dialect: Dialect,
    pub key: &'a [u8],
    /// As sent; see [`limit`](Self::limit).
    pub max_burst: u64,
    /// Tokens refilled per period; at least one.
    pub count: u64,
    /// Seconds in which `count` tokens are refilled; at least one.
    pub period_secs: u64,
    /// Tokens to take; zero is a peek.
    pub cost: u64,
}

impl<'a> Throttle<'a> {
    /// The most that may be taken at once.
    pub const fn limit(&self) -> u64 {
        self.dialect.limit(self.max_burst)
    }

    pub(super) fn decode(
        request: Arguments<'a>,
        dialect: Dialect,
    ) -> Result<Self, CommandError<'a>> {
        let mut arguments = request.tail(1).iter();
        let count_given = arguments.len();
        if !(4..=5).contains(&count_given) {
            return Err(CommandError::WrongArity(dialect.name()));
        }
        let mut next = || arguments.next().unwrap_or_default();
        let key = next();
        let max_burst = at_least(next(), dialect.burst_least(), "max_burst")?;
        if max_burst > BURST_MAX {
            let (what, most) = ("max_burst", BURST_MAX);
            return Err(CommandError::TooLarge { what, most });
        }
        let count = at_least(next(), 1, "count")?;
        let period_secs = at_least(next(), 1, "period")?;
        let cost = match count_given {
            4 => 1,
            _ => at_least(next(), 0, "quantity")?,
        };
        Ok(Self {
            dialect,
            key,
            max_burst,
            count,
            period_secs,
            cost,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThrottleReply {
    pub allowed: bool,
    /// Whole tokens left.
    pub remaining: u64,
    /// When the same request could pass; `None` if it passed, or if waiting does not help.
    pub retry_after: Option<Duration>,
    /// Until the bucket is full.
    pub reset_after: Duration,
}

impl ThrottleReply {
    /// Writes the five integers in the order of the command's dialect.
    pub fn write(&self, asked: &Throttle<'_>, writer: &mut Writer<'_>) {
        let limit = saturating(asked.limit());
        let remaining = saturating(self.remaining);
        let reset_after = secs_up(self.reset_after);
        let retry_after = self.retry_after.map(secs_up);
        let items = match asked.dialect {
            Dialect::RedisCell => [
                i64::from(!self.allowed),
                limit,
                remaining,
                if self.allowed {
                    -1
                } else {
                    retry_after.unwrap_or(-1)
                },
                reset_after,
            ],
            Dialect::Throttlecrab => [
                i64::from(self.allowed),
                limit,
                remaining,
                reset_after,
                if self.allowed {
                    0
                } else {
                    retry_after.unwrap_or(NEVER_SECS)
                },
            ],
        };
        writer.array(items.len());
        for item in items {
            writer.integer(item);
        }
    }
}

/// The wait in `THROTTLE`'s reply if waiting does not help; it fits the 32 bits of the same answer over gRPC.
/// `CL.THROTTLE` has -1.
pub const NEVER_SECS: i64 = i32::MAX as i64;

/// So that the limit, one more, is a RESP integer.
const BURST_MAX: u64 = i64::MAX as u64 - 1;

fn secs_up(span: Duration) -> i64 {
    let begun = u64::from(span.subsec_nanos() > 0);
    saturating(span.as_secs().saturating_add(begun))
}

fn saturating(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::reply::Version;
    use super::*;

    #[track_caller]
    fn integers(dialect: Dialect, reply: ThrottleReply) -> Vec<i64> {
        let asked = Throttle {
            dialect,
            key: b"k",
            max_burst: 15,
            count: 30,
            period_secs: 60,
            cost: 1,
        };
        let mut out = Vec::new();
        reply.write(&asked, &mut Writer::new(&mut out, Version::Resp2));
        let text = String::from_utf8(out).unwrap();
        let items = text.strip_prefix("*5\r\n").unwrap().lines();
        items.map(|line| line[1..].parse().unwrap()).collect()
    }

    #[test]
    fn each_dialect_has_its_own_order() {
        let allowed = ThrottleReply {
            allowed: true,
            remaining: 15,
            retry_after: None,
            reset_after: Duration::from_secs(2),
        };
        assert_eq!(integers(Dialect::RedisCell, allowed), [0, 16, 15, -1, 2]);
        assert_eq!(integers(Dialect::Throttlecrab, allowed), [1, 15, 15, 2, 0]);
        let denied = ThrottleReply {
            allowed: false,
            remaining: 0,
            retry_after: Some(Duration::from_millis(1_001)),
            reset_after: Duration::from_nanos(31_000_000_001),
        };
        assert_eq!(integers(Dialect::RedisCell, denied), [1, 16, 0, 2, 32]);
        assert_eq!(integers(Dialect::Throttlecrab, denied), [0, 15, 0, 32, 2]);
    }

    #[test]
    fn a_wait_that_will_not_help_is_said() {
        let never = ThrottleReply {
            allowed: false,
            remaining: u64::MAX,
            retry_after: None,
            reset_after: Duration::MAX,
        };
        let most = i64::MAX;
        assert_eq!(integers(Dialect::RedisCell, never), [1, 16, most, -1, most]);
        let crab = integers(Dialect::Throttlecrab, never);
        assert_eq!(crab, [0, 15, most, most, NEVER_SECS]);
    }
}
