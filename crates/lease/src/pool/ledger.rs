//! The pools of one key as bytes, for a store that keeps them: written before an answer leaves, read by whoever grants
//! next.
//!
//! All that safety needs is in them, and the demand of those who ask each time; how a grantor lends is not, nor what it
//! counted. Whatever is read ends in pools or in [`Malformed`]. Not here: stores, versions, and who writes when.

use std::sync::Arc;

use tollgate_gossip::{Decoder, Encoder, Malformed};
use tollgate_limit::Instant;
use tollgate_mode::planted;

use super::promise::Promised;
use super::{ASKED_NS, Booked, Level, Pool, Record, Rules, Unknown};
use crate::amount::{AMOUNT_MAX, Limits, WANT_MAX, after, wait_ns};
use crate::demand::Decayed;
use crate::promise::Promise;
use crate::wire;

/// The bytes of the pools of one key, each by the tag of its policy.
pub fn encode_ledger(pools: &[(u64, Pool)]) -> Arc<[u8]> {
    let mut out = Encoder::default();
    out.u8(VERSION);
    out.count(pools.len() as u64);
    for (tag, pool) in pools {
        out.count(*tag);
        let counts = pool.busy.promised.counts(pool.level.at);
        let promised = planted!("lease-38", counts, false).then_some(&pool.busy.promised);
        out.u8(if promised.is_some() {
            BUCKET_PROMISED
        } else {
            BUCKET
        });
        put_pool(&mut out, pool);
        if let Some(promised) = promised {
            put_promised(&mut out, promised, pool.level.at);
        }
    }
    out.finish()
}

/// The pools of these bytes. They lend by the usual rules until they are told others.
pub fn decode_ledger(bytes: &[u8]) -> Result<Vec<(u64, Pool)>, Malformed> {
    if bytes.len() > LEDGER_BYTES_MAX {
        return Err(Malformed::TooLong);
    }
    let mut from = Decoder::from_first(bytes);
    match from.u8()? {
        VERSION => {}
        other => return Err(Malformed::Version(other)),
    }
    let count = counted(&mut from, POLICIES_MAX)?;
    let mut pools = Vec::with_capacity(count);
    for _ in 0..count {
        let tag = from.count()?;
        match from.u8()? {
            BUCKET => pools.push((tag, pool(&mut from)?)),
            BUCKET_PROMISED => {
                let mut pool = pool(&mut from)?;
                pool.busy.promised = promised(&mut from)?;
                pools.push((tag, pool));
            }
            other => return Err(Malformed::Kind(other)),
        }
    }
    if from.is_empty() {
        Ok(pools)
    } else {
        Err(Malformed::Trailing)
    }
}

impl Pool {
    /// The same under other rules, which hold from the next answer on.
    #[must_use]
    pub fn under(mut self, rules: Rules) -> Self {
        Arc::make_mut(&mut self.terms).rules = rules;
        self
    }

    /// Until when it has lent, or something of a predecessor's may be out.
    fn lent_until(&self) -> Instant {
        let untils = self.busy.records.values().map(|record| record.until);
        let unknown = self.learns_until();
        let promised = Some(self.busy.promised.promise.until);
        let last = untils.chain(unknown).chain(promised).max();
        last.map_or(self.level.at, |last| last.max(self.level.at))
    }

    /// From when on it is surely as one never seen, if nobody asks: what is lent has ended, and what is missing has
    /// come back since.
    pub fn fresh_at(&self) -> Instant {
        let missing = self.terms.limits.depth() - self.level.tokens;
        let wait = wait_ns(&self.terms.limits, missing, 0, self.level.part);
        after(self.lent_until(), wait.unwrap_or(u64::MAX))
    }
}

fn put_pool(out: &mut Encoder, pool: &Pool) {
    let (limit, period_ns, burst) = pool.terms.limits.numbers();
    let Level { tokens, part, at } = pool.level;
    let (asked, asked_at) = pool.asked.counted();
    // Nobody owes more than twice the largest burst there is.
    let tokens = tokens.clamp(-AMOUNT_MAX, AMOUNT_MAX);
    out.varint(tokens.unsigned_abs());
    out.u8(u8::from(tokens < 0));
    for number in [
        limit,
        period_ns,
        burst,
        pool.generation,
        part,
        at.as_nanos(),
        pool.opened,
        asked,
        asked_at.as_nanos(),
    ] {
        out.count(number);
    }
    out.u8(u8::from(pool.unknown.is_some()));
    if let Some(unknown) = &pool.unknown {
        put_amount(out, unknown.rate);
        put_amount(out, unknown.depth);
        out.count(unknown.until.as_nanos());
    }
    out.count(pool.busy.records.len() as u64);
    for (client, record) in &pool.busy.records {
        out.count(*client);
        put_record(out, record);
    }
}

fn pool(from: &mut Decoder<'_>) -> Result<Pool, Malformed> {
    let tokens = amount(from)?;
    let tokens = if is(from)? { -tokens } else { tokens };
    let (limit, period_ns, burst) = (from.count()?, from.count()?, from.count()?);
    let limits = Limits::new(limit, period_ns, burst).map_err(|_| Malformed::Value)?;
    let generation = from.count()?;
    let (part, at) = (from.count()?, instant(from)?);
    if part >= period_ns || tokens > limits.depth() {
        return Err(Malformed::Value);
    }
    // More sessions than there can be.
    let opened = wire::within(from.count()?, u64::MAX >> 1)?;
    let asked = Decayed::known(ASKED_NS, from.count()?, instant(from)?);
    let unknown = if is(from)? {
        Some(Box::new(Unknown {
            rate: amount(from)?,
            depth: amount(from)?,
            until: instant(from)?,
        }))
    } else {
        None
    };
    let mut pool = Pool {
        level: Level { tokens, part, at },
        asked,
        unknown,
        opened,
        ..Pool::new(limits, Rules::default(), generation, at)
    };
    for _ in 0..counted(from, LEDGER_LESSEES_MAX)? {
        let client = from.count()?;
        // In one order, so that what is equal has equal bytes.
        if pool
            .busy
            .records
            .last_key_value()
            .is_some_and(|(last, _)| *last >= client)
        {
            return Err(Malformed::Value);
        }
        let record = record(from)?;
        pool.put(client, &record);
    }
    Ok(pool)
}

fn put_promised(out: &mut Encoder, promised: &Promised, now: Instant) {
    let Promised {
        promise,
        since,
        lent_max,
        is_shared,
        called,
        called_until,
    } = promised;
    let promise = promise.at(now);
    for amount in [promise.most, promise.rate, *lent_max, *called] {
        put_amount(out, amount);
    }
    out.count(promise.until.as_nanos());
    out.count(since.as_nanos());
    out.count(called_until.as_nanos());
    out.u8(u8::from(*is_shared));
}

fn promised(from: &mut Decoder<'_>) -> Result<Promised, Malformed> {
    let (most, rate, lent_max, called) =
        (amount(from)?, amount(from)?, amount(from)?, amount(from)?);
    let (until, since, called_until) = (instant(from)?, instant(from)?, instant(from)?);
    Ok(Promised {
        promise: Promise { until, most, rate },
        since,
        lent_max,
        is_shared: is(from)?,
        called,
        called_until,
    })
}

fn put_record(out: &mut Encoder, record: &Record) {
    let booked = &record.booked;
    for amount in [
        booked.rate,
        booked.depth,
        booked.tokens,
        booked.give,
        record.lent,
    ] {
        put_amount(out, amount);
    }
    for stamp in [booked.session, booked.stamp, record.prior] {
        wire::put_stamp(out, stamp);
    }
    for number in [
        booked.boot,
        record.seq,
        record.until.as_nanos(),
        record.want,
        record.heard.as_nanos(),
        record.nudged.as_nanos(),
        u64::from(record.shorts),
    ] {
        out.count(number);
    }
    out.u8(u8::from(record.answer.is_some()));
    if let Some(answer) = &record.answer {
        wire::put_grant(out, answer);
    }
}

fn record(from: &mut Decoder<'_>) -> Result<Record, Malformed> {
    let (rate, depth, tokens) = (amount(from)?, amount(from)?, amount(from)?);
    let (give, lent) = (amount(from)?, amount(from)?);
    let (session, stamp, prior) = (wire::stamp(from)?, wire::stamp(from)?, wire::stamp(from)?);
    Ok(Record {
        booked: Booked {
            boot: from.count()?,
            session,
            rate,
            depth,
            tokens,
            stamp,
            give,
        },
        prior,
        lent,
        seq: from.count()?,
        until: instant(from)?,
        want: from.count()?.min(WANT_MAX),
        heard: instant(from)?,
        nudged: instant(from)?,
        shorts: u32::try_from(from.count()?).map_err(|_| Malformed::Value)?,
        answer: if is(from)? {
            Some(wire::grant(from)?)
        } else {
            None
        },
    })
}

/// What is above the most there is counts as that: less is believed then.
fn put_amount(out: &mut Encoder, amount: i128) {
    out.varint(amount.clamp(0, AMOUNT_MAX).unsigned_abs());
}

fn amount(from: &mut Decoder<'_>) -> Result<i128, Malformed> {
    wire::amount(from)
}

fn instant(from: &mut Decoder<'_>) -> Result<Instant, Malformed> {
    from.count().map(Instant::from_nanos)
}

fn is(from: &mut Decoder<'_>) -> Result<bool, Malformed> {
    match from.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Malformed::Value),
    }
}

fn counted(from: &mut Decoder<'_>, most: usize) -> Result<usize, Malformed> {
    let count = usize::try_from(from.count()?).map_err(|_| Malformed::Value)?;
    if count > most {
        return Err(Malformed::TooLong);
    }
    Ok(count)
}

/// The first byte: the version of these bytes.
const VERSION: u8 = 0x41;
/// A pool that is a bucket; any other stock has another number.
const BUCKET: u8 = 0;
/// One that has promised something, which follows.
const BUCKET_PROMISED: u8 = 1;
/// Policies of one key.
const POLICIES_MAX: usize = 64;
/// The most lessees of a key in a ledger, whatever rules say: every answer writes them all.
pub const LEDGER_LESSEES_MAX: usize = 1024;
/// No ledger is longer.
pub const LEDGER_BYTES_MAX: usize = 1 << 20;
