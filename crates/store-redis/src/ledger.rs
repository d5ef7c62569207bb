//! Ledgers in Redis: one key each, eight bytes of version, and the bytes. One script loads it with the
//! time, one swaps it.
//!
//! Not here: what the bytes mean.

use std::sync::Arc;

use redis::Value;
use tollgate_limit::Instant;
use tollgate_store::{Failure, LedgerVersion, LoadedLedger, Swap, Swapped};

use crate::engine::EngineInner;
use crate::name::RedisKey;

pub(crate) async fn load(inner: &EngineInner, key: RedisKey) -> Result<LoadedLedger, Failure> {
    let script = &inner.scripts.load_ledger;
    let value = inner.eval(key, script, &[key.ledger()], &[]).await?;
    loaded(&value).ok_or_else(|| Failure::Broken("what is kept as a ledger is none".into()))
}

/// Writes a ledger, if it is unchanged since.
pub(crate) async fn swap(
    inner: &EngineInner,
    key: RedisKey,
    swap: &Swap,
) -> Result<Swapped, Failure> {
    let from = swap.from.0.to_be_bytes();
    let from: &[u8] = if swap.from == LedgerVersion::NONE {
        &[]
    } else {
        &from
    };
    let whole = [&swap.to.0.to_be_bytes(), &*swap.bytes].concat();
    let keep = swap.keep.as_nanos() / 1_000_000 + u128::from(inner.linger_ms);
    let keep = keep.clamp(1, KEEP_MAX_MS).to_string();
    let script = &inner.scripts.swap_ledger;
    let arguments = [from, &whole, keep.as_bytes()];
    match inner.eval(key, script, &[key.ledger()], &arguments).await? {
        Value::Int(1) => Ok(Swapped::Done),
        _ => Ok(Swapped::Lost),
    }
}

fn loaded(value: &Value) -> Option<LoadedLedger> {
    let Value::Array(parts) = value else {
        return None;
    };
    let [Value::BulkString(seconds), Value::BulkString(micros), found] = &**parts else {
        return None;
    };
    let number = |digits: &[u8]| core::str::from_utf8(digits).ok()?.parse::<u64>().ok();
    let micros = number(seconds)?
        .checked_mul(1_000_000)?
        .checked_add(number(micros)?)?;
    let at = Instant::from_nanos(micros.checked_mul(1_000)?);
    match found {
        Value::Nil => Some(LoadedLedger::nothing(at)),
        Value::BulkString(whole) => {
            let (version, bytes) = whole.split_first_chunk()?;
            Some(LoadedLedger {
                bytes: Some(Arc::from(bytes)),
                version: LedgerVersion(u64::from_be_bytes(*version)),
                at,
            })
        }
        _ => None,
    }
}

/// A hundred years; Redis refuses much longer times.
const KEEP_MAX_MS: u128 = 100 * 366 * 86_400_000;
