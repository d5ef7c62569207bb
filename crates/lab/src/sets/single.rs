//! Sets of one user.
//!
//! Not here: sets of many.

use tollgate_gossip::ModeKey;

use super::draw::Draw;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;

pub(super) fn extreme(draw: &mut Draw) {
    minute(draw, 2_150);
}

pub(super) fn substantial(draw: &mut Draw) {
    minute(draw, 320);
}

pub(super) fn barely(draw: &mut Draw) {
    minute(draw, 110);
}

/// That many hundredths of the burst within a minute.
fn minute(draw: &mut Draw, hundredths: u64) {
    let key = draw.user();
    let count = draw.hundredths(hundredths);
    draw.scatter(key, count, 0..MINUTE);
}

/// Three in a hundred slower than the refill.
pub(super) fn calm(draw: &mut Draw) {
    let key = draw.user();
    let every = draw.regain_ms(103).max(1);
    let for_ms = 2 * MINUTE;
    regular(draw, key, every, for_ms);
}

/// One request every 0.9 s where one token a second comes back.
pub(super) fn above(draw: &mut Draw) {
    let key = draw.user();
    let every = draw.regain_ms(90).max(1);
    let for_ms = 100 * SECOND;
    regular(draw, key, every, for_ms);
}

/// A fixed rate in hundredths of the refill, until well after the bucket ran out.
pub(super) fn drip(draw: &mut Draw, hundredths: u64) {
    let key = draw.user();
    let every = draw.regain_ms(100 * 100 / hundredths).max(1);
    let full = draw.regain_ms(draw.hundredths(100).saturating_mul(100));
    let for_ms = full.saturating_mul(160) / hundredths.saturating_sub(100).max(1);
    regular(draw, key, every, for_ms);
}

/// Ten times the refill for five minutes.
pub(super) fn steady(draw: &mut Draw) {
    let key = draw.user();
    let every = draw.regain_ms(10).max(1);
    regular(draw, key, every, 5 * MINUTE);
}

/// Three lone requests let a bucket that adds up its refills grow without end; the burst then shows it.
pub(super) fn idle(draw: &mut Draw) {
    let key = draw.user();
    for turn in 0..3 {
        draw.one(key, turn * 1_000 * SECOND);
    }
    let count = draw.hundredths(500);
    draw.scatter(key, count, 3_000 * SECOND..3_000 * SECOND + 10 * SECOND);
}

/// Twenty quiet seconds, fifteen in which a crowd gathers, twenty-five in which it goes.
pub(super) fn mob(draw: &mut Draw) {
    let key = draw.user();
    let (calm, rise, fall) = (20 * SECOND, 15 * SECOND, 25 * SECOND);
    let quiet = draw.hundredths(3).max(1);
    draw.scatter(key, quiet, 0..calm);
    // The later of two instants is drawn as often as a rate that rises in a straight line says, and the earlier falls.
    for _ in 0..draw.hundredths(237) {
        let at = draw.dice.below(rise).max(draw.dice.below(rise));
        draw.one(key, calm + at);
    }
    for _ in 0..draw.hundredths(396) {
        let at = draw.dice.below(fall).min(draw.dice.below(fall));
        draw.one(key, calm + rise + at);
    }
}

/// Half of the nodes see their share of the refill, which tells them nothing is wrong, and the others twice that.
pub(super) fn split(draw: &mut Draw) {
    let key = draw.user();
    let quiet = 1_000 * SECOND;
    for node in 0..draw.nodes {
        let shares = if node < draw.nodes / 2 { 1 } else { 2 };
        let every = (draw.regain_ms(100) * u64::from(draw.nodes) / shares).max(1);
        let mut at = draw.dice.below(every);
        while at < quiet {
            draw.one_at(key, at, node);
            at += every;
        }
    }
    let count = draw.hundredths(300);
    draw.scatter(key, count, quiet..quiet + 20 * SECOND);
}

/// A request, and the next after a fixed time.
fn regular(draw: &mut Draw, key: ModeKey, every: u64, for_ms: u64) {
    let mut at = 0;
    while at < for_ms {
        draw.one(key, at);
        at += every;
    }
}
