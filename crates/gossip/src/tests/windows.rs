//! Windows that many nodes count, against one counter.

use super::*;
use crate::slices::Windows;
use crate::window::{Shape, Window};

impl Clone for Windows {
    fn clone(&self) -> Self {
        Self {
            window: self.window.clone(),
            ..*self
        }
    }
}

/// What was admitted, token by token.
struct Counter {
    shape: u64,
    limit: u64,
    admitted: Vec<u64>,
}

const PERIOD: u64 = 12 * SECOND;
const SLICES: u64 = 4;

impl Counter {
    fn has_room(&self, now: u64) -> bool {
        let within = |from: u64| self.admitted.iter().filter(|at| **at >= from).count() as u64;
        let start = now / PERIOD * PERIOD;
        match self.shape {
            0 => within(start) < self.limit,
            1 => {
                let slice = PERIOD / SLICES;
                within((now / slice + 1 - SLICES) * slice) < self.limit
            }
            _ => {
                let (current, both) = (within(start), within(start - PERIOD));
                let left = u128::from(PERIOD - (now - start));
                let weighted = u128::from(both - current) * left;
                let all = weighted + u128::from(current + 1) * u128::from(PERIOD);
                all <= u128::from(self.limit) * u128::from(PERIOD)
            }
        }
    }
}

fn law(shape: u64, limit: u64) -> Windows {
    let period = Span::from_nanos(u128::from(PERIOD));
    let offset = Span::ZERO;
    let slices = u32::try_from(SLICES).unwrap();
    let shape = match shape {
        0 => Shape::Fixed { period, offset },
        1 => Shape::Counters { period, slices },
        _ => Shape::Weighted { period },
    };
    Windows {
        window: Window::new(limit, shape).unwrap(),
        sigma: Ratio::new(1, 1),
        grace: span(3_000),
        nodes: 1,
    }
}

#[test]
fn instant_news_decide_as_one_counter_for_any_routing() {
    for seed in 0..240 {
        let mut dice = Dice::new(seed);
        let (shape, limit) = (seed % 3, 1 + dice.below(40));
        let nodes = 1 + any(&mut dice, 6);
        let mut world = LinkWorld::new(law(shape, limit), Make::calm(nodes));
        let admitted = Vec::new();
        let mut counter = Counter {
            shape,
            limit,
            admitted,
        };
        let gap_max = [SECOND / 20, SECOND / 2, 3 * SECOND][dice.place(3)];
        for step in 0..300 {
            world.run(world.now() + dice.below(gap_max));
            let now = world.now();
            let has_room = counter.has_room(now);
            let is_admitted = world.request(any(&mut dice, nodes), ModeKey(3), 1);
            world.run(now);
            assert_eq!(is_admitted, has_room, "seed {seed}, step {step}");
            if is_admitted {
                counter.admitted.push(now);
            }
        }
    }
}

#[test]
fn nothing_is_refused_through_loss_that_one_counter_would_admit() {
    for seed in 0..240 {
        let mut dice = Dice::new(seed);
        let (shape, limit) = (seed % 3, 1 + dice.below(40));
        let make = Make {
            weather: Conditions {
                loss: 200_000,
                copies: 200_000,
                ..Conditions::between(MS, 120 * MS)
            },
            seed,
            ..Make::calm(2 + any(&mut dice, 5))
        };
        let mut world = LinkWorld::new(law(shape, limit), make);
        let admitted = Vec::new();
        let mut counter = Counter {
            shape,
            limit,
            admitted,
        };
        for step in 0..300 {
            world.run(world.now() + dice.below(SECOND / 2));
            let now = world.now();
            if world.request(any(&mut dice, make.nodes), ModeKey(3), 1) {
                counter.admitted.push(now);
            } else {
                assert!(!counter.has_room(now), "seed {seed}, step {step}");
            }
        }
    }
}

#[test]
fn slices_that_are_over_are_forgotten() {
    for shape in 0..3 {
        let mut world = LinkWorld::new(law(shape, 20), Make::calm(3));
        for step in 0..60 {
            world.run_for(300);
            let _ = world.request(step % 3, ModeKey(1), 1);
        }
        world.run_for(3 * PERIOD / MS);
        for node in world.nodes.iter().flatten() {
            assert_eq!(node.bytes(), 0, "{shape}");
            assert_eq!(node.poll_timeout(), None, "{shape}");
        }
    }
}

#[test]
fn a_calm_key_of_a_window_takes_24_bytes() {
    assert_eq!(size_of::<<Windows as Law>::Cell>(), 24);
}
