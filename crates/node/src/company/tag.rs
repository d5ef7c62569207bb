//! Names on the wire: which policy a frame is about, and which key.
//!
//! Both are fixed for all time: nodes of different builds must agree. `mix(x)` is the finalizer of `SplitMix64`; all
//! arithmetic wraps at 64 bits. A *tag* begins as `0xcbf2_9ce4_8422_2325`. Each byte of the fields below is xored into it,
//! which is then multiplied by `0x0000_0100_0000_01b3` (FNV-1a); at the end it is mixed once. A text is its
//! length in bytes and its bytes, a number its eight bytes, the lowest first:
//!
//! ```text
//! contract id | number of key entries, and each | policy name | algorithm | design | limit | burst or 0
//! | period in ns | calendar unit or "" | time zone or "" | slices where the algorithm has them, else 0 | offset in ns
//! ```
//!
//! Of a policy under `supply` only what comes before the design, and `supply`: its numbers may change while it runs; `lease` and `sync` likewise. Of one
//! under `split` the same with `split`, and limit, burst or 0, and period.
//! The design is `auto` resolved. What only one node's answers depend on is left out: waits, modes, debts. The gossip *key* of a
//! print `p` is `mix(p + 1)` in the upper and `mix(p ^ 0x5851_f42d_4c95_7f2d)` in the lower 64 bits.
//!
//! Not here: how prints come about, which is the table's secret.

use tollgate_contract::{Contract, Coordination, NamedPolicy};
use tollgate_gossip::{Key, Kind};
use tollgate_kit::{FNV, fnv, mix, unmix};
use tollgate_limit::{Algorithm, Period};
use tollgate_table::Print;

/// The tag of a policy.
pub(super) fn tag(contract: &Contract, named: &NamedPolicy, kind: Kind) -> u64 {
    let config = named.policy.config();
    let mut hash = Hash::new();
    hash.text(&contract.id);
    hash.number(contract.key.len() as u64);
    contract.key.iter().for_each(|entry| hash.text(entry));
    hash.text(&named.name);
    hash.text(config.algorithm.name());
    hash.text(kind.name());
    hash.number(config.limit);
    hash.number(config.burst.unwrap_or(0));
    hash.number(config.period.nanos());
    let (unit, zone) = match &config.period {
        Period::Fixed(_) => ("", None),
        Period::Calendar(calendar) => (calendar.name(), calendar.zone_name()),
    };
    hash.text(unit);
    hash.text(zone.unwrap_or_default());
    let has_slices = config.algorithm == Algorithm::SlidingCounters;
    hash.number(if has_slices {
        u64::from(config.slices)
    } else {
        0
    });
    hash.number(config.offset_ns);
    hash.finish()
}

/// The tag of a policy whose rate is divided.
pub(super) fn supply_tag(contract: &Contract, named: &NamedPolicy) -> u64 {
    divided(contract, named, Coordination::Supply).finish()
}

/// The tag of a policy that is lent.
pub(super) fn lease_tag(contract: &Contract, named: &NamedPolicy) -> u64 {
    divided(contract, named, Coordination::Lease).finish()
}

/// The tag of a policy that is synchronised.
pub(super) fn sync_tag(contract: &Contract, named: &NamedPolicy) -> u64 {
    divided(contract, named, Coordination::Sync).finish()
}

/// The tag of a policy whose buckets are cut: with its numbers, as a bucket is cut once.
pub(super) fn split_tag(contract: &Contract, named: &NamedPolicy) -> u64 {
    let config = named.policy.config();
    let mut hash = divided(contract, named, Coordination::Split);
    hash.number(config.limit);
    hash.number(config.burst.unwrap_or(0));
    hash.number(config.period.nanos());
    hash.finish()
}

fn divided(contract: &Contract, named: &NamedPolicy, by: Coordination) -> Hash {
    let mut hash = Hash::new();
    hash.text(&contract.id);
    hash.number(contract.key.len() as u64);
    contract.key.iter().for_each(|entry| hash.text(entry));
    hash.text(&named.name);
    hash.text(named.policy.config().algorithm.name());
    hash.text(by.name());
    hash
}

/// The gossip key of a print.
pub(crate) fn key(print: Print) -> Key {
    let upper = mix(print.0.wrapping_add(1));
    let lower = mix(print.0 ^ 0x5851_f42d_4c95_7f2d);
    Key(u128::from(upper) << 64 | u128::from(lower))
}

/// The print of a gossip key.
pub(super) fn print(key: Key) -> Print {
    let upper = u64::try_from(key.0 >> 64).unwrap_or(u64::MAX);
    Print(unmix(upper).wrapping_sub(1))
}

/// A hash that is the same on every node.
pub(super) struct Hash(u64);

impl Hash {
    pub(super) const fn new() -> Self {
        Self(FNV)
    }

    pub(super) const fn finish(&self) -> u64 {
        mix(self.0)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0 = fnv(self.0, bytes);
    }

    pub(super) fn number(&mut self, number: u64) {
        self.bytes(&number.to_le_bytes());
    }

    pub(super) fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_contract::Contracts;

    fn tags(policy: &str) -> Vec<u64> {
        let text = format!("contracts: [{{ id: a, key: [user], policies: [{policy}] }}]");
        let contracts = Contracts::parse(&text).unwrap();
        let contract = &contracts.as_slice()[0];
        let tag = |named: &NamedPolicy| tag(contract, named, Kind::Segments);
        contract.policies.iter().map(tag).collect()
    }

    #[test]
    fn a_tag_stays_what_it_is() {
        let policy = "{ name: p, limit: 20, per: 1s, coordination: gossip }";
        assert_eq!(tags(policy), [TAG]);
        assert_eq!(key(Print(7)), Key(KEY));
    }

    /// Changing these breaks the clusters that run.
    const TAG: u64 = 0xff1e_f163_1e5a_3ff3;
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
