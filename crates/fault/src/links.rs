//! Link conditions between each two nodes, by direction.
//!
//! Not here: sockets, and time.

use std::collections::BTreeMap;
use std::time::Duration;

use tollgate_kit::Dice;

/// Conditions of one direction between two nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramConditions {
    /// Base delay.
    pub delay: Duration,
    /// The most extra delay, drawn per datagram, so that datagrams can be reordered.
    pub jitter: Duration,
    /// Lost datagrams per million.
    pub loss: u32,
    /// Duplicated datagrams per million.
    pub duplication: u32,
    /// Datagrams per million that are delayed by `hold`.
    pub reordering: u32,
    /// Extra delay of reordered datagrams.
    pub hold: Duration,
}

/// Totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatagramCounts {
    /// Datagrams passed on, copies included.
    pub datagrams: u64,
    pub datagram_bytes: u64,
    /// Datagrams lost by `loss`.
    pub lost: u64,
    /// Datagrams dropped by a partition.
    pub cut: u64,
    /// Copies made.
    pub copies: u64,
    /// Datagrams delayed by `hold`.
    pub reordered: u64,
    /// Datagrams for which the queue was full, or whose receiver has no address yet.
    pub dropped: u64,
    /// Datagrams and connections from unknown sources; the common conditions apply to them.
    pub strangers: u64,
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

/// `None` is an unknown source.
pub(crate) type DatagramSender = Option<u16>;

/// Every link.
#[derive(Debug)]
pub(crate) struct Links {
    seed: u64,
    usual: DatagramConditions,
    own: BTreeMap<(u16, u16), DatagramConditions>,
    /// Partitions of a link; they may overlap.
    cuts: BTreeMap<(u16, u16), u32>,
    dice: BTreeMap<(u16, u16), Dice>,
    pub(crate) counts: DatagramCounts,
}

/// The number of unknown sources in random streams.
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

    /// Overrides the conditions of single links.
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

    /// Removes one partition from each of these links.
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

    /// Decides about a datagram that is sent now.
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

/// True `odds` times in a million. Draws no number for zero odds.
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
