//! How much should move between nodes so that all are filled alike: pure arithmetic on supplies and weights.
//!
//! A party's fill is its supply over its weight (its demand, and a little so that it is never zero). Not here: who is
//! asked, and whether they agree.

/// A node as seen by this arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party {
    /// What it may use.
    pub supply: u64,
    /// What it wants, above zero and at most [`Party::WEIGHT_MAX`].
    pub weight: u64,
}

/// A party that could give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer<Id> {
    /// Who.
    pub from: Id,
    /// How it stands.
    pub party: Party,
    /// What of its supply it can lend.
    pub free: u64,
}

/// What a group should give to one who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pour<Id> {
    /// How much to ask of whom, the richest first; nothing is asked of those who would give nothing.
    pub asks: Vec<(Id, u64)>,
    /// The asker's supply if all of them give.
    pub supply: u64,
}

impl Party {
    /// The largest weight, so that no product overflows.
    pub const WEIGHT_MAX: u64 = 1 << 57;

    /// Whether this party is filled more than the other.
    pub fn is_richer_than(self, other: Self) -> bool {
        product(self.supply, other.weight) > product(other.supply, self.weight)
    }

    /// Supply over weight, in thousandths.
    pub fn fill_milli(self) -> u64 {
        let milli = u128::from(self.supply) * 1000 / u128::from(self.weight.max(1));
        u64::try_from(milli).unwrap_or(u64::MAX)
    }
}

/// What the richer must give to the poorer so that both are filled alike, rounded towards zero: above zero, `left`
/// gives. Never more than the giver has.
pub fn equalise(left: Party, right: Party) -> i64 {
    let (gives, takes) = (
        product(left.supply, right.weight),
        product(right.supply, left.weight),
    );
    let weights = u128::from(left.weight) + u128::from(right.weight);
    let amount = gives.abs_diff(takes) / weights.max(1);
    let amount = i64::try_from(amount).unwrap_or(i64::MAX);
    if gives >= takes { amount } else { -amount }
}

/// What `asker` should ask of whom so that all of them end alike: the richest are added while they are above the common
/// level.
pub fn water_fill<Id: Copy + Ord>(asker: Party, offers: &[Offer<Id>]) -> Pour<Id> {
    let mut offers = offers.to_vec();
    offers.sort_unstable_by(|a, b| {
        let (left, right) = (a.party, b.party);
        let richest = product(right.supply, left.weight).cmp(&product(left.supply, right.weight));
        richest.then(a.from.cmp(&b.from))
    });
    let (mut supply, mut weight) = (u128::from(asker.supply), u128::from(asker.weight));
    let mut donors = 0;
    for Offer { party, .. } in &offers {
        if u128::from(party.supply) * weight <= supply * u128::from(party.weight) {
            break;
        }
        supply += u128::from(party.supply);
        weight += u128::from(party.weight);
        donors += 1;
    }
    let mut pour = Pour {
        asks: Vec::with_capacity(donors),
        supply: asker.supply,
    };
    for Offer { from, party, free } in offers.into_iter().take(donors) {
        let keeps = supply * u128::from(party.weight) / weight.max(1);
        let gives = u128::from(party.supply)
            .saturating_sub(keeps)
            .min(u128::from(free));
        let gives = u64::try_from(gives).unwrap_or(u64::MAX);
        if gives > 0 {
            pour.asks.push((from, gives));
            pour.supply = pour.supply.saturating_add(gives);
        }
    }
    pour
}

fn product(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}
