//! What is between the nodes: how long a message takes, whether it arrives, and how often.
//!
//! Losses, copies and delays have dice of their own, so that losing a message changes no delay. Not here: the messages.

use std::ops::Range;

/// Random choices that a world brings along.
pub trait RandomSource {
    /// A number below `bound`; zero when the bound is.
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
    /// The most; each message draws its own, so they overtake each other.
    pub delay_max: u64,
    /// That many of a million are lost.
    pub loss: u32,
    /// That many of a million come twice.
    pub copies: u32,
    /// That many of a million are far later than the others.
    pub late: u32,
    /// By up to so much.
    pub late_max: u64,
}

impl Conditions {
    /// Delays between two bounds, and nothing is lost.
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

/// All links, which are alike except for cuts.
#[derive(Debug)]
pub struct Links<D> {
    /// How messages travel from here on.
    pub weather: Conditions,
    /// Whether cuts take what would arrive while they last, and not what is sent.
    pub cuts_arrivals: bool,
    /// Which side each address is on; only those on one side reach each other.
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
    /// Links with dice for losses, for copies, and for delays.
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

    /// Puts addresses on sides in the place of earlier ones; those not named are on side 0.
    pub fn split(&mut self, sides: Vec<u8>) {
        self.sides = sides;
    }

    /// Lets nothing through from some to some others for a time; the other way it passes unless cut too.
    pub fn cut(&mut self, from: &[u16], to: &[u16], times: Range<u64>) {
        let (from, to) = (from.to_vec(), to.to_vec());
        self.cuts.push(Cut { from, to, times });
    }

    /// Everybody reaches everybody.
    pub fn heal(&mut self) {
        self.sides.clear();
        self.cuts.clear();
    }

    /// Whether nothing gets through at that time.
    pub fn is_cut(&self, from: u16, to: u16, now: u64) -> bool {
        let side = |address: u16| self.sides.get(usize::from(address)).copied().unwrap_or(0);
        side(from) != side(to)
            || self.cuts.iter().any(|cut| {
                cut.times.contains(&now) && cut.from.contains(&from) && cut.to.contains(&to)
            })
    }

    /// How long each copy of a message takes; lost ones have no copy.
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

/// Whether something happens that does so `odds` times in a million. No number is drawn for what never happens.
fn happens(dice: &mut impl RandomSource, odds: u32) -> bool {
    odds > 0 && dice.below(1_000_000) < u64::from(odds)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says the same numbers over and over.
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
