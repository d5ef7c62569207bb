//! Sets of several users.
//!
//! Not here: sets of one.

use super::draw::Draw;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// Hundredths of the burst that each of the ten users sends: 68.3 bursts in all, and each more than its bucket gives.
const TEN: [u64; 10] = [2_200, 1_200, 900, 700, 500, 400, 300, 260, 200, 170];

/// Users of the crowd.
const CROWD: u64 = 5_000;
/// Of these, limited.
const CROWD_LIMITED: u64 = 15;

pub(super) fn ten(draw: &mut Draw) {
    for hundredths in TEN {
        let key = draw.user();
        let count = draw.hundredths(hundredths);
        draw.scatter(key, count, 0..5 * MINUTE);
    }
}

/// Two users, each eight bursts in half a minute, the second half as long later.
pub(super) fn two(draw: &mut Draw) {
    for from_ms in [0, 15 * SECOND] {
        let key = draw.user();
        let count = draw.hundredths(800);
        draw.scatter(key, count, from_ms..from_ms + 30 * SECOND);
    }
}

/// Most users send a few requests, some many, and three in a thousand too many. Each comes at some time and stays a
/// while.
pub(super) fn crowd(draw: &mut Draw) {
    for user in 0..CROWD {
        let key = draw.user();
        let is_limited = user < CROWD_LIMITED;
        let (count, stay) = if is_limited {
            let bursts = 200 + draw.dice.below(600);
            (
                draw.hundredths(bursts),
                MINUTE + draw.dice.below(9 * MINUTE),
            )
        } else {
            (few(draw), MINUTE + draw.dice.below(29 * MINUTE))
        };
        let from_ms = draw.dice.below(HOUR - stay);
        draw.scatter(key, count, from_ms..from_ms + stay);
    }
}

/// A count whose logarithm is about normal: median six, mean fifteen, never enough to be limited.
fn few(draw: &mut Draw) -> u64 {
    const ONE: i64 = 1 << 16;
    const MIDDLE: u64 = 6;
    // Twelve dice make a bell of standard deviation one; 1.95 of it doubles or halves the count.
    let bell: i64 = (0..12)
        .map(|_| draw.dice.below(1 << 16).cast_signed())
        .sum();
    let doublings = (bell - 6 * ONE) * 195 / 100;
    let whole = doublings.div_euclid(ONE);
    let part = doublings.rem_euclid(ONE).unsigned_abs();
    let scaled = MIDDLE * ((1 << 16) + part);
    let count = if whole >= 0 {
        scaled << whole.min(20)
    } else {
        scaled >> whole.abs().min(40)
    };
    (count >> 16).clamp(1, draw.hundredths(80).max(1))
}
