//! What is between each two nodes, one direction at a time.
//!
//! Not here: sockets, and time.

use std::collections::BTreeMap;
use std::time::Duration;

use tollgate_kit::Dice;

/// What befalls what one node sends another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramConditions {
    /// Everything takes that long.
    pub delay: Duration,
    /// And up to that much longer, each datagram its own, so that they overtake each other.
    pub jitter: Duration,
    /// Of a million datagrams, so many are lost.
    pub loss: u32,
    /// Of a million datagrams, so many come twice.
    pub duplication: u32,
    /// Of a million datagrams, so many are held back for `hold`.
    pub reordering: u32,
    /// How long those are held back.
    pub hold: Duration,
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Datagrams passed on, copies included.
    pub datagrams: u64,
    /// Their bytes.
    pub datagram_bytes: u64,
    /// Datagrams lost by the odds.
    pub lost: u64,
    /// Datagrams that met a cut.
    pub cut: u64,
    /// Copies made.
    pub copies: u64,
    /// Datagrams held back to be overtaken.
    pub reordered: u64,
    /// Datagrams for which there was no room, or whose receiver has no address yet.
    pub dropped: u64,
    /// Datagrams and connections from nobody known; they pass as the weather of all says.
    pub strangers: u64,
    /// Connections passed on.
    pub streams: u64,
    /// Bytes passed on by connections.
    pub stream_bytes: u64,
}

/// When the copies of one datagram are due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DatagramFate {
    pub(crate) first: Option<Duration>,
    pub(crate) copy: Option<Duration>,
}

/// Somebody who sent something; strangers have no number.
pub(crate) type DatagramSender = Option<u16>;

/// Every link.
#[derive(Debug)]
pub(crate) struct Links {
    seed: u64,
    usual: DatagramConditions,
    own: BTreeMap<(u16, u16), DatagramConditions>,
    /// How many cuts are on a link; they may overlap.
    cuts: BTreeMap<(u16, u16), u32>,
    dice: BTreeMap<(u16, u16), Dice>,
    pub(crate) counts: DatagramCounts,
}

/// The number under which strangers roll dice.
const STRANGER: u16 = u16::MAX;

impl Links {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            usual: DatagramConditions::default(),
            own: BTreeMap::new(),
            cuts: BTreeMap::new(),
            dice: BTreeMap::new(),
            counts: DatagramCounts::default(),
        }
    }

    /// The weather of all links, whatever was said of single ones.
    pub(crate) fn set_all(&mut self, weather: DatagramConditions) {
        self.usual = weather;
        self.own.clear();
    }

    pub(crate) fn set(&mut self, from: u16, to: u16, weather: DatagramConditions) {
        self.own.insert((from, to), weather);
    }

    pub(crate) fn usual(&self) -> DatagramConditions {
        self.usual
    }

    pub(crate) fn cut(&mut self, from: &[u16], to: &[u16]) {
        for link in pairs(from, to) {
            *self.cuts.entry(link).or_default() += 1;
        }
    }

    /// Takes one cut off each of these links.
    pub(crate) fn mend(&mut self, from: &[u16], to: &[u16]) {
        for link in pairs(from, to) {
            if let Some(cuts) = self.cuts.get_mut(&link) {
                *cuts -= 1;
                if *cuts == 0 {
                    self.cuts.remove(&link);
                }
            }
        }
    }

    pub(crate) fn mend_all(&mut self) {
        self.cuts.clear();
    }

    pub(crate) fn is_cut(&self, from: DatagramSender, to: u16) -> bool {
        from.is_some_and(|from| self.cuts.contains_key(&(from, to)))
    }

    /// What becomes of a datagram that is sent now.
    pub(crate) fn fate(&mut self, from: DatagramSender, to: u16) -> DatagramFate {
        if self.is_cut(from, to) {
            self.counts.cut += 1;
            return DatagramFate::default();
        }
        let weather = self.weather(from, to);
        let dice = self.dice(from, to);
        if befalls(weather.loss, dice) {
            self.counts.lost += 1;
            return DatagramFate::default();
        }
        let is_held = befalls(weather.reordering, dice);
        let is_doubled = befalls(weather.duplication, dice);
        let held = if is_held {
            weather.hold
        } else {
            Duration::ZERO
        };
        let first = takes(weather, dice) + held;
        let copy = is_doubled.then(|| takes(weather, dice));
        self.counts.reordered += u64::from(is_held);
        self.counts.copies += u64::from(is_doubled);
        DatagramFate {
            first: Some(first),
            copy,
        }
    }

    /// How long bytes of a connection take.
    pub(crate) fn latency(&mut self, from: DatagramSender, to: DatagramSender) -> Duration {
        let to = to.unwrap_or(STRANGER);
        let weather = self.weather(from, to);
        takes(weather, self.dice(from, to))
    }

    fn weather(&self, from: DatagramSender, to: u16) -> DatagramConditions {
        let own = from.and_then(|from| self.own.get(&(from, to)));
        own.copied().unwrap_or(self.usual)
    }

    fn dice(&mut self, from: DatagramSender, to: u16) -> &mut Dice {
        let (seed, from) = (self.seed, from.unwrap_or(STRANGER));
        let link = u64::from(from) << 16 | u64::from(to);
        let fresh = || Dice::new(seed ^ link.wrapping_mul(0xa076_1d64_78bd_642f));
        self.dice.entry((from, to)).or_insert_with(fresh)
    }
}

/// Whether something happens that does so `odds` times in a million. No number is drawn for what never happens.
fn befalls(odds: u32, dice: &mut Dice) -> bool {
    odds > 0 && dice.chance(odds.into(), 1_000_000)
}

fn takes(weather: DatagramConditions, dice: &mut Dice) -> Duration {
    let jitter = u64::try_from(weather.jitter.as_nanos()).unwrap_or(u64::MAX);
    if jitter == 0 {
        return weather.delay;
    }
    weather.delay + Duration::from_nanos(dice.below(jitter.saturating_add(1)))
}

fn pairs<'a>(from: &'a [u16], to: &'a [u16]) -> impl Iterator<Item = (u16, u16)> + 'a {
    from.iter()
        .flat_map(move |&from| to.iter().map(move |&to| (from, to)))
        .filter(|(from, to)| from != to)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn fates(seed: u64, weather: DatagramConditions) -> Vec<DatagramFate> {
        let mut links = Links::new(seed);
        links.set_all(weather);
        (0..2_000).map(|_| links.fate(Some(1), 2)).collect()
    }

    #[test]
    fn a_seed_decides_everything() {
        let weather = DatagramConditions {
            delay: ms(5),
            jitter: ms(3),
            loss: 100_000,
            duplication: 200_000,
            reordering: 50_000,
            hold: ms(40),
        };
        assert_eq!(fates(7, weather), fates(7, weather));
        assert_ne!(fates(7, weather), fates(8, weather));
    }

    #[test]
    fn odds_are_kept() {
        let weather = DatagramConditions {
            loss: 100_000,
            duplication: 200_000,
            ..DatagramConditions::default()
        };
        let fates = fates(3, weather);
        let lost = fates.iter().filter(|fate| fate.first.is_none()).count();
        let twice = fates.iter().filter(|fate| fate.copy.is_some()).count();
        assert!((150..250).contains(&lost), "{lost}");
        assert!((300..420).contains(&twice), "{twice}");
    }

    #[test]
    fn a_cut_is_one_way_and_cuts_add_up() {
        let mut links = Links::new(1);
        links.cut(&[0, 1], &[1, 2]);
        links.cut(&[0], &[2]);
        assert!(links.is_cut(Some(0), 1) && links.is_cut(Some(1), 2));
        assert!(!links.is_cut(Some(2), 0) && !links.is_cut(Some(1), 1));
        assert!(!links.is_cut(None, 2), "strangers are on no side");
        links.mend(&[0, 1], &[1, 2]);
        assert!(links.is_cut(Some(0), 2), "the second is still there");
        assert!(!links.is_cut(Some(0), 1));
        assert_eq!(links.fate(Some(0), 2), DatagramFate::default());
        links.mend_all();
        assert!(links.fate(Some(0), 2).first.is_some());
        links.mend(&[0], &[2]);
        assert!(!links.is_cut(Some(0), 2), "nothing is left to mend");
    }

    #[test]
    fn single_links_differ_until_all_are_set() {
        let mut links = Links::new(1);
        let slow = DatagramConditions {
            delay: ms(9),
            ..DatagramConditions::default()
        };
        links.set(0, 1, slow);
        assert_eq!(links.fate(Some(0), 1).first, Some(ms(9)));
        assert_eq!(links.fate(Some(1), 0).first, Some(ms(0)));
        links.set_all(DatagramConditions::default());
        assert_eq!(links.fate(Some(0), 1).first, Some(ms(0)));
    }
}
