//! Whole numbers cut by weights, so that the parts add up: largest remainders, floors, and filling up to capacities.
//!
//! Not here: what is cut.

/// `total` by `weights`, each part at least `floor` where there is enough for all of them; equal parts where no weight
/// is above zero. The sum is exactly `total`, unless there are no parts.
pub fn portions(total: u128, weights: &[u64], floor: u128) -> Vec<u128> {
    let count = weights.len() as u128;
    if count == 0 {
        return Vec::new();
    }
    let floor = floor.min(total / count);
    let mut parts = by_weight(total, weights);
    // Whoever is below the floor gets it; the others share what is left, and some may fall below it in turn.
    let mut is_low = vec![false; weights.len()];
    while let Some(more) = newly_low(&parts, &is_low, floor) {
        is_low = more;
        let lows = is_low.iter().filter(|low| **low).count() as u128;
        let rest: Vec<u64> = masked(weights, &is_low);
        let others = by_weight_among(total - floor * lows, &rest, &is_low);
        parts = others;
        for (part, low) in parts.iter_mut().zip(&is_low) {
            if *low {
                *part = floor;
            }
        }
    }
    parts
}

/// How much each of some gets of `amount` so that the least is as large as can be and none has more than its capacity:
/// `min(capacity, level)`. The parts add up to `amount`, or to all capacities where that is less.
pub fn fill_up(amount: u64, capacities: &[u64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..capacities.len()).collect();
    order.sort_by_key(|place| (capacities.get(*place).copied(), *place));
    let mut parts = vec![0; capacities.len()];
    let mut left = amount;
    let mut others = order.len() as u64;
    for place in order {
        let capacity = capacities.get(place).copied().unwrap_or(0);
        // Rounded up for the last ones, so that nothing is left over.
        let level = left / others;
        let part = capacity.min(level);
        if let Some(slot) = parts.get_mut(place) {
            *slot = part;
        }
        left -= part;
        others -= 1;
    }
    parts
}

/// How much each of some gets of `amount` so that all stand as level as can be, where they begin at `loads`: those
/// below the level are filled up to it.
pub fn level_up(amount: u64, loads: &[u64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..loads.len()).collect();
    order.sort_by_key(|place| (loads.get(*place).copied(), *place));
    let load = |place: usize| u128::from(loads.get(place).copied().unwrap_or(0));
    let (mut sum, mut count) = (u128::from(amount), 0_usize);
    for place in &order {
        // The level of those so far is above the next one's load: it takes part.
        if count > 0 && sum <= load(*place) * count as u128 {
            break;
        }
        sum += load(*place);
        count += 1;
    }
    let mut parts = vec![0; loads.len()];
    let divisor = (count as u128).max(1);
    let (level, mut odd) = (sum / divisor, sum % divisor);
    for place in order.into_iter().take(count) {
        let extra = u128::from(odd > 0);
        odd -= extra;
        if let Some(slot) = parts.get_mut(place) {
            *slot = u64::try_from((level + extra).saturating_sub(load(place))).unwrap_or(u64::MAX);
        }
    }
    parts
}

/// Largest remainders, the first of equal ones first.
fn by_weight(total: u128, weights: &[u64]) -> Vec<u128> {
    let none = vec![false; weights.len()];
    by_weight_among(total, weights, &none)
}

/// The same, and nothing for those that are left out.
fn by_weight_among(total: u128, weights: &[u64], is_out: &[bool]) -> Vec<u128> {
    let weights = equal_if_none(weights, is_out);
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let sum = sum.max(1);
    // `total · weight / sum` without its product: both factors of the second one are below 2^64 · parts.
    let (whole, rest) = (total / sum, total % sum);
    let mut parts: Vec<u128> = Vec::with_capacity(weights.len());
    let mut remainders = Vec::with_capacity(weights.len());
    for (place, weight) in weights.iter().enumerate() {
        let weight = u128::from(*weight);
        let product = rest.saturating_mul(weight);
        parts.push(whole * weight + product / sum);
        remainders.push((std::cmp::Reverse(product % sum), place));
    }
    remainders.sort_unstable();
    let given: u128 = parts.iter().sum();
    let left = usize::try_from(total - given).unwrap_or(usize::MAX);
    for (_, place) in remainders.into_iter().take(left) {
        if let Some(part) = parts.get_mut(place) {
            *part += 1;
        }
    }
    parts
}

fn equal_if_none(weights: &[u64], is_out: &[bool]) -> Vec<u64> {
    // At most 2^62 together, so that the product of two is below 2^128.
    let places = usize::BITS - weights.len().leading_zeros();
    let shift = weights.iter().map(|weight| weight.checked_ilog2()).max();
    let bits = shift.flatten().unwrap_or(0) + 1;
    let shift = (bits + places).saturating_sub(62);
    let scaled: Vec<u64> = weights
        .iter()
        .map(|weight| {
            let small = weight >> shift;
            if *weight > 0 { small.max(1) } else { 0 }
        })
        .collect();
    if scaled.iter().any(|weight| *weight > 0) {
        return scaled;
    }
    is_out.iter().map(|out| u64::from(!out)).collect()
}

fn newly_low(parts: &[u128], is_low: &[bool], floor: u128) -> Option<Vec<bool>> {
    let now: Vec<bool> = parts
        .iter()
        .zip(is_low)
        .map(|(part, low)| *low || *part < floor)
        .collect();
    (now != is_low).then_some(now)
}

fn masked(weights: &[u64], is_out: &[bool]) -> Vec<u64> {
    let pairs = weights.iter().zip(is_out);
    pairs
        .map(|(weight, out)| if *out { 0 } else { *weight })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_add_up_and_none_is_below_the_floor(
            total in 0..=(1_u128 << 120),
            weights in prop::collection::vec(prop_oneof![Just(0), 0..100_u64, any::<u64>()], 1..40),
            floor in prop_oneof![0..1000_u128, 0..=(1_u128 << 120)],
        ) {
            let parts = portions(total, &weights, floor);
            prop_assert_eq!(parts.iter().sum::<u128>(), total);
            let floor = floor.min(total / weights.len() as u128);
            prop_assert!(parts.iter().all(|part| *part >= floor));
        }

        #[test]
        fn without_a_floor_parts_keep_their_proportions(
            total in 0..=(1_u128 << 90), weights in prop::collection::vec(0..1000_u64, 1..20),
        ) {
            let sum: u64 = weights.iter().sum();
            prop_assume!(sum > 0);
            for (part, weight) in portions(total, &weights, 0).iter().zip(&weights) {
                let fair = total * u128::from(*weight) / u128::from(sum);
                prop_assert!(*part == fair || *part == fair + 1);
            }
        }

        #[test]
        fn filling_up_places_all_that_fits_and_raises_the_least(
            amount in 0..2_000_u64, capacities in prop::collection::vec(0..500_u64, 1..12),
        ) {
            let parts = fill_up(amount, &capacities);
            let room: u64 = capacities.iter().sum();
            prop_assert_eq!(parts.iter().sum::<u64>(), amount.min(room));
            let top = parts.iter().max().copied().unwrap_or(0);
            for (part, capacity) in parts.iter().zip(&capacities) {
                prop_assert!(part <= capacity);
                prop_assert!(part == capacity || part + 1 >= top);
            }
        }

        #[test]
        fn levelling_places_all_and_only_below_the_level(
            amount in 0..2_000_u64, loads in prop::collection::vec(0..500_u64, 1..12),
        ) {
            let parts = level_up(amount, &loads);
            prop_assert_eq!(parts.iter().sum::<u64>(), amount);
            let ends: Vec<u64> = parts.iter().zip(&loads).map(|(part, load)| part + load).collect();
            let filled = ends.iter().zip(&parts).filter(|(_, part)| **part > 0).map(|(end, _)| *end);
            if let Some(top) = filled.max() {
                prop_assert!(ends.iter().all(|end| *end + 1 >= top));
            }
        }
    }

    #[test]
    fn the_printed_rule_would_not_place_all() {
        // min(rcap, rate/k) gives 30 + 30 + 10 of 90.
        assert_eq!(fill_up(90, &[60, 40, 10]), [40, 40, 10]);
    }
}
