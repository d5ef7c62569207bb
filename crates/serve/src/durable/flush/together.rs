//! Writes durable state of policies that nodes gossip about.
//!
//! Same guarantee and method as for cells: changed keys are written twice per interval, and those of a failed flush
//! with the next. Not here: the stored form, which the policy's design defines.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_limit::Instant;
use tollgate_node::Node;
use tollgate_table::Print;

use super::{CHUNK, Waiting, Work};
use crate::durable::{LoadSummary, StoreError};

/// Keys to write, by tag of their policy.
#[derive(Default)]
pub(super) struct Together {
    waiting: BTreeMap<u64, Waiting>,
    /// Newly loaded policies, whose rows may exist from before.
    returned: BTreeSet<u64>,
}

impl Together {
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        self.waiting.values()
    }

    /// Stops all pending writes.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Marks every key to be written.
    pub(super) fn write_everything(&mut self, node: &Node) {
        for tag in node.durable_tags() {
            self.waiting.entry(tag).or_default().all = true;
        }
    }

    /// Called after contracts were loaded.
    pub(super) fn replaced(&mut self, old: &Node, new: &Node) {
        let known: BTreeSet<_> = old.durable_tags().into_iter().collect();
        let tags = new.durable_tags().into_iter();
        self.returned
            .extend(tags.filter(|tag| !known.contains(tag)));
    }

    /// Collects what changed since the last flush.
    pub(super) fn gather(&mut self, node: &Node) {
        for tag in node.durable_tags() {
            let mut prints = Vec::new();
            let overflowed = node.take_dirty_of(tag, &mut prints);
            if overflowed || !prints.is_empty() {
                let waiting = self.waiting.entry(tag).or_default();
                waiting.add(&prints, overflowed);
            }
        }
    }
}

impl Work {
    /// Writes the changed keys; returns how many.
    pub(super) fn write_together(&mut self, node: &Node, now: Instant) -> Result<u64, StoreError> {
        while let Some(tag) = self.together.returned.first().copied() {
            let mut loaded = LoadSummary::default();
            self.store.load_tag(node, tag, now, &mut loaded)?;
            self.together.returned.remove(&tag);
        }
        let mut rows = 0;
        for tag in node.durable_tags() {
            rows += self.write_tag(node, tag, now)?;
        }
        self.together.waiting.clear();
        Ok(rows)
    }

    fn write_tag(&mut self, node: &Node, tag: u64, now: Instant) -> Result<u64, StoreError> {
        let mut rows = 0;
        let Some(waiting) = self.together.waiting.get_mut(&tag) else {
            return Ok(0);
        };
        if waiting.all {
            let prints = node.prints_of(tag);
            waiting.prints.extend(prints.iter().map(|print| print.0));
            waiting.all = false;
        }
        loop {
            let waiting = self.together.waiting.get(&tag);
            let prints = waiting.into_iter().flat_map(|waiting| &waiting.prints);
            let chunk: Vec<u64> = prints.take(CHUNK).copied().collect();
            if chunk.is_empty() {
                return Ok(rows);
            }
            rows += chunk.len() as u64;
            // The row of a forgotten key is all that is left of it.
            let keeps_rows = node.forgot_keys(tag);
            let keys = chunk.iter().map(|&print| {
                let saved = node.save(tag, Print(print), now);
                let state = saved.map(|saved| (saved.bytes, saved.fresh_at.as_nanos()));
                (print, state)
            });
            let keys = keys.filter(|(_, state)| state.is_some() || !keeps_rows);
            let keys = keys.collect();
            self.store.journal.write_saved(tag, keys)?;
            if let Some(waiting) = self.together.waiting.get_mut(&tag) {
                for print in &chunk {
                    waiting.prints.remove(print);
                }
            }
        }
    }
}
