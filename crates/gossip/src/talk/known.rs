//! What a node knows of one key from others: the last list each writer published.
//!
//! Merging keeps the greater version. Every entry has one author and its versions are in order, so any order and any
//! repetition of the same news ends in the same state. Not here: what a node admitted itself.

use std::collections::BTreeSet;

use tollgate_mode::{Writer, planted};

use crate::list::Segment;
use tollgate_kit::mix;

use super::frame::Entry;

/// Bytes of a remote entry besides its segments: the writer and the version.
const ENTRY_BYTES: u64 = 7;
/// Bytes of a remote segment: its start and its count.
const SEGMENT_BYTES: u64 = 16;

/// The last list of each writer about one key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Ascending by writer.
    entries: Vec<Entry>,
    /// The version under which this node published last.
    pub(crate) said: Option<u64>,
    /// What former boots of this node had not published, whole, by writer; nobody else knows it yet.
    untold: Vec<Untold>,
    segments: u64,
}

/// A former boot's list and how many tokens of it nobody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Untold {
    entry: Entry,
    secret: u64,
}

/// What came of news.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Merged {
    /// Nothing new.
    Stale,
    /// It took the place of this list.
    Replaced {
        /// The list before; empty if there was none.
        old: Vec<Segment>,
        /// Tokens that were thought untold and are known to others after all.
        told: u64,
    },
}

impl Known {
    /// Nothing is known and nothing was said.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.untold.is_empty()
    }

    pub(crate) fn has_untold(&self) -> bool {
        !self.untold.is_empty()
    }

    pub(crate) fn bytes(&self) -> u64 {
        let entries = (self.entries.len() + self.untold.len()) as u64;
        entries * ENTRY_BYTES + self.segments * SEGMENT_BYTES
    }

    /// Takes an entry if it is newer than what is known of its writer.
    pub(crate) fn merge(&mut self, entry: Entry) -> Merged {
        let told = self.forget_untold(entry.writer, entry.version);
        self.segments += entry.list.len() as u64;
        match self.place(entry.writer) {
            Ok(known) => {
                let fresh = planted!(
                    "segments-merge-latest-heard",
                    known.version < entry.version,
                    known.version != entry.version
                );
                if !fresh {
                    self.segments -= entry.list.len() as u64;
                    return Merged::Stale;
                }
                let old = std::mem::replace(known, entry).list;
                self.segments -= old.len() as u64;
                Merged::Replaced { old, told }
            }
            Err(at) => {
                self.entries.insert(at, entry);
                let old = Vec::new();
                Merged::Replaced { old, told }
            }
        }
    }

    /// Takes back what a former boot had not published: how many tokens more nobody else knows. `None` if it is known
    /// already.
    pub(crate) fn restore(&mut self, entry: Entry, secret: u64) -> Option<u64> {
        if self.version(entry.writer) >= Some(entry.version) {
            return None;
        }
        let mut before = self.untold.iter_mut();
        let before = before.find(|untold| untold.entry.writer == entry.writer);
        if let Some(untold) = before {
            if untold.entry.version >= entry.version {
                return None;
            }
            let more = secret.saturating_sub(untold.secret);
            self.segments += entry.list.len() as u64;
            self.segments -= untold.entry.list.len() as u64;
            untold.entry = entry;
            untold.secret += more;
            return Some(more);
        }
        self.segments += entry.list.len() as u64;
        self.untold.push(Untold { entry, secret });
        Some(secret)
    }

    /// The lists of these writers, as far as anything is known of them, in ascending order.
    pub(crate) fn of(&self, writers: &BTreeSet<Writer>) -> Vec<Entry> {
        let untold = |writer: &Writer| {
            let mut all = self.untold.iter().map(|untold| &untold.entry);
            all.find(|entry| entry.writer == *writer)
        };
        let known = |writer: &Writer| {
            let mut all = self.entries.iter();
            all.find(|entry| entry.writer == *writer)
        };
        let lists = writers
            .iter()
            .filter_map(|writer| untold(writer).or_else(|| known(writer)));
        lists.cloned().collect()
    }

    /// Makes what was untold known; returns it, to be told to everybody.
    pub(crate) fn tell(&mut self) -> Vec<Entry> {
        let untold = std::mem::take(&mut self.untold);
        let mut told: Vec<Entry> = untold.into_iter().map(|untold| untold.entry).collect();
        told.sort_unstable_by_key(|entry| entry.writer);
        for entry in &told {
            self.segments -= entry.list.len() as u64;
            self.merge(entry.clone());
        }
        told
    }

    /// Drops what is untold.
    pub(crate) fn drop_untold(&mut self) {
        for untold in std::mem::take(&mut self.untold) {
            self.segments -= untold.entry.list.len() as u64;
        }
    }

    /// Drops all that was published, by anybody.
    pub(crate) fn forget(&mut self) {
        self.entries.clear();
        self.said = None;
        let untold = self.untold.iter();
        self.segments = untold.map(|untold| untold.entry.list.len() as u64).sum();
    }

    /// Rewrites every published list in place.
    pub(crate) fn edit(&mut self, edit: impl Fn(&mut Vec<Segment>)) {
        for entry in &mut self.entries {
            let before = entry.list.len() as u64;
            edit(&mut entry.list);
            self.segments = self.segments - before + entry.list.len() as u64;
        }
    }

    /// Drops entries whose lists are empty.
    pub(crate) fn drop_empty(&mut self) {
        self.entries.retain(|entry| !entry.list.is_empty());
    }

    pub(crate) fn version(&self, writer: Writer) -> Option<u64> {
        let at = self
            .entries
            .binary_search_by_key(&writer, |entry| entry.writer);
        at.ok()
            .and_then(|at| self.entries.get(at))
            .map(|entry| entry.version)
    }

    /// What others published.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Segments that others published.
    pub(crate) fn published(&self) -> impl Iterator<Item = Segment> {
        self.entries
            .iter()
            .flat_map(|entry| entry.list.iter().copied())
    }

    /// The same, with the lists of former boots where these are newer.
    pub(crate) fn all(&self) -> impl Iterator<Item = Segment> {
        let is_outdated = |writer| {
            self.untold
                .iter()
                .any(|untold| untold.entry.writer == writer)
        };
        let current = self
            .entries
            .iter()
            .filter(move |entry| !is_outdated(entry.writer));
        let lists = current.chain(self.untold.iter().map(|untold| &untold.entry));
        lists.flat_map(|entry| entry.list.iter().copied())
    }

    /// A hash of who published what last, this node included; equal wherever the same is known.
    pub(crate) fn hash(&self, me: Writer) -> u32 {
        let others = self
            .entries
            .iter()
            .map(|entry| (entry.writer, entry.version));
        let mine = self.said.map(|version| (me, version));
        let hash = |(writer, version): (Writer, u64)| {
            let [a, b, c, d, ..] = mix(version << 16 | u64::from(writer.0)).to_le_bytes();
            u32::from_le_bytes([a, b, c, d])
        };
        others.chain(mine).map(hash).fold(0, u32::wrapping_add)
    }

    fn place(&mut self, writer: Writer) -> Result<&mut Entry, usize> {
        let at = self
            .entries
            .binary_search_by_key(&writer, |entry| entry.writer)?;
        self.entries.get_mut(at).ok_or(at)
    }

    /// Drops what was untold of a writer up to a version; how many tokens that were.
    fn forget_untold(&mut self, writer: Writer, version: u64) -> u64 {
        self.drop_untold_if(|entry| entry.writer == writer && entry.version <= version)
    }

    /// Drops lists that nobody else knows; how many tokens of them nobody knew.
    pub(crate) fn drop_untold_if(&mut self, is_over: impl Fn(&Entry) -> bool) -> u64 {
        let (mut secret, mut segments) = (0, 0);
        self.untold.retain(|untold| {
            let is_gone = is_over(&untold.entry);
            if is_gone {
                secret = u64::saturating_add(secret, untold.secret);
                segments += untold.entry.list.len() as u64;
            }
            !is_gone
        });
        self.segments -= segments;
        secret
    }
}
