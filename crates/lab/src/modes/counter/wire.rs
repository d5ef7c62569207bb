//! Counters as bytes.
//!
//! ```text
//! frame   header 8 (kind 1; kind 2 when fixed), then one or more keys in ascending order
//! key     16, limit in grains varint, instant 8 in ns, entries varint,
//!         entries × (node 2, or writer 2 when fixed; tokens admitted varint), in ascending order
//! ```
//!
//! Not here: what is done with them.

use std::ops::Range;

use tollgate_gossip::{Decoder, Encoder, Malformed, ModeKey};
use tollgate_limit::Instant;

use crate::modes::rounds::codec;

use super::tally::{
    AdmissionEntry, Allowance, CounterReport, CounterTally, ENTRIES_MAX, LIMIT_MAX,
};

/// Bytes of the smallest entry.
const ENTRY_BYTES_MIN: usize = 3;

/// A frame that was read whole and found good. Kept between frames, to use its memory again.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    keys: Vec<(ModeKey, Allowance, Range<usize>)>,
    entries: Vec<AdmissionEntry>,
}

/// What the reader of a frame knows.
pub(crate) struct FrameContext<I> {
    pub(crate) latest: Instant,
    /// What this node would send of a key; empty if it would have to think.
    pub(crate) image: I,
}

/// Appends a key and what is told of it.
pub(crate) fn encode(encoder: &mut Encoder, key: ModeKey, tally: &mut CounterTally) {
    encoder.key(key);
    if !tally.image.is_empty() {
        encoder.raw(&tally.image);
        return;
    }
    let from = encoder.len();
    encoder.varint(tally.told.limit);
    encoder.u64(tally.told.instant.as_nanos());
    encoder.varint(tally.entries.len() as u128);
    for entry in &tally.entries {
        encoder.u16(entry.who);
        encoder.varint(u128::from(entry.count));
    }
    tally.image.extend_from_slice(encoder.since(from));
}

impl Parsed {
    /// Reads what follows the header. Keys of which nothing else is said than this node would say are left out.
    pub(crate) fn read<'a>(
        &mut self,
        mut decoder: Decoder<'_>,
        known: &FrameContext<impl Fn(ModeKey) -> &'a [u8]>,
    ) -> Result<(), Malformed> {
        self.clear();
        let mut last = None;
        loop {
            let key = decoder.key()?;
            if last.is_some_and(|last| last >= key) {
                return Err(Malformed::Value);
            }
            last = Some(key);
            let image = (known.image)(key);
            if image.is_empty() || !decoder.skip(image) {
                let allowance = read_allowance(&mut decoder, known.latest)?;
                let entries = self.read_entries(&mut decoder)?;
                self.keys.push((key, allowance, entries));
            }
            if decoder.is_empty() {
                return Ok(());
            }
        }
    }

    fn read_entries(&mut self, decoder: &mut Decoder<'_>) -> Result<Range<usize>, Malformed> {
        let first = self.entries.len();
        let length = decoder.length(ENTRY_BYTES_MIN)?;
        if length == 0 || length > ENTRIES_MAX + 1 {
            return Err(Malformed::Value);
        }
        let mut next = 0;
        for _ in 0..length {
            let who = decoder.u16()?;
            let count = decoder.count()?;
            if u32::from(who) < next || count == 0 {
                return Err(Malformed::Value);
            }
            next = u32::from(who) + 1;
            self.entries.push(AdmissionEntry { who, count });
        }
        Ok(first..self.entries.len())
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.entries.clear();
    }

    /// The keys in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ModeKey, CounterReport<'_>)> {
        self.keys.iter().map(|(key, allowance, range)| {
            let heard = CounterReport {
                allowance: *allowance,
                entries: self.entries.get(range.clone()).unwrap_or_default(),
            };
            (*key, heard)
        })
    }
}

fn read_allowance(decoder: &mut Decoder<'_>, latest: Instant) -> Result<Allowance, Malformed> {
    let limit = decoder.varint()?;
    let instant = codec::instant(decoder, latest)?;
    if limit > LIMIT_MAX {
        return Err(Malformed::Value);
    }
    Ok(Allowance { limit, instant })
}
