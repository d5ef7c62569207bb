//! Rows of ledgers, the same for both databases. Not here: the statements.

use std::sync::Arc;

use tollgate_limit::{Instant, Span};
use tollgate_store::{LedgerId, LedgerVersion, LoadedLedger};

/// The primary key of a ledger's row.
pub(crate) fn row_id(id: LedgerId) -> (i64, String) {
    (id.tag.cast_signed(), format!("{:032x}", id.name.0))
}

/// A version as stored.
pub(crate) const fn number(version: LedgerVersion) -> i64 {
    version.0.cast_signed()
}

/// `micros` is the database's time, since 1970.
pub(crate) fn loaded(row: Option<(i64, Vec<u8>)>, micros: i64) -> LoadedLedger {
    let micros = u64::try_from(micros).unwrap_or(0);
    let at = Instant::from_nanos(micros.saturating_mul(1_000));
    match row {
        None => LoadedLedger::nothing(at),
        Some((version, bytes)) => LoadedLedger {
            bytes: Some(Arc::from(bytes)),
            version: LedgerVersion(version.cast_unsigned()),
            at,
        },
    }
}

/// The least time that a row is kept, in seconds.
pub(crate) fn seconds(keep: Span) -> i64 {
    let seconds = keep.as_nanos().div_ceil(1_000_000_000);
    i64::try_from(seconds).unwrap_or(KEEP_MAX).min(KEEP_MAX)
}

/// A hundred years, in seconds.
const KEEP_MAX: i64 = 100 * 366 * 86_400;
