//! Random faults: whatever happens, what leaves would have left one bucket.

use proptest::prelude::*;
use tollgate_limit::Span;
use tollgate_sim::Conditions;
use tollgate_split::{AdaptorConfig, Borrow, Depths, SplitConfig};

use super::world::{CampaignEvent, Dice, MS, Plan, SECOND, World, gap_around};
use crate::dice::seeds;

fn plan(seed: u64) -> Plan {
    let mut dice = Dice::new(seed ^ 0x51f7);
    let nodes = 1 + dice.below(6) as u16;
    let burst = u64::from(nodes) * 3 + dice.below(40);
    let mut plan = Plan::new(nodes, 50 + dice.below(1_000), burst);
    plan.seed = seed;
    let delay = dice.below(2 * MS);
    plan.links = Conditions::between(delay, delay + dice.below(40 * MS));
    plan.links.loss = dice.below(40) as u32 * 10_000;
    plan.links.copies = dice.below(40) as u32 * 10_000;
    plan.links.late = dice.below(20) as u32 * 10_000;
    plan.links.late_max = 2 * SECOND;
    plan.drift_ppm = if dice.chance(50, 100) { 0 } else { 1_000 };
    plan.jitter = if dice.chance(50, 100) { 0 } else { 5 * MS };
    plan.config = SplitConfig {
        borrow: if dice.chance(90, 100) {
            Borrow::Always
        } else {
            Borrow::Near
        },
        low_milli: dice.below(3_000) as u32,
        term: Span::from_nanos(u128::from(50 * MS + dice.below(400 * MS))),
        patience: Span::from_nanos(u128::from(5 * MS + dice.below(40 * MS))),
        probe: Span::from_nanos(u128::from(50 * MS + dice.below(300 * MS))),
        drift_ppm: plan.drift_ppm as u32,
        cost_max: 1 + dice.below(3) as u32,
        ..SplitConfig::default()
    };
    if dice.chance(40, 100) {
        plan.config.hire = Some(AdaptorConfig {
            period: Span::from_nanos(u128::from(10 * MS)),
            ..AdaptorConfig::default()
        });
    }
    if dice.chance(60, 100) {
        plan.adaptor = Some(AdaptorConfig {
            depths: if dice.chance(50, 100) {
                Depths::Backlog
            } else {
                Depths::Rate
            },
            floor_messages: plan.config.cost_max,
            ..AdaptorConfig::default()
        });
    }
    plan
}

/// Loads a world and breaks it, as a seed says.
fn load(world: &mut World, plan: &Plan, end: u64) {
    let mut dice = Dice::new(plan.seed ^ 0xfa17);
    if dice.chance(50, 100) {
        tides(world, plan, end);
    } else {
        crowd(world, plan, end);
    }
    for _ in 0..dice.below(5) {
        let node = dice.below(u64::from(plan.nodes)) as u16;
        let down = dice.below(end);
        world.at(down, CampaignEvent::Crash(node));
        world.at(down + dice.below(300 * MS), CampaignEvent::Start(node));
    }
    if plan.adaptor.is_some() && dice.chance(50, 100) {
        let down = dice.below(end);
        world.at(down, CampaignEvent::CrashAdaptor);
        world.at(down + dice.below(400 * MS), CampaignEvent::StartAdaptor);
    }
}

/// Buckets fill up; one node is asked for more than it has, so that gifts are on their way; then all are emptied at
/// once.
fn tides(world: &mut World, plan: &Plan, end: u64) {
    let mut dice = Dice::new(plan.seed ^ 0x71de);
    let lasts = SECOND * plan.burst / plan.messages;
    let depth = plan.burst / u64::from(plan.nodes) + 1;
    let mut truth = lasts / 2;
    while truth < end {
        let node = dice.below(u64::from(plan.nodes)) as u16;
        for _ in 0..depth + 2 {
            world.at(truth, CampaignEvent::Arrive(node, 1));
        }
        truth += dice.below(2 * lasts + 50 * MS);
        for node in 0..plan.nodes {
            for _ in 0..2 * depth {
                world.at(truth + dice.below(MS), CampaignEvent::Arrive(node, 1));
            }
        }
        truth += 2 * lasts + dice.below(2 * lasts);
    }
}

/// More than the bucket gives, mostly at one node.
fn crowd(world: &mut World, plan: &Plan, end: u64) {
    let mut dice = Dice::new(plan.seed ^ 0xc0de);
    let mut truth = 0;
    let gap = SECOND / plan.messages;
    let mut favourite = 0;
    loop {
        truth += gap_around(&mut dice, gap * 3 / 4);
        if truth >= end {
            break;
        }
        if dice.chance(2, 100) {
            favourite = dice.below(u64::from(plan.nodes)) as u16;
        }
        let any = dice.below(u64::from(plan.nodes)) as u16;
        let node = if dice.chance(50, 100) { favourite } else { any };
        let cost = 1 + dice.below(u64::from(plan.config.cost_max)) as u32;
        let count = if dice.chance(5, 100) {
            plan.burst / 2
        } else {
            1
        };
        for _ in 0..count {
            world.at(truth, CampaignEvent::Arrive(node, cost));
        }
    }
}

/// The same, where messages are told at once when they go.
fn promising(seed: u64) -> Plan {
    let mut dice = Dice::new(seed ^ 0x9e0f);
    let mut plan = plan(seed);
    // Little time on the way and no loss, so that much is lent to those who promised much.
    if dice.chance(70, 100) {
        plan.nodes = 2 + dice.below(4) as u16;
        plan.burst = u64::from(plan.nodes * 3) + dice.below(9);
        let delay = dice.below(MS);
        plan.links = Conditions::between(delay, delay + dice.below(MS));
    }
    if dice.chance(60, 100) {
        plan.config.hire = Some(AdaptorConfig {
            window: Span::from_nanos(u128::from(20 * MS + dice.below(200 * MS))),
            period: Span::from_nanos(u128::from(5 * MS + dice.below(15 * MS))),
            floor_milli: dice.below(100) as u32,
            ..AdaptorConfig::default()
        });
    }
    Plan {
        adaptor: None,
        promises: Some(dice.below(600 * MS)),
        regrets: dice.below(60),
        ..plan
    }
}

/// How often a part of the bucket was asked for.
fn survives(plan: &Plan) -> u64 {
    let seed = plan.seed;
    let mut world = World::new(plan);
    let end = 3 * SECOND;
    load(&mut world, plan, end);
    for step in 1..=30 {
        world.run_until(end / 30 * step);
        let used = world.used();
        assert!(used.is_within(world.whole()), "seed {seed}: {used:?}");
        assert!(world.has_room(), "seed {seed}");
    }
    world.judge();
    let hires = |id| {
        world
            .running(id)
            .map_or(0, |machine| machine.counts().hires)
    };
    (0..plan.nodes).map(hires).sum()
}

#[test]
fn whatever_breaks_one_bucket_would_have_let_it_go() {
    for seed in seeds(60) {
        survives(&plan(seed));
    }
}

#[test]
fn what_was_promised_one_bucket_would_have_let_go() {
    let hires: u64 = seeds(120).map(|seed| survives(&promising(seed))).sum();
    assert!(hires > 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn any_schedule_conforms(seed in any::<u64>()) {
        survives(&plan(seed));
        survives(&promising(seed));
    }

    #[test]
    fn bent_frames_are_refused_or_harmless_to_the_reader(
        seed in any::<u64>(), bends in prop::collection::vec((any::<u16>(), any::<u8>()), 1..6),
    ) {
        let mut plan = plan(seed);
        plan.links.loss = 0;
        let mut world = World::new(&plan);
        load(&mut world, &plan, SECOND / 2);
        world.run_until(SECOND / 4);
        let whole = world.whole();
        for (id, (place, byte)) in (0..plan.nodes).cycle().zip(bends) {
            let (now, adaptor) = (world.local(id), world.adaptor());
            let Some(machine) = world.running(id) else { continue };
            for kind in 0..9 {
                let mut frame = vec![0x10, 1, kind, 1, 1, 40, 40, 40, 40, 40];
                let place = usize::from(place) % frame.len();
                frame[place] ^= byte;
                let _ = machine.handle_frame(tollgate_gossip::NodeId(place as u16 % plan.nodes), &frame, now);
                let _ = machine.handle_frame(adaptor, &frame, now);
            }
            let seen = machine.inspect(now);
            prop_assert!(seen.share.is_within(whole));
            prop_assert!(seen.tokens + seen.held + seen.reserved <= seen.share.depth);
        }
    }
}
