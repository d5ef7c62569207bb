//! How much of the limit is used, and at what cost, where nothing fails.

use tollgate_sim::Weather;

use super::world::{CALM, Event, World};
use crate::{Lend, Share};

const MS: u64 = 1_000_000;

/// Ten clients with Zipf demand of `tenths` of the limit for so many seconds.
fn run(seed: u64, per_second: u64, burst: u64, tenths: u64, seconds: u64) -> World {
    let mut world = World::new(seed, per_second, burst, 10, CALM);
    let ranks: u64 = (1..=10).map(|rank| 2520 / rank).sum();
    for client in 0..10_u64 {
        let milli = per_second * 100 * tenths * (2520 / (client + 1)) / ranks;
        world.at(0, Event::Demand(usize::try_from(client).unwrap(), milli));
    }
    world.run(seconds * 1_000 * MS);
    world
}

#[allow(clippy::cast_precision_loss)]
fn figures(world: &World) -> (f64, f64, f64) {
    let arrived: u64 = world.clients.iter().map(|client| client.arrived).sum();
    let admitted: u64 = world.clients.iter().map(|client| client.admitted).sum();
    let share = admitted as f64 / world.central.admitted as f64;
    let messages = world.tally.messages as f64 / arrived as f64;
    (share, messages, world.tally.waited as f64 / arrived as f64)
}

#[test]
fn most_of_the_limit_is_used_with_few_messages() {
    let bars = [
        ((1_000, 1_000), 9, 0.995, 0.1),
        ((1_000, 1_000), 12, 0.975, 0.1),
        ((1_000, 1_000), 20, 0.985, 0.05),
        ((100, 100), 20, 0.97, 0.5),
        ((1_000, 100), 20, 0.98, 0.5),
    ];
    let mut missed = Vec::new();
    for (limits, tenths, least, most) in bars {
        let world = run(7, limits.0, limits.1, tenths, 15);
        assert!(!world.ghost.broken.is_any(), "{:?}", world.ghost.broken);
        let (share, messages, waited) = figures(&world);
        println!(
            "{limits:?} x{tenths}: {share:.4} of central, {messages:.4} messages, {waited:.4} waited"
        );
        if share < least || messages > most {
            missed.push((limits, tenths, share, messages));
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

/// One client that wants twice the limit: told to wait, it does not ask for every token.
#[test]
fn a_client_alone_that_wants_more_than_there_is_seldom_asks() {
    let mut world = World::new(3, 1_000, 1_000, 1, CALM);
    world.at(0, Event::Demand(0, 2_000_000));
    world.run(10_000 * MS);
    assert!(!world.ghost.broken.is_any(), "{:?}", world.ghost.broken);
    let (share, messages, waited) = figures(&world);
    println!("{share:.4} of central, {messages:.4} messages, {waited:.4} waited");
    assert!(share > 0.98 && messages < 0.01 && waited < 0.02);
}

/// Leases of tokens alone, of a rate alone and of a few tokens each time are as safe.
#[test]
fn other_kinds_of_lease_admit_no_more() {
    for lend in [Lend::Tokens, Lend::Rate, Lend::Fixed(10)] {
        let weather = Weather {
            loss: 100_000,
            copies: 100_000,
            ..Weather::between(MS, 21 * MS)
        };
        let mut world = World::new(5, 300, 60, 5, weather);
        world.rules.lend = lend;
        world.tune(1_000 * MS, 500);
        for client in 0..5 {
            world.at(0, Event::Demand(client, 120_000));
        }
        world.run(8_000 * MS);
        assert!(
            !world.ghost.broken.is_any(),
            "{lend:?}: {:?}",
            world.ghost.broken
        );
        let (share, messages, _) = figures(&world);
        println!("{lend:?}: {share:.4} of central, {messages:.4} messages");
        assert!(share > 0.7, "{lend:?}: {share}");
    }
}

/// Nine clients that want little beside one that wants everything: what each got of what it asked for, the least of the
/// nine first.
fn beside_a_greedy_one(share: Share) -> (f64, f64) {
    let mut world = World::new(9, 1_000, 1_000, 10, CALM);
    world.rules.share = share;
    world.tune(2_000 * MS, 500);
    world.at(0, Event::Demand(0, 3_000_000));
    for client in 1..10 {
        world.at(0, Event::Demand(client, 60_000));
    }
    world.run(20_000 * MS);
    assert!(!world.ghost.broken.is_any(), "{:?}", world.ghost.broken);
    #[allow(clippy::cast_precision_loss)]
    let got = |client: usize| {
        let client = &world.clients[client];
        client.admitted as f64 / client.arrived as f64
    };
    ((1..10).map(got).fold(1.0, f64::min), got(0))
}

#[test]
fn a_greedy_client_takes_nothing_from_others_where_clients_share() {
    let (small, greedy) = beside_a_greedy_one(Share::Request);
    let (small_apart, greedy_apart) = beside_a_greedy_one(Share::Client);
    println!("by requests {small:.3}, {greedy:.3}; by clients {small_apart:.3}, {greedy_apart:.3}");
    assert!(
        small < 0.8,
        "{small}: one that wants more than there is counts as if it wanted all of it"
    );
    assert!(
        small_apart > 0.9,
        "{small_apart}: 540 of 1,000 are for the nine"
    );
    assert!(
        greedy_apart > 0.12 && greedy_apart < greedy,
        "{greedy_apart} of 0.153"
    );
}
