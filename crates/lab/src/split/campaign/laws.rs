//! Laws of cutting: one bucket never makes more messages wait than its parts do, and what leaves the parts conforms to
//! it.
//!
//! Not here: borrowing and adapting.

use proptest::prelude::*;
use tollgate_gossip::NodeId;
use tollgate_limit::Instant;
use tollgate_split::{
    Begin, Borrow, Departure, Share, SplitConfig, SplitMachine, SplitSetup, TopicLimits,
};

use super::ghost::Ghost;
use super::world::SECOND;

fn alone(limits: TopicLimits, share: Share) -> SplitMachine {
    SplitMachine::new(SplitSetup {
        limits,
        share,
        me: NodeId(0),
        boot: 1,
        begin: Begin::Fresh,
        members: vec![NodeId(0)],
        adaptor: None,
        start: Instant::from_nanos(0),
        config: SplitConfig {
            borrow: Borrow::Off,
            drift_ppm: 0,
            ..SplitConfig::default()
        },
    })
    .unwrap()
}

fn departures(mut machine: SplitMachine, times: &[u64]) -> Vec<Departure> {
    for at in times {
        let at = Instant::from_nanos(*at);
        machine.handle_arrival(0, 1, at, at).unwrap();
    }
    machine.handle_timeout(Instant::from_nanos(u64::MAX / 2));
    std::iter::from_fn(|| machine.poll_departure()).collect()
}

fn waiting(departures: &[Departure], at: Instant) -> usize {
    let wait = departures
        .iter()
        .filter(|left| left.arrived <= at && at < left.at);
    wait.count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The document's proposition, by what its proof shows: at every instant no more messages wait in one bucket than
    /// in its parts, and so the sum of their delays is no larger.
    #[test]
    fn one_bucket_never_makes_more_wait_than_its_parts(
        weights in prop::collection::vec(1..20_u64, 2..6),
        extra in 0..20_u64,
        gaps in prop::collection::vec((0..40_000_000_u64, any::<prop::sample::Index>()), 1..120),
    ) {
        let burst = weights.len() as u64 + extra;
        let limits = TopicLimits::per_second(100, burst).unwrap();
        let mut at = 0;
        let mut times = Vec::new();
        let mut parts = vec![Vec::new(); weights.len()];
        for (gap, part) in &gaps {
            at += gap;
            times.push(at);
            parts[part.index(weights.len())].push(at);
        }
        let one = departures(alone(limits, limits.whole()), &times);
        let shares = limits.cut(&weights, 1);
        let many: Vec<_> = shares
            .into_iter()
            .zip(&parts)
            .flat_map(|(share, times)| departures(alone(limits, share), times))
            .collect();
        prop_assert_eq!(one.len(), times.len());
        prop_assert_eq!(many.len(), times.len());
        let instants = one.iter().chain(&many).flat_map(|left| [left.arrived, left.at]);
        for at in instants {
            prop_assert!(waiting(&one, at) <= waiting(&many, at));
        }
        let delays = |all: &[Departure]| all.iter().map(|left| left.at.nanos_since(left.arrived)).sum::<u64>();
        prop_assert!(delays(&one) <= delays(&many));
        let ghost = Ghost { messages: 100, period_ns: SECOND, burst };
        for all in [&one, &many] {
            let left: Vec<_> = all.iter().map(|left| (u128::from(left.at.as_nanos()) << 20, 1)).collect();
            prop_assert_eq!(ghost.violation(&left, 0), None);
        }
    }
}
