//! Which broker gets which publishers: how many brokers, how much each, and who goes where.
//!
//! Three principles, each of which can be turned off: few brokers (concentration), no small parts (max-min), and
//! publishers that send together apart (correlation). Not here: whether a placement keeps its promise (`fit`).

use tollgate_kit::scramble;

use crate::portion::{fill_up, level_up};

/// A publisher. Rates are in thousandths of a message per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Publisher {
    /// Its name.
    pub id: u64,
    /// What it sends.
    pub rate: u64,
    /// Messages that it sends at once.
    pub batch: u32,
    /// Publishers with the same key send at the same time.
    pub group: Option<u64>,
}

/// A broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broker {
    /// What it can carry.
    pub capacity: u64,
    /// What it carries already.
    pub load: u64,
}

/// Which principles hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Principles {
    /// As few brokers as can carry the topic; otherwise all of them.
    pub concentration: bool,
    /// The smallest part is as large as can be; otherwise all brokers end with the same load.
    pub max_min: bool,
    /// Groups are spread over the brokers; otherwise publishers go wherever a hash says.
    pub correlation: bool,
}

impl Principles {
    /// All three.
    pub const ALL: Self = Self {
        concentration: true,
        max_min: true,
        correlation: true,
    };
    /// None: the load is balanced over all brokers.
    pub const NONE: Self = Self {
        concentration: false,
        max_min: false,
        correlation: false,
    };
}

/// What one broker gets of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerShare {
    /// Which broker, by its place in the list.
    pub broker: usize,
    /// How much it should get; all quotas add up to the topic's rate.
    pub quota: u64,
    /// Which publishers, by their places in the list; any first ones of them are spread over the groups as all are.
    pub publishers: Vec<usize>,
}

/// Not enough brokers: so much could not be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// In thousandths of a message per second.
    pub left: u64,
}

impl std::fmt::Display for NoRoom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the brokers cannot carry {} messages per second of it",
            self.left.div_ceil(1000)
        )
    }
}

impl std::error::Error for NoRoom {}

/// Distributes publishers over at least `brokers_min` brokers. Those who are placed blindly are placed by `seed`.
pub fn distribute(
    publishers: &[Publisher],
    brokers: &[Broker],
    principles: Principles,
    brokers_min: usize,
    seed: u64,
) -> Result<Vec<BrokerShare>, NoRoom> {
    let rate = publishers.iter().map(|publisher| publisher.rate).sum();
    let mut places = quotas(rate, brokers, principles, brokers_min)?;
    assign(publishers, &mut places, principles, seed);
    Ok(places)
}

/// How much each broker gets of `rate`; those that get nothing are left out.
pub fn quotas(
    rate: u64,
    brokers: &[Broker],
    principles: Principles,
    brokers_min: usize,
) -> Result<Vec<BrokerShare>, NoRoom> {
    let room = |broker: &Broker| broker.capacity.saturating_sub(broker.load);
    let mut order: Vec<usize> = (0..brokers.len()).collect();
    order.sort_by_key(|place| std::cmp::Reverse(brokers.get(*place).map(room)));
    let mut chosen = Vec::new();
    let mut carried = 0_u64;
    for place in order {
        let is_needed = carried < rate || chosen.len() < brokers_min;
        if is_needed || !principles.concentration {
            carried = carried.saturating_add(brokers.get(place).map_or(0, room));
            chosen.push(place);
        }
    }
    if carried < rate {
        return Err(NoRoom {
            left: rate - carried,
        });
    }
    let of = |value: fn(&Broker) -> u64| -> Vec<u64> {
        let some = chosen.iter().filter_map(|place| brokers.get(*place));
        some.map(value).collect()
    };
    let parts = if principles.max_min {
        fill_up(
            rate,
            &of(|broker| broker.capacity.saturating_sub(broker.load)),
        )
    } else {
        level_up(rate, &of(|broker| broker.load))
    };
    let pairs = chosen.into_iter().zip(parts);
    let places = pairs.map(|(broker, quota)| BrokerShare {
        broker,
        quota,
        publishers: Vec::new(),
    });
    Ok(places.filter(|place| place.quota > 0).collect())
}

/// Gives every publisher to the broker that is furthest behind its quota. Members of a group follow each other, so that
/// they are spread over the brokers by their quotas.
fn assign(publishers: &[Publisher], places: &mut [BrokerShare], principles: Principles, seed: u64) {
    let mut order: Vec<usize> = (0..publishers.len()).collect();
    let publisher = |place: usize| publishers.get(place);
    if principles.correlation {
        order.sort_by_key(|place| {
            publisher(*place).map(|one| (one.group.is_none(), one.group, one.id))
        });
    } else {
        order.sort_by_key(|place| {
            publisher(*place).map(|one| (scramble(seed ^ scramble(one.id)), one.id))
        });
    }
    let whole: u128 = places.iter().map(|place| u128::from(place.quota)).sum();
    let mut behind = vec![0_i128; places.len()];
    for place in order {
        let rate = publisher(place).map_or(0, |one| one.rate);
        for (behind, place) in behind.iter_mut().zip(places.iter()) {
            *behind += product(place.quota, rate);
        }
        let most = (0..behind.len()).max_by_key(|at| (behind.get(*at), std::cmp::Reverse(*at)));
        let Some(most) = most else {
            return;
        };
        if let (Some(behind), Some(to)) = (behind.get_mut(most), places.get_mut(most)) {
            *behind -= i128::try_from(whole)
                .unwrap_or(i128::MAX)
                .saturating_mul(i128::from(rate));
            to.publishers.push(place);
        }
    }
    for place in places {
        spread(publishers, &mut place.publishers);
    }
}

/// Orders some publishers so that one of every group comes first, then a second one of every group, and so on.
fn spread(publishers: &[Publisher], some: &mut [usize]) {
    let mut counts = std::collections::BTreeMap::new();
    let mut ranks = std::collections::BTreeMap::new();
    for place in some.iter() {
        let group = publishers.get(*place).and_then(|one| one.group);
        let count = counts.entry(group).or_insert(0_u64);
        ranks.insert(*place, *count);
        *count += 1;
    }
    some.sort_by_key(|place| (ranks.get(place).copied(), *place));
}

/// How many publishers of a group come together at a broker: what a random message meets, its own publisher included.
pub fn group_met(publishers: &[Publisher], some: &[usize]) -> f64 {
    let mut counts = std::collections::BTreeMap::new();
    let mut alone = 0_u64;
    for place in some {
        match publishers.get(*place).and_then(|one| one.group) {
            Some(group) => *counts.entry(group).or_insert(0_u64) += 1,
            None => alone += 1,
        }
    }
    let squares: u64 = counts.values().map(|count| count * count).sum();
    let all = counts.values().sum::<u64>() + alone;
    if all == 0 {
        return 1.0;
    }
    float(squares + alone) / float(all)
}

/// Counts of publishers and rates are far below 2^53.
#[allow(clippy::cast_precision_loss, reason = "planning only")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

fn product(quota: u64, rate: u64) -> i128 {
    i128::from(quota).saturating_mul(i128::from(rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn topic(count: u64, size: u64) -> Vec<Publisher> {
        (0..count)
            .map(|id| Publisher {
                id,
                rate: 10_000,
                batch: 10,
                group: (size > 1).then_some(id / size),
            })
            .collect()
    }

    fn idle(count: usize) -> Vec<Broker> {
        let broker = Broker {
            capacity: 60_000_000,
            load: 0,
        };
        vec![broker; count]
    }

    /// The loads of the document's figure on max-min, in thousands of messages per second.
    fn loaded() -> Vec<Broker> {
        let loads = [10, 40, 50, 60, 70, 80].into_iter();
        let broker = |load: u64| Broker {
            capacity: 100_000_000,
            load: load * 1_000_000,
        };
        loads.map(broker).collect()
    }

    #[test]
    fn a_small_topic_stays_on_one_broker_and_a_balanced_one_goes_everywhere() {
        let topic = topic(1_000, 1);
        let one = distribute(&topic, &idle(6), Principles::ALL, 1, 0).unwrap();
        assert_eq!(one.len(), 1);
        let all = distribute(&topic, &idle(6), Principles::NONE, 1, 0).unwrap();
        assert_eq!(all.len(), 6);
        assert!(
            all.iter()
                .all(|place| place.publishers.len().abs_diff(167) <= 1)
        );
    }

    #[test]
    fn quotas_add_up_where_a_fair_part_is_too_much_for_one() {
        for thousands in [6, 8, 9, 16, 20] {
            let rate = thousands * 10_000_000;
            let places = quotas(rate, &loaded(), Principles::ALL, 1).unwrap();
            assert_eq!(places.iter().map(|place| place.quota).sum::<u64>(), rate);
        }
        let all = quotas(300_000_000, &loaded(), Principles::ALL, 1);
        assert_eq!(all, Err(NoRoom { left: 10_000_000 }));
    }

    #[test]
    fn max_min_leaves_no_small_part() {
        let level = Principles {
            max_min: false,
            ..Principles::ALL
        };
        let least = |principles| {
            let places = quotas(180_000_000, &loaded(), principles, 1).unwrap();
            places.iter().map(|place| place.quota).min()
        };
        assert!(least(Principles::ALL) > least(level));
    }

    #[test]
    fn groups_are_spread_and_blind_ones_are_not() {
        let topic = topic(1_000, 20);
        let met = |principles| {
            let places = distribute(&topic, &idle(4), principles, 4, 3).unwrap();
            let met = places
                .iter()
                .map(|place| group_met(&topic, &place.publishers));
            met.fold(0.0, f64::max)
        };
        let blind = Principles {
            correlation: false,
            ..Principles::ALL
        };
        assert!((met(Principles::ALL) - 5.0).abs() < 0.01);
        assert!(met(blind) > 5.5);
    }

    #[test]
    fn first_ones_of_a_broker_are_spread_as_all_are() {
        let topic = topic(100, 10);
        let places = distribute(&topic, &idle(2), Principles::ALL, 2, 0).unwrap();
        assert!((group_met(&topic, &places[0].publishers[..20]) - 2.0).abs() < 0.01);
    }

    proptest! {
        #[test]
        fn every_publisher_is_placed_once_and_brokers_get_their_quotas(
            sizes in prop::collection::vec((1..50_u64, 0..8_u64), 1..80),
            rooms in prop::collection::vec((0..5_000_u64, 0..5_000_u64), 1..8),
            flags in any::<[bool; 3]>(), least in 0..4_usize, seed in any::<u64>(),
        ) {
            let publishers: Vec<_> = (0..).zip(&sizes).map(|(id, (rate, group))| Publisher {
                id, rate: *rate, batch: 1, group: (*group > 0).then_some(*group),
            }).collect();
            let brokers: Vec<_> = rooms.iter().map(|(capacity, load)| Broker { capacity: *capacity, load: *load }).collect();
            let [concentration, max_min, correlation] = flags;
            let principles = Principles { concentration, max_min, correlation };
            let rate: u64 = publishers.iter().map(|one| one.rate).sum();
            match distribute(&publishers, &brokers, principles, least, seed) {
                Ok(places) => {
                    prop_assert_eq!(places.iter().map(|place| place.quota).sum::<u64>(), rate);
                    let mut all: Vec<_> = places.iter().flat_map(|place| place.publishers.clone()).collect();
                    all.sort_unstable();
                    prop_assert_eq!(all, (0..publishers.len()).collect::<Vec<_>>());
                    let largest = 50 * places.len() as u64;
                    for place in &places {
                        let got: u64 = place.publishers.iter().map(|at| publishers[*at].rate).sum();
                        prop_assert!(got.abs_diff(place.quota) <= largest);
                    }
                }
                Err(NoRoom { left }) => {
                    let room: u64 = brokers.iter().map(|broker| broker.capacity.saturating_sub(broker.load)).sum();
                    prop_assert_eq!(left, rate - room);
                }
            }
        }
    }
}
