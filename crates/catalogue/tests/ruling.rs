//! Which assignment applies, compared with a direct evaluation of the rules, one instant at a time.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test says what it expects"
)]

use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use tollgate_catalogue::{Assignment, Catalogue, KeyRuling, Kind};
use tollgate_limit::Instant;

const SECOND: u64 = 1_000_000_000;

fn at(second: u64) -> Instant {
    Instant::from_nanos(second * SECOND)
}

fn catalogue() -> Catalogue {
    let mut all = Catalogue::default();
    for limit in 1..=4 {
        let (id, text) = (
            format!("p{limit}"),
            format!("{{ id: p{limit}, policies: [{{ name: p, limit: {limit}, per: 1s }}] }}"),
        );
        all.put(Kind::Plan, &id, &text).unwrap();
    }
    let contracts = [
        (
            "following",
            "{ id: following, key: [tenant, ip], plan: p1 }",
        ),
        (
            "alone",
            "{ id: alone, key: [tenant, ip], policies: [{ name: p, limit: 1, per: 1s }] }",
        ),
    ];
    for (id, text) in contracts {
        all.put(Kind::Contract, id, text).unwrap();
    }
    all
}

/// An assignment in the model: seconds since the epoch, plans by number.
#[derive(Clone, Debug)]
struct Wish {
    identity: &'static str,
    contract: Option<&'static str>,
    plan: u64,
    from: Option<u64>,
    length: Option<u64>,
    then: Option<u64>,
}

impl Wish {
    fn until(&self) -> Option<u64> {
        Some(self.from.unwrap_or(0) + self.length?)
    }

    fn written(&self, id: usize) -> Assignment {
        let time = |second: u64| format!("1970-01-01T00:00:{second:02}Z");
        let mut text = format!(
            "{{ id: w{id}, identity: '{}', plan: p{}",
            self.identity, self.plan
        );
        for (name, value) in [
            ("contract", self.contract.map(str::to_owned)),
            ("from", self.from.map(time)),
            ("until", self.until().map(time)),
            (
                "then",
                self.then
                    .filter(|_| self.length.is_some())
                    .map(|then| format!("p{then}")),
            ),
        ] {
            if let Some(value) = value {
                write!(text, ", {name}: '{value}'").unwrap();
            }
        }
        Assignment::read(&(text + " }")).unwrap()
    }

    /// The plan at a second, by the documented rules.
    fn plan_at(&self, second: u64) -> Option<u64> {
        if second < self.from.unwrap_or(0) {
            return None;
        }
        match self.until() {
            Some(until) if second >= until => self.then,
            _ => Some(self.plan),
        }
    }
}

const IDENTITIES: [&str; 6] = [
    "tenant=a",
    "tenant=b",
    "ip=10.1.2.3",
    "ip=10.1.0.0/16",
    "ip=10.0.0.0/8",
    "ip=0.0.0.0/0",
];

fn wish() -> impl Strategy<Value = Wish> {
    let contract = proptest::sample::select(vec![None, Some("following"), Some("alone")]);
    let identity = proptest::sample::select(&IDENTITIES[..]);
    let times = (option::of(0_u64..20), option::of(1_u64..20));
    (identity, contract, 1_u64..=4, times, option::of(1_u64..=4)).prop_map(
        |(identity, contract, plan, (from, length), then)| Wish {
            identity,
            contract,
            plan,
            from,
            length,
            then,
        },
    )
}

/// The limit of the key (tenant `a`, address 10.1.2.3) at a second.
fn by_hand(wishes: &[Wish], contract: &str, second: u64) -> u64 {
    for identity in [
        "tenant=a",
        "ip=10.1.2.3",
        "ip=10.1.0.0/16",
        "ip=10.0.0.0/8",
        "ip=0.0.0.0/0",
    ] {
        for only in [Some(contract), None] {
            if only.is_none() && contract == "alone" {
                continue;
            }
            let mut of_it = wishes
                .iter()
                .filter(|wish| wish.identity == identity && wish.contract == only);
            if let Some(plan) = of_it.find_map(|wish| wish.plan_at(second)) {
                // A contract's own policies apply under every plan.
                return if contract == "alone" { 1 } else { plan };
            }
        }
    }
    1
}

fn limit(ruling: &KeyRuling) -> u64 {
    let terms = ruling.terms.as_ref();
    terms.map_or(1, |terms| terms.policies[0].policy.config().limit)
}

proptest! {
    #[test]
    fn the_ruling_is_the_one_by_hand_and_holds_as_long_as_it_says(wishes in vec(wish(), 0..8)) {
        let mut kept: Vec<(Wish, Assignment)> = Vec::new();
        for (id, wish) in wishes.into_iter().enumerate() {
            let written = wish.written(id);
            if !kept.iter().any(|(_, other)| other.overlaps(&written)) {
                kept.push((wish, written));
            }
        }
        let (wishes, assignments): (Vec<Wish>, Vec<Assignment>) = kept.into_iter().unzip();
        let all = catalogue();
        for id in ["following", "alone"] {
            let contract = all.contract(id).unwrap();
            let at_second = |second| all.ruling(contract, &["a", "10.1.2.3"], &assignments, at(second));
            for second in 0..45 {
                let ruling = at_second(second);
                prop_assert_eq!(&ruling.failed, &None);
                prop_assert_eq!(limit(&ruling), by_hand(&wishes, id, second), "{} at {}", id, second);
                let until = ruling.until.map_or(45, |until| until.as_nanos() / SECOND);
                prop_assert!(until > second);
                prop_assert_eq!(&at_second(until.min(45) - 1).terms, &ruling.terms);
            }
        }
    }
}

#[test]
fn an_assignment_that_makes_no_sense_any_more_leaves_the_contract_as_it_is() {
    let all = catalogue();
    let gone = Assignment::read("{ identity: tenant=a, plan: gone }").unwrap();
    let contract = all.contract("following").unwrap();
    let ruling = all.ruling(contract, &["a", "10.1.2.3"], &[gone], at(1));
    assert_eq!(ruling.terms, None);
    assert_eq!(ruling.by.as_deref(), Some("tenant=a"));
    assert!(ruling.failed.unwrap().contains("unknown plan `gone`"));
}
