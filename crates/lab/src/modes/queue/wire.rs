//! Elements as bytes.
//!
//! ```text
//! frame     header 8 (kind 3), then one or more keys in ascending order
//! key       16, elements varint, elements × element, in ascending order
//! element   birth 6 in units of 16 µs, node 2, grains from birth to death varint (zigzag)
//! ```
//!
//! The grains are exact, so every node computes with the same time of death. It may come before the birth, because a
//! node that bears many at once dates some of them ahead. Not here: what is done with elements.

use std::ops::Range;

use tollgate_gossip::{Bucket, Decoder, Encoder, Malformed, Mark, ModeKey};
use tollgate_limit::Instant;

use crate::modes::rounds::codec::{AHEAD_NS_MAX, latest};

use super::line::{ELEMENTS_MAX, ElementReport, Id};

/// Bytes of the smallest element.
const ELEMENT_BYTES_MIN: usize = 9;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) bucket: Bucket,
    /// Grains between two deaths.
    pub(crate) step: u128,
    /// Grains after its death at which an element is void.
    pub(crate) margin: u128,
    pub(crate) now: Instant,
}

/// A frame that was read whole and found good. Kept between frames, to use its memory again.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    keys: Vec<(ModeKey, Range<usize>)>,
    elements: Vec<ElementReport>,
}

/// Appends a key and some of its elements.
pub(crate) fn encode(
    encoder: &mut Encoder,
    bucket: Bucket,
    key: ModeKey,
    elements: &[ElementReport],
) {
    encoder.key(key);
    encoder.varint(elements.len() as u128);
    for element in elements {
        let birth = birth_mark(bucket, element.id).0;
        let death = element.death.0;
        encoder.raw(&element.id.to_bytes());
        encoder.varint(if death >= birth {
            (death - birth) << 1
        } else {
            (birth - death) << 1 | 1
        });
    }
}

impl Parsed {
    pub(crate) fn read(
        &mut self,
        mut decoder: Decoder<'_>,
        reading: Reading,
    ) -> Result<(), Malformed> {
        self.clear();
        loop {
            let key = decoder.key()?;
            if self.keys.last().is_some_and(|(last, _)| *last >= key) {
                return Err(Malformed::Value);
            }
            let elements = self.read_elements(&mut decoder, reading)?;
            self.keys.push((key, elements));
            if decoder.is_empty() {
                return Ok(());
            }
        }
    }

    /// Elements that are void are checked and left out.
    fn read_elements(
        &mut self,
        decoder: &mut Decoder<'_>,
        reading: Reading,
    ) -> Result<Range<usize>, Malformed> {
        let first = self.elements.len();
        let length = decoder.length(ELEMENT_BYTES_MIN)?;
        if length == 0 || length > ELEMENTS_MAX {
            return Err(Malformed::Value);
        }
        let now = reading.bucket.mark(reading.now);
        let mut last = None;
        for _ in 0..length {
            let element = reading.element(decoder)?;
            if last.is_some_and(|last| last >= element.id) {
                return Err(Malformed::Value);
            }
            last = Some(element.id);
            if element.death.plus(reading.margin) > now {
                self.elements.push(element);
            }
        }
        Ok(first..self.elements.len())
    }

    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.elements.clear();
    }

    /// The keys in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ModeKey, &[ElementReport])> {
        self.keys
            .iter()
            .map(|(key, range)| (*key, self.elements.get(range.clone()).unwrap_or_default()))
    }
}

impl Reading {
    fn element(self, decoder: &mut Decoder<'_>) -> Result<ElementReport, Malformed> {
        let id = Id::from_bytes(decoder.u64()?.to_le_bytes());
        let grains = decoder.varint()?;
        if id.birth_ns() > latest(self.now).as_nanos() || grains >> 1 > self.grains_max() {
            return Err(Malformed::Value);
        }
        let birth = birth_mark(self.bucket, id);
        let death = if grains & 1 == 0 {
            birth.plus(grains >> 1)
        } else {
            Mark(birth.since(Mark(grains >> 1)))
        };
        Ok(ElementReport { id, death })
    }

    /// From birth to death: behind a full line, and as far as clocks may differ.
    fn grains_max(self) -> u128 {
        self.step * ELEMENTS_MAX as u128 + self.bucket.refilled(AHEAD_NS_MAX)
    }
}

fn birth_mark(bucket: Bucket, id: Id) -> Mark {
    bucket.mark(Instant::from_nanos(id.birth_ns()))
}
