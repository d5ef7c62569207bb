//! What a node saves of a key for its next start, as bytes.
//!
//! Not here: what is made of it, and of tokens that were reported after they were saved as silent: those count twice
//! until they have drained.

use tollgate_limit::{Instant, Span};
use tollgate_mode::Malformed;

use crate::bytes::{Decoder, Encoder};

use super::law::{RestoredLevel, Seg};

/// What is saved of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SavedKey {
    pub(super) silent: Vec<Seg>,
    pub(super) told: Vec<RestoredLevel>,
}

/// The version of these bytes.
const SAVED: u8 = 0x21;
/// Clocks may differ by a day.
const AHEAD: Span = Span::from_nanos(86_400_000_000_000);

impl SavedKey {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut encoder = Encoder::default();
        encoder.u8(SAVED);
        encoder.count(self.silent.len() as u64);
        for seg in &self.silent {
            encoder.count(seg.at.as_nanos());
            encoder.varint(u128::from(seg.n) * 2 + u128::from(seg.is_loose));
        }
        encoder.count(self.told.len() as u64);
        for told in &self.told {
            encoder.count(told.at.as_nanos());
            encoder.varint(told.amount * 2 + u128::from(told.is_loose));
        }
        encoder.finish().to_vec()
    }

    pub(super) fn decode(bytes: &[u8], now: Instant) -> Result<Self, Malformed> {
        let mut rest = Decoder::from_first(bytes);
        let first = rest.u8()?;
        if first != SAVED {
            return Err(Malformed::Version(first));
        }
        let latest = now.saturating_add(AHEAD);
        let mut saved = Self::default();
        for _ in 0..rest.count()? {
            let at = instant(&mut rest, latest)?;
            let n = rest.varint()?;
            let is_loose = n % 2 > 0;
            let n = u64::try_from(n / 2).map_err(|_| Malformed::Value)?;
            saved.silent.push(Seg { at, n, is_loose });
        }
        for _ in 0..rest.count()? {
            let at = instant(&mut rest, latest)?;
            let amount = rest.varint()?;
            saved.told.push(RestoredLevel {
                at,
                amount: amount / 2,
                is_loose: amount % 2 > 0,
            });
        }
        if rest.is_empty() {
            Ok(saved)
        } else {
            Err(Malformed::Trailing)
        }
    }
}

fn instant(rest: &mut Decoder<'_>, latest: Instant) -> Result<Instant, Malformed> {
    let at = Instant::from_nanos(rest.count()?);
    if at > latest {
        return Err(Malformed::Value);
    }
    Ok(at)
}
