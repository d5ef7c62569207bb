//! Telling the owner of keys who they are, where it has to look up their terms.
//!
//! An owner knows the place of a key and not its name. Where it does not know the terms that a key has, it says so and
//! does nothing; then it is told the values, checks that the print is theirs, looks the terms up itself, and is asked
//! again. What it is told is `version 1 | keys`, a key `tag 8 | print 8 | values count | values`, each value behind its
//! length. Not here: where terms are looked up.

use tollgate_gossip::NodeId;
use tollgate_kit::{Reader, put_varint};
use tollgate_limit::{Instant, Span};
use tollgate_node::{Knowledge, Node, Stranger};
use tollgate_table::Print;

use crate::map::Map;
use crate::question::{Unknown, UnknownPart};
use crate::work::{OwnerStep, To};

/// Keys to tell of, by the node that owns them.
#[derive(Default)]
pub struct Introductions(pub Vec<(NodeId, Vec<u8>)>);

impl Introductions {
    /// Adds the keys of a step; nothing where nobody knows their values.
    pub(crate) fn add(&mut self, map: &Map, step: &OwnerStep) {
        let Some(To::Node(to)) = step.to else {
            return;
        };
        let named = step.question.spots.iter().zip(&step.question.names);
        let mut keys = Vec::new();
        for (spot, values) in named.filter(|(_, values)| !values.is_empty()) {
            keys.extend(map.tag(spot.contract).to_le_bytes());
            keys.extend(spot.print.0.to_le_bytes());
            put_varint(&mut keys, values.len() as u64);
            for value in values {
                put_varint(&mut keys, value.len() as u64);
                keys.extend(value.as_bytes());
            }
        }
        if keys.is_empty() {
            return;
        }
        if let Some((_, all)) = self.0.iter_mut().find(|(node, _)| *node == to) {
            all.append(&mut keys);
        } else {
            keys.insert(0, VERSION);
            self.0.push((to, keys));
        }
    }
}

/// A key as somebody told of it.
pub(crate) struct IntroducedKey<'a> {
    stranger: Stranger,
    values: Vec<&'a str>,
}

/// Reads what was told; contracts that are not known here are left out.
pub(crate) fn read<'a>(body: &'a [u8], map: &Map) -> Option<Vec<IntroducedKey<'a>>> {
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
pub(crate) fn checked(node: &Node, key: IntroducedKey<'_>, now: Instant) -> Option<Unknown> {
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
pub(crate) const VERSION: u8 = 1;
/// The answer to what is told.
pub const INTRODUCED: &[u8] = &[VERSION];
/// When somebody may say again who a key is.
const SOON_NS: u128 = 500_000_000;
