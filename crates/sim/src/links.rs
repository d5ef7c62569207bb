//! The network between the nodes: delay, loss and duplication of messages.
//!
//! Losses, copies and delays have separate random streams, so that losing a message changes no delay. Not here: the
//! messages.

use std::ops::Range;

/// Random choices that the world provides.
pub trait RandomSource {
    /// A number below `bound`; zero if `bound` is.
    fn below(&mut self, bound: u64) -> u64;
}

impl RandomSource for tollgate_kit::Dice {
    fn below(&mut self, bound: u64) -> u64 {
        Self::below(self, bound)
    }
}

/// How messages travel, until something changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// The least a message takes.
    pub delay_min: u64,
    /// Each message draws its own, so messages can be reordered.
    pub delay_max: u64,
    /// Lost messages per million.
    pub loss: u32,
    /// Duplicated messages per million.
    pub copies: u32,
    /// Extra-late messages per million.
    pub late: u32,
    /// The most extra delay of late messages.
    pub late_max: u64,
}

impl Conditions {
    /// Without loss.
    pub const fn between(delay_min: u64, delay_max: u64) -> Self {
        Self {
            delay_min,
            delay_max,
            loss: 0,
            copies: 0,
            late: 0,
            late_max: 0,
        }
    }
}

/// All links, which are alike except for partitions.
#[derive(Debug)]
pub struct Links<D> {
    pub weather: Conditions,
    /// Whether partitions drop messages that would arrive during them, instead of those sent during them.
    pub cuts_arrivals: bool,
    /// By address; only addresses on the same side reach each other.
    sides: Vec<u8>,
    cuts: Vec<Cut>,
    loss: D,
    copies: D,
    delays: D,
}

/// Senders that do not reach receivers for a time.
#[derive(Debug)]
struct Cut {
    from: Vec<u16>,
    to: Vec<u16>,
    times: Range<u64>,
}

impl<D: RandomSource> Links<D> {
    pub fn new(weather: Conditions, [loss, copies, delays]: [D; 3]) -> Self {
        Self {
            weather,
            cuts_arrivals: false,
            sides: Vec::new(),
            cuts: Vec::new(),
            loss,
            copies,
            delays,
        }
    }

    /// Puts addresses on sides and replaces earlier sides; other addresses are on side 0.
    pub fn split(&mut self, sides: Vec<u8>) {
        self.sides = sides;
    }

    /// Blocks one direction for a time; the other direction stays open.
    pub fn cut(&mut self, from: &[u16], to: &[u16], times: Range<u64>) {
        let (from, to) = (from.to_vec(), to.to_vec());
        self.cuts.push(Cut { from, to, times });
    }

    /// Removes all partitions.
    pub fn heal(&mut self) {
        self.sides.clear();
        self.cuts.clear();
    }

    pub fn is_cut(&self, from: u16, to: u16, now: u64) -> bool {
        let side = |address: u16| self.sides.get(usize::from(address)).copied().unwrap_or(0);
        side(from) != side(to)
            || self.cuts.iter().any(|cut| {
                cut.times.contains(&now) && cut.from.contains(&from) && cut.to.contains(&to)
            })
    }

    /// The delay of each copy of a message; lost ones have no copy.
    pub fn carry(&mut self, from: u16, to: u16, now: u64) -> [Option<u64>; 2] {
        let Conditions { loss, copies, .. } = self.weather;
        let is_cut = !self.cuts_arrivals && self.is_cut(from, to, now);
        if is_cut || happens(&mut self.loss, loss) {
            return [None, None];
        }
        let first = Some(self.delay());
        let is_copied = happens(&mut self.copies, copies);
        [first, is_copied.then(|| self.delay())]
    }

    fn delay(&mut self) -> u64 {
        let weather = self.weather;
        let spread = weather.delay_max.saturating_sub(weather.delay_min);
        let more = self.delays.below(spread.saturating_add(1));
        let delay = weather.delay_min.saturating_add(more);
        if happens(&mut self.delays, weather.late) {
            return delay + self.delays.below(weather.late_max);
        }
        delay
    }
}

/// True `odds` times in a million. Draws no number for zero odds.
fn happens(dice: &mut impl RandomSource, odds: u32) -> bool {
    odds > 0 && dice.below(1_000_000) < u64::from(odds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Repeats the same numbers.
    struct Loaded(Vec<u64>, usize);

    impl RandomSource for Loaded {
        fn below(&mut self, bound: u64) -> u64 {
            self.1 += 1;
            self.0[(self.1 - 1) % self.0.len()] % bound.max(1)
        }
    }

    fn links(weather: Conditions) -> Links<Loaded> {
        let dice = |numbers: &[u64]| Loaded(numbers.to_vec(), 0);
        let delays = dice(&[0, 7, 999_999, 999_999]);
        Links::new(weather, [dice(&[0, 999_999]), dice(&[999_999, 0]), delays])
    }

    #[test]
    fn some_are_lost_some_doubled_and_all_in_time() {
        let mut links = links(Conditions {
            loss: 1,
            copies: 1,
            ..Conditions::between(10, 20)
        });
        assert_eq!(links.carry(0, 1, 0), [None, None]);
        assert_eq!(links.carry(0, 1, 0), [Some(10), None]);
        assert_eq!(links.carry(0, 1, 0), [None, None]);
        assert_eq!(links.carry(0, 1, 0), [Some(17), Some(10)]);
    }

    #[test]
    fn cuts_have_a_direction_and_an_end() {
        let mut links = links(Conditions::default());
        links.cut(&[0, 1], &[2], 5..9);
        assert!(links.is_cut(0, 2, 5) && links.is_cut(1, 2, 8));
        assert!(!links.is_cut(2, 0, 5) && !links.is_cut(0, 2, 9) && !links.is_cut(0, 1, 5));
        links.split(vec![0, 1]);
        assert!(links.is_cut(1, 0, 20) && links.is_cut(0, 1, 20) && !links.is_cut(0, 7, 20));
        links.heal();
        assert!(!links.is_cut(0, 2, 5) && !links.is_cut(1, 0, 20));
    }

    #[test]
    fn what_is_late_is_later_than_all_others() {
        let weather = Conditions {
            late: 1_000_000,
            late_max: 500,
            ..Conditions::default()
        };
        assert_eq!(links(weather).carry(0, 1, 0), [Some(999_999 % 500), None]);
    }
}
