//! Scenes with names: what borrowing and adapting are for, and what crashes cost.

use tollgate_limit::Span;
use tollgate_sim::Conditions;
use tollgate_split::{AdaptorConfig, Borrow, Share, SplitConfig};

use super::world::{CampaignEvent, MS, Plan, SECOND, World};

/// Streams without memory at every node, 10,000 a second together.
fn even(plan: &Plan, seconds: u64) -> World {
    let mut world = World::new(plan);
    let gap = SECOND * u64::from(plan.nodes) / 10_000;
    for node in 0..plan.nodes {
        world.stream(node, gap, 0, seconds * SECOND);
    }
    world.run_until((seconds + 1) * SECOND);
    world
}

fn static_split() -> SplitConfig {
    SplitConfig {
        borrow: Borrow::Off,
        drift_ppm: 0,
        ..SplitConfig::default()
    }
}

#[test]
fn a_cut_bucket_makes_messages_wait_and_borrowing_mends_it() {
    let mut plan = Plan::new(6, 11_000, 25);
    let borrowed = even(&plan, 3);
    plan.config = static_split();
    let cut = even(&plan, 3);
    cut.judge_long();
    let (cut, borrowed) = (cut.percentile(990, 0), borrowed.percentile(990, 0));
    // The document's theory says 11.4 ms for the cut.
    assert!(cut > 8 * MS, "{cut}");
    assert!(borrowed < cut / 4, "{borrowed} of {cut}");
}

#[test]
fn a_promise_waits_little_longer_than_a_message_in_a_queue() {
    let mut plan = Plan::new(4, 11_000, 25);
    plan.config.low_milli = 1_000;
    let queued = even(&plan, 3);
    plan.promises = Some(SECOND);
    let promised = even(&plan, 3);
    promised.judge_long();
    plan.config = static_split();
    let cut = even(&plan, 3);
    plan.promises = None;
    let cut_queued = even(&plan, 3);
    let p99 = |world: &World| world.percentile(990, 0);
    let waits = [&cut, &cut_queued, &promised, &queued].map(p99);
    // Without borrowing it is the same, but for nanoseconds that each promise is rounded up by.
    assert!(waits[0].abs_diff(waits[1]) < 1_000, "{waits:?}");
    assert!(waits[2] < waits[0] / 4, "{waits:?}");
    assert!(waits[2] < waits[3] * 2, "{waits:?}");
}

#[test]
fn one_node_that_asks_for_all_gets_nearly_all() {
    let mut plan = Plan::new(4, 1_000, 40);
    plan.adaptor = Some(AdaptorConfig::default());
    let mut world = World::new(&plan);
    world.stream(0, SECOND / 900, 0, 3 * SECOND);
    world.run_until(3 * SECOND);
    world.judge();
    assert!(world.percentile(500, 2 * SECOND) < 20 * MS);
    let used = world.used();
    assert!(used.rate > world.whole().rate * 99 / 100);
}

#[test]
fn a_saturated_topic_uses_its_bucket_to_the_last_token() {
    let mut plan = Plan::new(3, 500, 20);
    plan.config = static_split();
    let mut world = World::new(&plan);
    for node in 0..3 {
        world.stream(node, SECOND / 400, 0, 2 * SECOND);
    }
    world.run_until(2 * SECOND);
    world.judge();
    let mut less = world.ghost();
    less.burst -= 2;
    assert!(less.violation(&world.departures, 0).is_some());
}

#[test]
fn a_peer_that_is_too_far_is_hardly_asked() {
    let mut plan = Plan::new(2, 1_000, 4);
    // A full bucket lasts 4 ms.
    plan.links = Conditions::between(10 * MS, 10 * MS);
    let mut world = World::new(&plan);
    world.stream(0, SECOND / 490, 0, 5 * SECOND);
    world.run_until(5 * SECOND);
    let asks = world.machine(0).counts().asks;
    assert!((1..=12).contains(&asks), "{asks}");
    plan.config.borrow = Borrow::Always;
    let mut world = World::new(&plan);
    world.stream(0, SECOND / 490, 0, 5 * SECOND);
    world.run_until(5 * SECOND);
    assert!(world.machine(0).counts().asks > 50);
}

#[test]
fn a_restarted_node_serves_at_once_and_is_whole_after_the_term() {
    let plan = Plan::new(3, 900, 30);
    let mut world = World::new(&plan);
    for node in 0..3 {
        world.stream(node, SECOND / 280, 0, 3 * SECOND);
    }
    world.at(SECOND, CampaignEvent::Crash(1));
    world.at(SECOND + MS, CampaignEvent::Start(1));
    world.run_until(SECOND + 100 * MS);
    let now = world.local(1);
    let machine = world.machine(1);
    assert!(machine.counts().arrived > 0);
    assert!(machine.inspect(now).waiting < 25);
    world.run_until(3 * SECOND);
    let now = world.local(1);
    let seen = world.machine(1).inspect(now);
    assert!(seen.held < seen.share.depth / 2);
    world.judge();
}

#[test]
fn a_node_that_died_keeps_its_share_and_the_others_go_on() {
    let mut plan = Plan::new(3, 900, 30);
    plan.adaptor = Some(AdaptorConfig::default());
    let mut world = World::new(&plan);
    world.at(SECOND, CampaignEvent::Crash(2));
    world.stream(0, SECOND / 500, 0, 4 * SECOND);
    world.stream(1, SECOND / 20, 0, 4 * SECOND);
    world.run_until(4 * SECOND);
    world.judge();
    assert!(world.percentile(500, 3 * SECOND) < 30 * MS);
}

#[test]
fn one_who_does_not_want_to_wait_any_more_is_not_served() {
    let mut plan = Plan::new(1, 10, 1);
    plan.config = SplitConfig {
        term: Span::from_nanos(u128::from(SECOND)),
        ..static_split()
    };
    let mut world = World::new(&plan);
    for _ in 0..3 {
        world.at(1, CampaignEvent::Arrive(0, 1));
    }
    world.run_until(MS);
    let now = world.local(0);
    let machine = world.machine(0);
    assert!(machine.handle_cancel(1, now));
    assert!(!machine.handle_cancel(1, now));
    world.run_until(SECOND);
    // The third had to wait a tenth of a second, as the second would have.
    assert_eq!(world.departures.len(), 2);
    assert!(world.percentile(1000, 0).abs_diff(100 * MS) <= 1);
}

/// 10,000 messages a second over four nodes; after two seconds the first gets two fifths of them. The 99th percentile
/// of the next ten seconds.
fn jump(config: SplitConfig, adaptor: AdaptorConfig) -> u64 {
    let mut plan = Plan::new(4, 11_000, 25);
    (plan.config, plan.adaptor) = (config, Some(adaptor));
    let mut world = World::new(&plan);
    for node in 0..4 {
        world.stream(node, SECOND / 2_500, 0, 2 * SECOND);
        let rate = if node == 0 { 4_000 } else { 2_000 };
        world.stream(node, SECOND / rate, 2 * SECOND, 12 * SECOND);
    }
    world.run_until(12 * SECOND);
    world.judge_long();
    world.percentile(990, 2 * SECOND)
}

#[test]
fn six_parts_that_borrow_are_within_the_bars() {
    let shallow = even(&Plan::new(6, 11_000, 25), 4);
    shallow.judge_long();
    assert!(shallow.percentile(990, 0) <= 2_500_000);
    let deep = even(&Plan::new(6, 11_000, 100), 4);
    deep.judge_long();
    assert!(deep.percentile(990, 0) <= MS / 10);
    assert!(deep.frames() * 100 <= deep.departures.len() as u64 * 3);
}

#[test]
fn traffic_that_moves_is_followed_within_the_bars() {
    let borrow = SplitConfig {
        drift_ppm: 0,
        ..SplitConfig::default()
    };
    let ours = jump(borrow, AdaptorConfig::default());
    assert!(ours <= 2 * MS, "{ours}");
    let alone = jump(static_split(), AdaptorConfig::default());
    assert!(alone <= 50 * MS, "{alone}");
    let printed = jump(static_split(), AdaptorConfig::printed());
    assert!(printed > 10 * alone, "{printed}");
}

/// The same, where messages are promised and parts are hired; the first gets so many hundredths.
fn promised_jump(percent: u64, config: &SplitConfig, hire: Option<AdaptorConfig>) -> u64 {
    let mut plan = Plan::new(4, 11_000, 25);
    plan.config = SplitConfig {
        hire,
        ..config.clone()
    };
    plan.promises = Some(30 * SECOND);
    let mut world = World::new(&plan);
    for node in 0..4 {
        world.stream(node, SECOND / 2_500, 0, 2 * SECOND);
        let part = if node == 0 {
            percent
        } else {
            (100 - percent) / 3
        };
        world.stream(node, SECOND / (part * 100), 2 * SECOND, 12 * SECOND);
    }
    world.run_until(12 * SECOND);
    world.judge_long();
    world.percentile(990, 2 * SECOND)
}

#[test]
fn promises_follow_traffic_that_moves_by_hiring() {
    let borrow = SplitConfig {
        drift_ppm: 0,
        low_milli: 1_000,
        ..SplitConfig::default()
    };
    let ours = || Some(AdaptorConfig::default());
    let both = promised_jump(40, &borrow, ours());
    assert!(both <= 2 * MS, "{both}");
    let alone = promised_jump(40, &static_split(), ours());
    assert!(alone <= 50 * MS, "{alone}");
    let printed = promised_jump(40, &static_split(), Some(AdaptorConfig::printed()));
    assert!(printed > 10 * alone, "{printed}");
    let far = promised_jump(70, &borrow, ours());
    assert!(far * 10 < promised_jump(70, &borrow, None), "{far}");
    // Where nothing moves it costs nothing.
    let even = promised_jump(25, &borrow, None);
    let same = promised_jump(25, &borrow, ours());
    assert!(same < even * 5 / 4, "{same} of {even}");
}

#[test]
fn hired_parts_go_back_by_themselves() {
    let mut plan = Plan::new(3, 900, 90);
    plan.config.hire = Some(AdaptorConfig::default());
    plan.promises = Some(SECOND);
    let mut world = World::new(&plan);
    world.stream(0, SECOND / 850, 0, 2 * SECOND);
    world.run_until(2 * SECOND);
    let now = world.local(0);
    let seen = world.machine(0).inspect(now);
    assert!(seen.share.rate > world.whole().rate * 9 / 10, "{seen:?}");
    assert!(seen.hired.depth > 0 && seen.lets == Share::NONE);
    // Whoever hired is gone, and says nothing any more.
    world.at(2 * SECOND, CampaignEvent::Crash(0));
    world.run_until(2 * SECOND + 600 * MS);
    for id in [1, 2] {
        let now = world.local(id);
        let machine = world.machine(id);
        let seen = machine.inspect(now);
        assert_eq!(
            (seen.lets, seen.share.rate),
            (Share::NONE, world.whole().rate / 3)
        );
    }
    world.judge();
}

#[test]
fn a_giver_that_crashed_does_not_fill_the_room_of_its_gift() {
    let mut plan = Plan::new(2, 1_000, 20);
    plan.links = Conditions::between(100 * MS, 100 * MS);
    plan.config.borrow = Borrow::Always;
    let mut world = World::new(&plan);
    // The first asks; the second gives, crashes and comes back, with time enough to fill up; then both are emptied.
    for _ in 0..12 {
        world.at(SECOND, CampaignEvent::Arrive(0, 1));
    }
    world.at(SECOND + 105 * MS, CampaignEvent::Crash(1));
    world.at(SECOND + 106 * MS, CampaignEvent::Start(1));
    for node in [0, 1] {
        for _ in 0..20 {
            world.at(SECOND + 199 * MS, CampaignEvent::Arrive(node, 1));
        }
    }
    world.run_until(2 * SECOND);
    let counts = world.machine(0).counts();
    assert!(counts.hits >= 1 && counts.borrowed > 0);
    world.judge();
}
