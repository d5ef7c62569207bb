//! How much of the limit is used where nothing fails, of windows too, and by those who wait or ask each time.

use tollgate_sim::Conditions;

use super::design::Design;
use super::world::{LeaseOutcome, LeaseSetting, MILLI, Plot, SECOND, WindowOf};
use crate::naive::NaiveShape;
use crate::supply::stage::{PER_SECOND, Phase};

const SHAPES: [NaiveShape; 4] = [
    NaiveShape::Fixed(0),
    NaiveShape::Log,
    NaiveShape::Counters(10),
    NaiveShape::Weighted,
];

/// Demand of each client in thousandths of a request per second, and of those who ask each time, for so long.
fn steady(setting: &LeaseSetting, milli: &[u64], direct: u64, seed: u64) -> LeaseOutcome {
    let rates = milli.iter().map(|milli| milli * PER_SECOND / 1_000);
    let rates = rates.chain([direct * PER_SECOND]).collect();
    let run = Design::Lease.run(&Plot {
        phases: vec![Phase { at: 0, rates }],
        ..Plot::steady(setting.clone(), 0, seed)
    });
    assert_eq!(run.broken.sum(), 0, "{:?}", run.broken);
    run
}

/// Three clients and nothing that fails: thousandths of what one window would admit, and messages for a thousand
/// decisions.
fn calm(shape: NaiveShape, limit: u64, tenths: u64) -> (u64, u64) {
    let setting = LeaseSetting {
        burst: limit,
        clients: 3,
        term_ns: 2 * SECOND,
        until: 6 * SECOND,
        window_of: Some(WindowOf {
            shape,
            period_ns: SECOND,
            day: 5 * SECOND,
        }),
        ..LeaseSetting::usual(limit, 1_000)
    };
    let run = steady(&setting, &[limit * 1_000 / 3 * tenths / 10; 3], 0, 7);
    let tally = run.tally;
    (
        tally.admitted * 1_000 / tally.central,
        tally.messages * 1_000 / tally.arrived,
    )
}

#[test]
fn almost_all_of_a_window_is_used_and_few_decisions_cost_a_message() {
    for shape in SHAPES {
        for tenths in [9, 12, 20] {
            let (used, messages) = calm(shape, 1_000, tenths);
            println!(
                "{shape:?}, {tenths} tenths of the limit: {used} of 1000 used, {messages} messages a 1000"
            );
            assert!(used >= 930, "{shape:?}: {used}");
            assert!(messages <= 250, "{shape:?}: {messages}");
        }
    }
}

#[test]
fn most_of_the_limit_is_used_with_few_messages() {
    let bars = [
        ((1_000, 1_000), 90, 0.995, 0.1),
        ((1_000, 1_000), 120, 0.975, 0.1),
        ((1_000, 1_000), 200, 0.985, 0.05),
        ((100, 1_000), 200, 0.97, 0.5),
        ((1_000, 100), 200, 0.98, 0.5),
    ];
    let mut missed = Vec::new();
    for ((limit, burst_ms), percent, least, most) in bars {
        let setting = LeaseSetting {
            until: 15 * SECOND,
            ..LeaseSetting::usual(limit, burst_ms)
        };
        let run = Design::Lease.run(&Plot::steady(setting, percent, 7));
        assert_eq!(run.broken.sum(), 0, "{:?}", run.broken);
        let (share, messages) = (run.share(), run.per_decision(run.tally.messages));
        println!(
            "{limit}/s, {burst_ms} ms at {percent} %: {share:.4} of central, {messages:.4} messages"
        );
        if share < least || messages > most {
            missed.push((limit, burst_ms, percent, share, messages));
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

/// Leases of tokens alone, of a rate alone and of a few tokens each time are as safe.
#[test]
fn other_kinds_of_lease_admit_no_more() {
    for design in [Design::Token, Design::Rate, Design::Fixed(10)] {
        let setting = LeaseSetting {
            clients: 5,
            term_ns: SECOND,
            until: 8 * SECOND,
            weather: Conditions {
                loss: 100_000,
                copies: 100_000,
                ..Conditions::between(MILLI, 21 * MILLI)
            },
            ..LeaseSetting::usual(300, 200)
        };
        let run = design.run(&Plot {
            phases: vec![Phase {
                at: 0,
                rates: vec![120 * PER_SECOND; 5],
            }],
            ..Plot::steady(setting, 0, 5)
        });
        let name = design.name();
        assert_eq!(run.broken.sum(), 0, "{name}: {:?}", run.broken);
        let (share, messages) = (run.share(), run.per_decision(run.tally.messages));
        println!("{name}: {share:.4} of central, {messages:.4} messages");
        assert!(share > 0.7, "{name}: {share}");
    }
}

/// One client that wants twice the limit: told to wait, it does not ask for every token.
#[test]
fn a_client_alone_that_wants_more_than_there_is_seldom_asks() {
    let setting = LeaseSetting {
        clients: 1,
        until: 10 * SECOND,
        ..LeaseSetting::usual(1_000, 1_000)
    };
    let run = steady(&setting, &[2_000_000], 0, 3);
    let (share, messages) = (run.share(), run.per_decision(run.tally.messages));
    let waited = run.per_decision(run.tally.waited);
    println!("{share:.4} of central, {messages:.4} messages, {waited:.4} waited");
    assert!(share > 0.98 && messages < 0.01 && waited < 0.02);
}

/// Nine clients that want little beside one that wants everything: what each got of what it asked for, the least of the
/// nine first.
#[allow(clippy::cast_precision_loss, reason = "shares of three digits")]
fn beside_a_greedy_one(is_shared_by_client: bool) -> (f64, f64) {
    let setting = LeaseSetting {
        until: 20 * SECOND,
        is_shared_by_client,
        ..LeaseSetting::usual(1_000, 1_000)
    };
    let mut wants = [60_000; 10];
    wants[0] = 3_000_000;
    let run = steady(&setting, &wants, 0, 9);
    let asked = |client: usize| wants[client] as f64 / 1e3 * 20.0;
    let got = |client: usize| run.clients[client].0 as f64 / asked(client);
    ((1..10).map(got).fold(1.0, f64::min), got(0))
}

#[test]
fn a_greedy_client_takes_nothing_from_others_where_clients_share() {
    let (small, greedy) = beside_a_greedy_one(false);
    let (small_apart, greedy_apart) = beside_a_greedy_one(true);
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

/// A setting in which requests may wait.
fn waiting(limit: u64, clients: u16, max_wait_ns: u64, until: u64) -> LeaseSetting {
    LeaseSetting {
        clients,
        until,
        max_wait_ns,
        ..LeaseSetting::usual(limit, 1_000)
    }
}

#[test]
fn those_who_ask_each_time_do_not_keep_leases_away_for_ever() {
    let setting = waiting(1_000, 3, 200 * MILLI, 10 * SECOND);
    let late = |rate| vec![rate, rate, rate, 1_000 * PER_SECOND];
    // They alone want twice the limit.
    let run = Design::Lease.run(&Plot {
        phases: vec![
            Phase {
                at: 0,
                rates: late(0),
            },
            Phase {
                at: 2 * crate::supply::stage::SECOND,
                rates: late(300 * PER_SECOND),
            },
        ],
        ..Plot::steady(setting, 0, 7)
    });
    assert_eq!(run.broken.sum(), 0, "{:?}", run.broken);
    assert!(run.tally.granted > 1_000, "{:?}", run.tally);
    println!("{} % of the rate, {:?}", run.reserved, run.tally);
    assert!(run.reserved > 15, "{} % of the rate", run.reserved);
    let used = run.tally.charged;
    assert!((10_000..=11_000).contains(&used), "{used} admitted");
}

/// Ten clients that want twice a limit between them, and others who ask each time; what was admitted of what could be,
/// in thousandths, and messages per thousand requests.
fn crowded(limit: u64, direct: u64) -> (u64, u64) {
    let setting = waiting(limit, 10, 100 * MILLI, 20 * SECOND);
    // Requests cost two on average; the share of a client falls with its number.
    let wants: Vec<u64> = (1..=10)
        .map(|rank| limit * 1_000 * 100 / 293 / rank)
        .collect();
    let run = steady(&setting, &wants, direct, 7);
    assert!(run.tally.promised > limit, "{:?}", run.tally);
    let used = run.tally.charged * 1_000 / (21 * limit);
    (used, run.tally.messages * 1_000 / run.tally.arrived)
}

#[test]
fn the_limit_is_used_up_by_those_who_wait() {
    for (limit, direct, most) in [(1_000, 0, 150), (1_000, 100, 150), (10_000, 1_000, 10)] {
        let (used, messages) = crowded(limit, direct);
        println!("{limit}/s: {used} of 1,000 used, {messages} messages per 1,000 requests");
        assert!(used >= 980, "{limit}/s: {used} of 1,000");
        assert!(messages <= most, "{limit}/s: {messages} per 1,000 requests");
    }
}
