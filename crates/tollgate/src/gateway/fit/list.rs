//! Placement lists with other weights. Not here: what lists mean (`tollgate-gateway`).

use std::fmt::Write as _;

use tollgate_gateway::WEIGHT_MAX;

/// The same list with these weights of its gateways, in their order; comments stay, except those of gateways.
pub(super) fn with_weights(text: &str, weights: &[u32]) -> String {
    let mut weights = weights.iter();
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.lines() {
        let said = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = said.split_whitespace().collect();
        match words[..] {
            ["gateway", name, address, ..] => {
                let weight = weights.next().copied().unwrap_or(0);
                // Writing to a string cannot fail.
                let _ = write!(out, "gateway {name} {address} {weight}");
            }
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// Small weights approximately proportional to the parts; zero for a zero part.
pub(super) fn weights(parts: &[u64]) -> Vec<u32> {
    let most = parts.iter().copied().max().unwrap_or(0).max(1);
    let least = parts.iter().copied().filter(|part| *part > 0).min();
    // Nearly even parts all weigh one: clients rotate most evenly then.
    let is_even = least.is_some_and(|least| most - least <= most / EVEN);
    let scale = if is_even { 1 } else { SCALE };
    let weight = |part: &u64| match part {
        0 => 0,
        part => {
            let weight = u128::from(*part) * u128::from(scale) / u128::from(most);
            u32::try_from(weight)
                .unwrap_or(WEIGHT_MAX)
                .clamp(1, WEIGHT_MAX)
        }
    };
    parts.iter().map(weight).collect()
}

/// Parts that differ by at most one in this many are even.
const EVEN: u64 = 10;
/// The weight of the largest part if parts differ.
const SCALE: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_gateway::Placement;

    #[test]
    fn only_weights_change() {
        let text = "# plant\ngateway g1 a:1 # here\nothers\n gateway g2 b:1 7\nclient x g1\n";
        let other = with_weights(text, &[3, 0]);
        let is = "# plant\ngateway g1 a:1 3\nothers\ngateway g2 b:1 0\nclient x g1\n";
        assert_eq!(other, is);
        assert!(Placement::parse(&other).is_ok());
    }

    #[test]
    fn weights_follow_parts() {
        assert_eq!(weights(&[500, 500, 0]), [1, 1, 0]);
        assert_eq!(weights(&[1000, 500, 1]), [20, 10, 1]);
        assert_eq!(weights(&[1000, 901, 0]), [1, 1, 0]);
        assert_eq!(weights(&[0, 0]), [0, 0]);
    }
}
