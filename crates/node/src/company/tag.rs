//! Keys between nodes.
//!
//! Fixed for all time, as nodes of different builds must agree: the key of a print `p` is `mix(p + 1)` in the upper and
//! `mix(p ^ 0x5851_f42d_4c95_7f2d)` in the lower 64 bits; `mix(x)` is the finalizer of `SplitMix64`. All arithmetic
//! wraps at 64 bits. Not here: names of policies, which are [`tollgate_mode::Tag`]s, and how prints come about, which
//! is the table's secret.

use tollgate_kit::{mix, unmix};
use tollgate_mode::ModeKey;
use tollgate_table::Print;

/// The key of a print, between nodes.
pub fn key(print: Print) -> ModeKey {
    let upper = mix(print.0.wrapping_add(1));
    let lower = mix(print.0 ^ 0x5851_f42d_4c95_7f2d);
    ModeKey(u128::from(upper) << 64 | u128::from(lower))
}

/// The shard of a key, of so many: by bits of its fingerprint, alike on all nodes.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the lowest bits are enough"
)]
pub(super) const fn shard(key: ModeKey, shards: usize) -> usize {
    key.0 as usize & shards.saturating_sub(1)
}

/// What a policy's shard is called between nodes: the first as the policy.
pub(super) const fn shard_tag(policy: u64, shard: usize) -> u64 {
    match shard {
        0 => policy,
        shard => mix(policy ^ shard as u64),
    }
}

/// The print of a key.
pub(super) fn print(key: ModeKey) -> Print {
    let upper = u64::try_from(key.0 >> 64).unwrap_or(u64::MAX);
    Print(unmix(upper).wrapping_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_contract::{Contracts, NamedPolicy};
    use tollgate_gossip::Gossip;
    use tollgate_mode::{ModeKind, Tag};

    fn tags(policy: &str) -> Vec<u64> {
        let text = format!("contracts: [{{ id: a, key: [user], policies: [{policy}] }}]");
        let contracts = Contracts::parse(&text).unwrap();
        let contract = &contracts.as_slice()[0];
        let tag = |named: &NamedPolicy| {
            let mut tag = Tag::of(contract, named);
            Gossip::default().tag(&mut tag, named);
            tag.finish()
        };
        contract.policies.iter().map(tag).collect()
    }

    #[test]
    fn a_tag_stays_what_it_is() {
        let policy = "{ name: p, limit: 20, per: 1s, coordination: gossip }";
        assert_eq!(tags(policy), [TAG]);
        assert_eq!(key(Print(7)), ModeKey(KEY));
    }

    /// Changing these breaks the clusters that run.
    const TAG: u64 = 0x6073_f3b3_ca74_167b;
    const KEY: u128 = 0xd56b_1fbb_9ceb_a9e8_f23c_2419_f251_fb29;

    #[test]
    fn a_key_leads_back_to_its_print() {
        for number in [0, 1, 7, u64::MAX, 0x1234_5678_9abc_def0] {
            assert_eq!(print(key(Print(number))), Print(number));
        }
    }

    #[test]
    fn numbers_make_another_tag_and_modes_do_not() {
        let base = tags("{ name: p, limit: 20, per: 1s, coordination: gossip }");
        for other in [
            "{ name: q, limit: 20, per: 1s, coordination: gossip }",
            "{ name: p, limit: 21, per: 1s, coordination: gossip }",
            "{ name: p, limit: 20, per: 2s, coordination: gossip }",
            "{ name: p, limit: 20, per: 1s, burst: 9, coordination: gossip }",
            "{ name: p, limit: 20, per: 1s, algorithm: fixed-window, coordination: gossip }",
        ] {
            assert_ne!(tags(other), base, "{other}");
        }
        let shadow = "{ name: p, limit: 20, per: 1s, mode: shadow, coordination: gossip }";
        assert_eq!(tags(shadow), base);
    }
}
