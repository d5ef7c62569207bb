//! What a node is told of keys that it owns: who they are said to be, and whether they are.
//!
//! The print is checked to be that of the values. Not here: who tells it (`introduce`).

use tollgate_kit::Reader;
use tollgate_limit::{Instant, Span};
use tollgate_node::{Knowledge, Node, Stranger};
use tollgate_table::Print;

use super::map::Map;
use crate::engine::{Unknown, UnknownPart};

/// A key as somebody told of it.
pub(super) struct IntroducedKey<'a> {
    stranger: Stranger,
    values: Vec<&'a str>,
}

/// Reads what was told; contracts that are not known here are left out.
pub(super) fn read<'a>(body: &'a [u8], map: &Map) -> Option<Vec<IntroducedKey<'a>>> {
    let mut reader = Reader(body);
    if reader.u8()? != VERSION {
        return None;
    }
    let mut all = Vec::new();
    while !reader.0.is_empty() {
        let contract = map.place(reader.u64()?);
        let print = Print(reader.u64()?);
        let count = reader.count()?;
        let value = |_| std::str::from_utf8(reader.block()?).ok();
        let values = (0..count).map(value).collect::<Option<_>>()?;
        all.extend(contract.map(|contract| IntroducedKey {
            stranger: Stranger { contract, print },
            values,
        }));
    }
    Some(all)
}

/// The key to look up, where it is who it is said to be. Otherwise it goes by what is known of it, for a while.
pub(super) fn checked(node: &Node, key: IntroducedKey<'_>, now: Instant) -> Option<Unknown> {
    let IntroducedKey { stranger, values } = key;
    let contract = node.contracts().get(stranger.contract)?;
    if values.len() != contract.key.len() || !node.is_print_of(stranger.print, &values) {
        let soon = now.saturating_add(Span::from_nanos(SOON_NS));
        node.learn(stranger, Knowledge::none(soon), now);
        return None;
    }
    Some(Unknown {
        what: UnknownPart::Terms,
        stranger,
        contract: contract.id.clone(),
        values: values.into_iter().map(str::to_owned).collect(),
    })
}

/// The form of what is told.
pub(super) const VERSION: u8 = 1;
/// When somebody may say again who a key is.
const SOON_NS: u128 = 500_000_000;
