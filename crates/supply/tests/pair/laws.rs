//! Laws of the arithmetic, and frames that make no sense.

use proptest::prelude::*;
use tollgate_gossip::{ModeKey, NodeId};
use tollgate_limit::Span;
use tollgate_supply::{
    AUTHORITY, Authority, BadLimits, BadShares, Limits, Machine, Offer, Party, Shares,
    SupplyConfig, SupplySetup, equalise, water_fill,
};

use crate::{at, setup};

fn limits() -> impl Strategy<Value = Limits> {
    let rate = prop_oneof![1..=100_u64, 1..=Limits::RATE_MAX];
    let burst = prop_oneof![1..=100_u64, 1..=Limits::BURST_MAX];
    (rate, burst).prop_map(|(rate, burst)| Limits::new(rate, burst).unwrap())
}

fn party() -> impl Strategy<Value = Party> {
    let supply = prop_oneof![0..=1000_u64, 0..=Limits::RATE_MAX];
    let weight = prop_oneof![1..=1000_u64, 1..=Party::WEIGHT_MAX];
    (supply, weight).prop_map(|(supply, weight)| Party { supply, weight })
}

proptest! {
    #[test]
    fn who_has_all_has_the_burst_and_parts_never_have_more(
        limits in limits(),
        cuts in prop::collection::vec(any::<u64>(), 1..8),
    ) {
        prop_assert_eq!(limits.depth(limits.rate()), Limits::tokens(limits.burst()));
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut % (limits.rate() + 1)).collect();
        cuts.extend([0, limits.rate()]);
        cuts.sort_unstable();
        let parts = cuts.windows(2).map(|pair| limits.depth(pair[1] - pair[0]));
        prop_assert!(parts.sum::<u128>() <= Limits::tokens(limits.burst()));
    }

    #[test]
    fn the_share_for_a_depth_is_the_least_that_has_it(limits in limits(), part in any::<u64>()) {
        let tokens = limits.depth(part % (limits.rate() + 1));
        let share = limits.share_for(tokens).unwrap();
        prop_assert!(limits.depth(share) >= tokens);
        prop_assert!(share == 0 || limits.depth(share - 1) < tokens);
        prop_assert_eq!(limits.share_for(Limits::tokens(limits.burst()) + 1), None);
    }

    #[test]
    fn homes_add_up_and_keep_their_proportions(
        weights in prop::collection::btree_map(0..500_u16, any::<u32>(), 1..50),
        rate in 1..=Limits::RATE_MAX,
    ) {
        let sum: u128 = weights.values().map(|weight| u128::from(*weight)).sum();
        prop_assume!(sum > 0);
        let named = weights.iter().map(|(node, weight)| (NodeId(*node), *weight));
        let homes = Shares::new(1, named).unwrap().homes(rate);
        prop_assert_eq!(homes.iter().map(|(_, home)| u128::from(*home)).sum::<u128>(), u128::from(rate));
        for ((_, home), weight) in homes.iter().zip(weights.values()) {
            let fair = u128::from(rate) * u128::from(*weight) / sum;
            prop_assert!(u128::from(*home) - fair <= 1);
        }
    }

    #[test]
    fn an_exchange_moves_no_more_than_there_is_and_towards_balance(left in party(), right in party()) {
        let moved = equalise(left, right);
        prop_assert_eq!(moved, -equalise(right, left));
        let (giver, taker) = if moved >= 0 { (left, right) } else { (right, left) };
        let moved = moved.unsigned_abs();
        prop_assert!(moved <= giver.supply);
        let gave = Party { supply: giver.supply - moved, ..giver };
        let took = Party { supply: taker.supply + moved, ..taker };
        prop_assert!(moved == 0 || !took.is_richer_than(gave));
    }

    #[test]
    fn a_group_fills_the_asker_without_going_below_its_level(
        asker in party(),
        offers in prop::collection::vec((party(), any::<u64>()), 0..32),
    ) {
        let offers: Vec<_> = (0_u16..).zip(offers).map(|(from, (party, free))| Offer {
            from, party, free: free % (party.supply + 1),
        }).collect();
        let pour = water_fill(asker, &offers);
        let mut sum = u128::from(asker.supply);
        for (from, amount) in &pour.asks {
            let offer = offers[usize::from(*from)];
            prop_assert!(*amount > 0 && *amount <= offer.free);
            prop_assert!(offer.party.is_richer_than(asker));
            sum += u128::from(*amount);
        }
        prop_assert!(pour.supply == u64::try_from(sum).unwrap_or(u64::MAX));
    }

    #[test]
    fn no_bytes_make_a_machine_or_an_authority_panic(
        frames in prop::collection::vec((0..4_u16, prop::collection::vec(any::<u8>(), 0..120)), 1..20),
    ) {
        let mut machine = machine(0);
        let mut authority = authority();
        for (from, bytes) in &frames {
            for begin in [vec![], vec![0x10, 1, 1, 1, 1]] {
                let frame: Vec<_> = begin.into_iter().chain(bytes.iter().copied()).collect();
                let _ = machine.handle_frame(NodeId(*from), &frame, at(5));
                let _ = authority.handle_frame(NodeId(*from), &frame, at(5));
            }
            machine.handle_timeout(at(200));
        }
        prop_assert!(machine.inspect(ModeKey(1), at(200)).usable <= machine.limits().rate());
    }

    #[test]
    fn a_bent_frame_never_makes_supply(seed in any::<u64>(), bends in prop::collection::vec((any::<u16>(), any::<u8>()), 1..4)) {
        let (mut left, mut right) = (machine(0), machine(1));
        let mut bends = bends.into_iter().cycle();
        for step in 0..200 {
            let now = at(step * 5);
            let _ = left.handle_request(ModeKey(1), 1, now);
            left.handle_timeout(now);
            right.handle_timeout(now);
            for turn in 0..4 {
                let (from, to, name) = if turn % 2 == 0 { (&mut left, &mut right, 0) } else { (&mut right, &mut left, 1) };
                while let Some(send) = from.poll_send() {
                    let mut frame = send.frame.to_vec();
                    if (seed >> (step % 64)) & 1 == 1 {
                        let (place, byte) = bends.next().unwrap_or_default();
                        let place = usize::from(place) % frame.len();
                        frame[place] ^= byte;
                    }
                    let _ = to.handle_frame(NodeId(name), &frame, now);
                }
            }
            // A lender never gives more than its home, whatever it is told.
            let seen = right.inspect(ModeKey(1), now);
            prop_assert!(seen.lent <= seen.home);
        }
    }
}

fn two() -> Shares {
    Shares::equal(1, [NodeId(0), NodeId(1)]).unwrap()
}

fn machine(me: u16) -> Machine {
    Machine::new(SupplySetup {
        shares: two(),
        members: vec![NodeId(0), NodeId(1)],
        config: SupplyConfig::default(),
        ..setup(me, 1)
    })
    .unwrap()
}

fn authority() -> Authority {
    let limits = Limits::new(100 * Limits::PER_SECOND, 20).unwrap();
    let config = SupplyConfig {
        lease: Some(Span::from_nanos(2_000_000_000)),
        ..SupplyConfig::default()
    };
    Authority::new(limits, &two(), config, Span::ZERO, at(0))
}

#[test]
fn bad_limits_and_shares_are_refused_by_name() {
    assert_eq!(Limits::new(0, 1), Err(BadLimits::NoRate));
    assert_eq!(
        Limits::new(Limits::RATE_MAX + 1, 1),
        Err(BadLimits::RateTooLarge)
    );
    assert_eq!(Limits::new(1, 0), Err(BadLimits::NoBurst));
    assert_eq!(Limits::new(1, u64::MAX), Err(BadLimits::BurstTooLarge));
    let second = Span::from_nanos(1_000_000_000);
    assert_eq!(
        Limits::per(1 << 41, second, 1),
        Err(BadLimits::RateTooLarge)
    );
    assert_eq!(Limits::per(1, Span::ZERO, 1), Err(BadLimits::NoPeriod));
    assert_eq!(
        Limits::per(5, second, 1).unwrap().rate(),
        5 * Limits::PER_SECOND
    );
    assert_eq!(Shares::new(1, [(NodeId(1), 0)]), Err(BadShares::NoWeight));
    assert_eq!(
        Shares::equal(1, [NodeId(1), NodeId(1)]),
        Err(BadShares::Twice(NodeId(1)))
    );
    assert_eq!(
        Shares::equal(1, (0..5000).map(NodeId)),
        Err(BadShares::TooMany)
    );
    assert!(AUTHORITY != NodeId(0));
}
