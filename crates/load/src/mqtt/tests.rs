//! When publishers publish, and where they connect; without sockets.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate_mqtt::{Qos, Version};

use super::agenda::{Agenda, Due};
use super::*;
use crate::plan::Arrivals;

pub(super) fn plan() -> MqttPlan {
    MqttPlan {
        targets: vec!["127.0.0.1:1".parse().unwrap(); 3],
        assign: Assign::Spread,
        watch: SubscriberPlan {
            at: Vec::new(),
            subscribers: 1,
            qos: Qos::AtMostOnce,
        },
        publishers: 10,
        idle: 0,
        pace: MqttPace::Open {
            rate: 100.0,
            arrivals: Arrivals::Poisson,
        },
        groups: Groups {
            size: 1,
            batch: 1,
            spread: Duration::ZERO,
        },
        messages: Messages {
            qos: Qos::AtMostOnce,
            size: SIZE_MIN,
            topic: TopicTemplate::new("t/%p").unwrap(),
            group_property: None,
        },
        login: Login {
            version: Version::V5,
            user: None,
            password: None,
            prefix: String::new(),
            keep_alive: 60,
        },
        in_flight: 20,
        threads: 1,
        timing: Timing {
            warm_up: Duration::ZERO,
            duration: Duration::from_secs(1),
            patience: Duration::ZERO,
        },
        seed: 7,
    }
}

/// All that is due in the first second, in the order it is returned.
fn first_second(plan: &MqttPlan, at: u32, of: u32) -> Vec<Due> {
    let mut agenda = Agenda::new(plan, at, of);
    let mut due = Vec::new();
    while agenda.next().is_some_and(|at| at < 1_000_000_000) {
        agenda.take(&mut due);
    }
    due
}

#[test]
fn as_many_are_due_as_the_rate_says_in_order() {
    for arrivals in [Arrivals::Poisson, Arrivals::Even] {
        let mut plan = plan();
        let rate = 1000.0;
        plan.pace = MqttPace::Open { rate, arrivals };
        plan.groups.batch = 5;
        let due = first_second(&plan, 0, 1);
        assert!(due.windows(2).all(|pair| pair[0].at <= pair[1].at));
        assert!(due.iter().all(|due| due.count == 5));
        let messages: u32 = due.iter().map(|due| due.count).sum();
        let expected = match arrivals {
            Arrivals::Even => 9_900..=10_100,
            Arrivals::Poisson => 9_000..=11_000,
        };
        assert!(expected.contains(&messages), "{arrivals:?}: {messages}");
    }
}

#[test]
fn groups_publish_at_the_same_time() {
    let mut plan = plan();
    plan.groups.size = 4;
    let due = first_second(&plan, 0, 1);
    let instants: BTreeSet<(u64, u32)> =
        due.iter().map(|due| (due.at, due.publisher / 4)).collect();
    for (at, group) in instants {
        let together = due.iter().filter(|due| due.at == at);
        let publishers: Vec<u32> = together.map(|due| due.publisher).collect();
        let members: Vec<u32> = (group * 4..(group * 4 + 4).min(10)).collect();
        assert_eq!(publishers, members);
    }
}

#[test]
fn what_is_spread_stays_within_the_spread() {
    let mut plan = plan();
    let rate = 1.0;
    plan.pace = MqttPace::Open {
        rate,
        arrivals: Arrivals::Even,
    };
    (plan.groups.size, plan.publishers, plan.groups.batch) = (100, 100, 1);
    let at_once = first_second(&plan, 0, 1);
    plan.groups.spread = Duration::from_millis(50);
    let mut agenda = Agenda::new(&plan, 0, 1);
    let mut spread = Vec::new();
    while spread.len() < 100 {
        agenda.take(&mut spread);
    }
    let event = at_once[0].at;
    assert!(spread.windows(2).all(|pair| pair[0].at <= pair[1].at));
    let (first, last) = (spread[0].at - event, spread[99].at - event);
    assert!(first < 5_000_000 && last > 40_000_000 && last < 50_000_000);
}

#[test]
fn times_follow_from_the_seed_whatever_the_threads() {
    let mut plan = plan();
    plan.groups.size = 3;
    let mut alone = first_second(&plan, 0, 1);
    let mut shared = first_second(&plan, 0, 2);
    shared.extend(first_second(&plan, 1, 2));
    let order = |due: &Due| (due.at, due.publisher);
    alone.sort_by_key(order);
    shared.sort_by_key(order);
    assert_eq!(alone, shared);
    plan.seed += 1;
    assert_ne!(first_second(&plan, 0, 1), alone);
}

#[test]
fn groups_stay_together_where_they_are_assigned_by_group() {
    let mut plan = plan();
    plan.groups.size = 4;
    let targets = |plan: &MqttPlan| {
        (0..10)
            .map(|number| plan.target(number))
            .collect::<Vec<_>>()
    };
    assert_eq!(targets(&plan), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
    plan.assign = Assign::Groups;
    assert_eq!(targets(&plan), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
}

#[test]
fn the_blind_are_as_many_everywhere_but_not_those_of_a_group() {
    let mut plan = plan();
    plan.publishers = 300;
    plan.groups.size = 30;
    plan.assign = Assign::Blind;
    let at = |target: usize, of: std::ops::Range<u32>| {
        of.filter(|number| plan.target(*number) == target).count()
    };
    for target in 0..3 {
        assert_eq!(at(target, 0..300), 100);
    }
    let uneven = (0..10).filter(|group| at(0, group * 30..(group + 1) * 30) != 10);
    assert!(uneven.count() > 3);
}

#[test]
fn plans_that_cannot_be_are_refused_with_advice() {
    let refusal = |change: fn(&mut MqttPlan)| {
        let mut plan = plan();
        change(&mut plan);
        run_mqtt(&plan, |_| {}).unwrap_err().to_string()
    };
    assert!(refusal(|plan| plan.targets.clear()).contains("--target"));
    assert!(refusal(|plan| plan.publishers = 0).contains("--publishers"));
    assert!(refusal(|plan| plan.messages.size = 31).contains("32"));
    assert!(refusal(|plan| plan.pace = MqttPace::Closed).contains("--qos 1"));
    assert!(refusal(|plan| plan.targets = vec!["unix:/x".parse().unwrap()]).contains("host:port"));
    let old = |plan: &mut MqttPlan| {
        plan.login.version = Version::V311;
        plan.messages.group_property = Some("g".to_owned());
    };
    assert!(refusal(old).contains("--version 5"));
}
