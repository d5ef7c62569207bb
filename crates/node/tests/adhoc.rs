//! Policies that requests describe, against an arrival time kept as a fraction.
//!
//! The model is the textbook's: one theoretical arrival time per key, in so many parts of a nanosecond that every
//! interval is a whole number of them. It shares nothing with the code it judges.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tollgate_limit::{
    Cost, Decision, Inherit, Instant, Period, PolicyConfig, PolicyError, Verdict,
};
use tollgate_node::{Adhoc, AdhocAsk, AdhocError, Key, NodeConfig, Space};
use tollgate_table::{Budget, Seed, WhenFull};

/// Parts of a nanosecond: every count below divides it.
const PARTS: i128 = 7 * 9 * 16 * 625 * 11;
const COUNTS: [u64; 12] = [1, 2, 3, 6, 7, 11, 30, 48, 100, 1_000, 10_000, 990_000];

const SPACE: Space = Space::named("test");

#[derive(Clone, Copy, Debug, PartialEq)]
struct Rate {
    capacity: u64,
    count: u64,
    period_ns: u64,
}

impl Rate {
    fn config(self) -> PolicyConfig {
        let period = Period::from_nanos(self.period_ns);
        let mut config = PolicyConfig::token_bucket(self.count, period);
        config.burst = Some(self.capacity);
        config.inherit = Inherit::Time;
        config
    }

    /// The interval at which tokens come, in parts.
    fn interval(self) -> i128 {
        i128::from(self.period_ns) * PARTS / i128::from(self.count)
    }

    /// The grain to which the time of a bucket under this rate is kept.
    fn grain(self) -> i128 {
        PARTS / i128::from(self.count / gcd(self.count, self.period_ns))
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// One key: when its bucket is full, and under which rate that was said, and when.
#[derive(Clone, Copy, Debug)]
struct Model {
    arrival: i128,
    rate: Rate,
    at: i128,
}

#[derive(Debug, PartialEq)]
struct Told {
    allowed: bool,
    /// `None` where it passed or never will.
    retry_ns: Option<i128>,
    remaining: i128,
    reset_ns: i128,
}

impl Model {
    fn ask(known: &mut Option<Self>, rate: Rate, tokens: u64, now_ns: u64) -> Told {
        let mut now = i128::from(now_ns) * PARTS;
        let mut arrival = now;
        if let Some(known) = known {
            now = now.max(known.at);
            arrival = known.arrival.max(now);
            if known.rate != rate {
                let (grain, left) = (rate.grain(), arrival - now);
                arrival = now + (left + grain - 1) / grain * grain;
            }
        }
        let depth = rate.interval() * i128::from(rate.capacity);
        let after = arrival + rate.interval() * i128::from(tokens.max(1));
        let allowed = after - depth <= now;
        let kept = if allowed && tokens > 0 {
            after
        } else {
            arrival
        };
        let changed = known.is_some_and(|known| known.rate != rate);
        if tokens > 0 && (allowed || changed) {
            *known = Some(Self {
                arrival: kept,
                rate,
                at: now,
            });
        }
        let never = tokens > rate.capacity;
        let ceil = |parts: i128| (parts + PARTS - 1) / PARTS;
        Told {
            allowed,
            retry_ns: (!allowed && !never).then(|| ceil(after - depth - now)),
            remaining: ((depth - (kept - now)) / rate.interval()).max(0),
            reset_ns: ceil(kept - now),
        }
    }
}

fn told(decision: &Decision) -> Told {
    let nanos = |span: tollgate_limit::Span| i128::try_from(span.as_nanos()).unwrap();
    Told {
        allowed: decision.verdict == Verdict::Allow,
        retry_ns: decision.verdict.retry_after().map(nanos),
        remaining: i128::from(decision.remaining),
        reset_ns: nanos(decision.reset_after),
    }
}

fn adhoc(config: NodeConfig) -> Arc<Adhoc> {
    let budget = Arc::new(Budget::new(config.bytes_max));
    Adhoc::new(config, Seed::new([3, 4]), &budget)
}

fn ask(
    adhoc: &Adhoc,
    key: u64,
    policy: &PolicyConfig,
    tokens: u64,
    now: u64,
) -> Result<Decision, AdhocError> {
    let ask = AdhocAsk {
        print: adhoc.print(SPACE, None, key.into()),
        cost: Cost::new(tokens).unwrap(),
        policy,
    };
    adhoc.check(&ask, Instant::from_nanos(now))
}

fn rates() -> impl Strategy<Value = Rate> {
    let capacity = prop_oneof![1_u64..=4, 1_u64..=100, Just(1 << 40)];
    let seconds = |secs: u64| secs * 1_000_000_000;
    let period_ns = prop_oneof![
        Just(1_u64),
        1_u64..=1_000,
        (1_u64..=3_600).prop_map(seconds),
        Just(seconds(36_525 * 86_400)),
    ];
    (capacity, select(COUNTS.to_vec()), period_ns).prop_map(|(capacity, count, period_ns)| Rate {
        capacity,
        count,
        period_ns,
    })
}

/// A request: the key, the rate by number, its tokens, and sixteenths of a second or of the rate's interval since the
/// one before; some come from the past.
type Step = (u64, usize, u64, i64);

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let tokens = prop_oneof![4 => Just(1), 1 => Just(0), 2 => 0_u64..=12, 1 => Just(1 << 41)];
    vec((0_u64..2, 0_usize..3, tokens, -4_i64..=40), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn answers_are_those_of_an_arrival_time(rates in vec(rates(), 3), steps in steps()) {
        let adhoc = adhoc(NodeConfig::default());
        let configs: Vec<_> = rates.iter().map(|rate| rate.config()).collect();
        let mut models = [None, None];
        let mut now = 1_700_000_000_000_000_000_u64;
        for (key, rate, tokens, pause) in steps {
            let sixteenth = rates[rate].period_ns / rates[rate].count / 16;
            let moved = pause * i64::try_from(sixteenth).unwrap() + pause.signum();
            // The last instant there is.
            now = now.saturating_add_signed(moved).min(u64::MAX - 1);
            let decision = ask(&adhoc, key, &configs[rate], tokens, now).unwrap();
            let model = &mut models[usize::try_from(key).unwrap()];
            prop_assert_eq!(told(&decision), Model::ask(model, rates[rate], tokens, now));
        }
    }
}

fn rate(capacity: u64, count: u64, secs: u64) -> PolicyConfig {
    let rate = Rate {
        capacity,
        count,
        period_ns: secs * 1_000_000_000,
    };
    rate.config()
}

#[test]
fn a_changed_policy_inherits_what_was_spent() {
    let adhoc = adhoc(NodeConfig::default());
    for _ in 0..10 {
        assert_eq!(
            ask(&adhoc, 1, &rate(10, 10, 60), 1, 0).unwrap().verdict,
            Verdict::Allow
        );
    }
    // Full in a minute under either: all ten of ten are spent, and half of twice as many.
    assert_eq!(
        ask(&adhoc, 1, &rate(10, 10, 60), 0, 0).unwrap().remaining,
        0
    );
    assert_eq!(
        ask(&adhoc, 1, &rate(20, 10, 60), 0, 0).unwrap().remaining,
        10
    );
    assert_eq!(
        ask(&adhoc, 1, &rate(20, 10, 60), 1, 0).unwrap().remaining,
        9
    );
    assert_eq!(
        ask(&adhoc, 1, &rate(10, 10, 60), 0, 0).unwrap().remaining,
        0
    );
    assert_eq!(adhoc.keys_count(), 1);
}

#[test]
fn a_peek_leaves_nothing_behind() {
    let adhoc = adhoc(NodeConfig::default());
    assert_eq!(ask(&adhoc, 1, &rate(5, 1, 1), 0, 0).unwrap().remaining, 5);
    assert_eq!(adhoc.keys_count(), 0);
}

#[test]
fn a_policy_that_makes_no_sense_is_refused_and_charges_nothing() {
    let adhoc = adhoc(NodeConfig::default());
    let _ = ask(&adhoc, 1, &rate(5, 1, 1), 2, 0).unwrap();
    let refused = ask(&adhoc, 1, &rate(1 << 60, 1, 1), 2, 0);
    let error = PolicyError::LimitTooLarge(1 << 60);
    assert_eq!(refused, Err(AdhocError::Policy(error)));
    assert_eq!(ask(&adhoc, 1, &rate(5, 1, 1), 0, 0).unwrap().remaining, 3);
}

#[test]
fn more_policies_than_are_shared_stay_within_the_budget_and_count_on() {
    let bytes_max = 4 << 20;
    let config = NodeConfig {
        bytes_max,
        ..NodeConfig::default()
    };
    let adhoc = adhoc(config);
    for key in 0..20_000 {
        let policy = rate(key + 2, 1, 1_000_000);
        let decision = ask(&adhoc, key, &policy, 1, 0).unwrap();
        assert_eq!(decision.remaining, key + 1);
        assert_eq!(ask(&adhoc, key, &policy, 1, 0).unwrap().remaining, key);
    }
    assert!(adhoc.policies_count() <= 4_096);
    assert!(adhoc.bytes() as u64 <= bytes_max + (64 << 10));
    assert!(adhoc.keys_count() > 4_096);
}

#[test]
fn a_full_table_refuses_strangers_where_it_was_told_to() {
    let config = NodeConfig {
        bytes_max: 80 << 10,
        when_full: WhenFull::Refuse,
        ..NodeConfig::default()
    };
    let adhoc = adhoc(config);
    let policy = rate(5, 1, 1_000_000);
    let all: Vec<_> = (0..5_000)
        .map(|key| ask(&adhoc, key, &policy, 1, 0))
        .collect();
    assert!(all[0].is_ok());
    assert_eq!(all[4_999], Err(AdhocError::Full));
    assert_eq!(ask(&adhoc, 0, &policy, 1, 0).unwrap().remaining, 3);
}

#[test]
fn keys_that_requests_bring_along_and_keys_of_contracts_take_nothing_from_each_other() {
    const CONTRACT: &str =
        "contracts: [{ id: a, key: [user], policies: [{ name: p, limit: 2, per: 1h }] }]";
    let config = NodeConfig {
        bytes_max: 1 << 20,
        ..NodeConfig::default()
    };
    let contracts = tollgate_contract::Contracts::parse(CONTRACT).unwrap();
    let node = tollgate_node::Node::new(contracts, config, Seed::new([1, 2]));
    let adhoc = Adhoc::new(config, Seed::new([3, 4]), node.budget());
    let (policy, now) = (rate(2, 1, 3_600_000), Instant::from_nanos(0));
    let passes = |key: u64| {
        let by_contract = node.check(Key::Word(key), Cost::ONE, now).is_allowed();
        let described = ask(&adhoc, key, &policy, 1, 0).unwrap();
        (by_contract, described.verdict == Verdict::Allow)
    };
    // Either floods first; used-up keys of the other come later.
    for key in 100_000..160_000 {
        let _ = ask(&adhoc, key, &policy, 1, 0);
    }
    (0..500).for_each(|key| while node.check(Key::Word(key), Cost::ONE, now).is_allowed() {});
    for key in 100_000..160_000 {
        let _ = node.check(Key::Word(key), Cost::ONE, now);
    }
    for key in 0..500 {
        while ask(&adhoc, key, &policy, 1, 0).unwrap().verdict == Verdict::Allow {}
    }
    for key in 160_000..200_000 {
        let _ = ask(&adhoc, key, &policy, 1, 0);
    }
    assert!((0..500).all(|key| passes(key) == (false, false)));
    assert!(adhoc.counters().evicted_live > 0 && node.counters().evicted_live > 0);
    assert!(node.bytes() <= node.bytes_max());
}
