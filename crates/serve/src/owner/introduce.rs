//! Telling the owner of keys who they are, where it has to look up their terms.
//!
//! An owner knows the place of a key and not its name. Where it does not know the terms that a key has, it says so and
//! does nothing; then it is told the values, looks the terms up itself, and is asked again. What it is told is `version
//! 1 | keys`, a key `tag 8 | print 8 | values count | values`, each value behind its length. Not here: reading that
//! (`introduced`), and where terms are written (`Registrar`).

use std::sync::Arc;
use std::time::Duration;

use tollgate_gossip::NodeId;
use tollgate_kit::put_varint;

use super::introduced::{VERSION, checked, read};
use super::mail::join_all;
use super::map::Map;
use super::work::OwnerStep;
use super::{Owner, To};
use crate::shared::Shared;

/// Keys to tell of, by the node that owns them.
#[derive(Default)]
pub(super) struct Introductions(Vec<(NodeId, Vec<u8>)>);

impl Introductions {
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the keys of a step; nothing where nobody knows their values.
    pub(super) fn add(&mut self, map: &Map, step: &OwnerStep) {
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

impl Owner {
    /// Tells owners of keys, and waits until they have looked them up. Whoever does not is asked all the same.
    pub(super) async fn introduce(&self, introductions: Introductions) {
        let each = introductions.0.into_iter();
        let each = each.map(|(to, body)| self.peers.request(to, INTRODUCE, body, WITHIN));
        drop(join_all(each).await);
    }

    /// Looks up the terms of keys that another node tells of; `None` where that makes no sense.
    pub(super) async fn meet(&self, shared: &Shared, body: &[u8]) -> Option<Vec<u8>> {
        let (node, now) = (shared.engine.node(), shared.engine.now());
        let map = Arc::clone(&self.map(&node));
        let Some(told) = read(body, &map) else {
            self.counts.malformed.add(1);
            return None;
        };
        let unknown = told.into_iter().filter_map(|key| checked(&node, key, now));
        let unknown: Vec<_> = unknown.collect();
        shared.engine.learn(&node, unknown, now).await;
        Some(vec![VERSION])
    }
}

/// The kind of what is told.
pub(super) const INTRODUCE: u8 = tollgate_cluster::FrameKind::Introduce as u8;
/// How long an owner may look things up.
const WITHIN: Duration = Duration::from_secs(2);
