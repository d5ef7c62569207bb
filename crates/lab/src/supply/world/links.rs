//! What is between the nodes: how long a message takes, whether it arrives, and how often.
//!
//! Not here: the messages.

use crate::dice::{Dice, Purpose};

/// How messages travel, until something changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weather {
    /// The least a message takes, in microseconds.
    pub(crate) delay_min: u64,
    /// The most; each message draws its own, so they overtake each other.
    pub(crate) delay_max: u64,
    /// That many of a million are lost.
    pub(crate) loss: u32,
    /// That many of a million come twice.
    pub(crate) copies: u32,
}

impl Weather {
    /// A rack: a quarter to half a millisecond, nothing lost.
    pub(crate) const RACK: Self = Self {
        delay_min: 250,
        delay_max: 500,
        loss: 0,
        copies: 0,
    };
}

/// All links.
#[derive(Debug)]
pub(crate) struct Links {
    pub(crate) weather: Weather,
    /// Which side each address is on; only those on one side reach each other.
    sides: Vec<u8>,
    loss: Dice,
    copies: Dice,
    delays: Dice,
}

impl Links {
    pub(crate) fn new(weather: Weather, seed: u64) -> Self {
        Self {
            weather,
            sides: Vec::new(),
            loss: Dice::new(seed, Purpose::Loss),
            copies: Dice::new(seed, Purpose::Copies),
            delays: Dice::new(seed, Purpose::Delays),
        }
    }

    /// Puts addresses on sides; those not named are on side 0.
    pub(crate) fn split(&mut self, sides: Vec<u8>) {
        self.sides = sides;
    }

    /// How long each copy of a message takes; lost ones have no copy.
    pub(crate) fn carry(&mut self, from: u16, to: u16) -> [Option<u64>; 2] {
        let is_cut = self.side(from) != self.side(to);
        if is_cut || self.loss.millionth(self.weather.loss) {
            return [None, None];
        }
        let first = Some(self.delay());
        let is_copied = self.copies.millionth(self.weather.copies);
        [first, is_copied.then(|| self.delay())]
    }

    fn side(&self, address: u16) -> u8 {
        self.sides.get(usize::from(address)).copied().unwrap_or(0)
    }

    fn delay(&mut self) -> u64 {
        let Weather {
            delay_min,
            delay_max,
            ..
        } = self.weather;
        delay_min + self.delays.below(delay_max.saturating_sub(delay_min) + 1)
    }
}
