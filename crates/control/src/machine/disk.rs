//! What waits to be written, and a disk that does not take it.
//!
//! Not here: what records are (`file`).

use noraft::LogEntries;

use super::{Control, ControlTime};
use crate::config::MS;
use crate::event::ControlEvent;
use crate::file::Recorder;
use crate::log::Commands;

/// Bytes to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlWrite {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether they take the place of the file, at once or not at all; else they go behind what it has.
    pub is_whole: bool,
}

/// Bytes that wait.
#[derive(Clone, Debug)]
pub(super) struct DiskQueue {
    recorder: Recorder,
    waiting: Vec<u8>,
    is_whole: bool,
    is_out: bool,
    /// When writing is tried again, after it failed.
    retry_at: Option<u64>,
    has_failed: bool,
    /// Whether the disk has this start at least: else the next one could not tell itself from it.
    has_written: bool,
}

/// How long a disk that failed is left alone.
const RETRY: u64 = 5_000 * MS;
/// Entries of one record.
const RECORD_ENTRIES: usize = 64;

impl DiskQueue {
    pub(super) fn new() -> Self {
        Self {
            recorder: Recorder::start(&mut Vec::new()),
            waiting: Vec::new(),
            is_whole: true,
            is_out: false,
            retry_at: None,
            has_failed: false,
            has_written: false,
        }
    }

    /// Whether something is not written yet, on a disk that works as far as is known.
    pub(super) fn is_waiting(&self) -> bool {
        !self.has_failed && (self.is_whole || self.is_out || !self.waiting.is_empty())
    }

    pub(super) fn is_failed(&self) -> bool {
        self.has_failed
    }

    pub(super) fn has_written(&self) -> bool {
        self.has_written
    }

    pub(super) fn retry_at(&self) -> Option<u64> {
        self.retry_at
    }

    /// Tries again once it is time.
    pub(super) fn retry(&mut self, now: ControlTime) {
        self.retry_at.take_if(|at| *at <= now.steady);
    }

    /// The file is to be written as a whole.
    pub(super) fn rewrite(&mut self) {
        self.waiting.clear();
        self.is_whole = true;
    }

    pub(super) fn vote(&mut self, term: u64, voted: Option<u64>) {
        if !self.is_whole {
            self.recorder.vote(&mut self.waiting, term, voted);
        }
    }

    pub(super) fn entries(&mut self, entries: &LogEntries, commands: &Commands) {
        if !self.is_whole {
            self.recorder.entries(&mut self.waiting, entries, commands);
        }
    }
}

impl Control {
    /// Bytes to write and sync next; `handle_written` says how that went. Until then frames are neither sent nor taken.
    pub fn poll_write(&mut self) -> Option<ControlWrite> {
        let disk = &self.disk;
        let is_due = disk.is_waiting() || (disk.has_failed && disk.retry_at.is_none());
        if !is_due || disk.is_out {
            return None;
        }
        self.disk.is_out = true;
        let is_whole = self.disk.is_whole;
        let bytes = if is_whole {
            self.whole()
        } else {
            std::mem::take(&mut self.disk.waiting)
        };
        self.disk.is_whole = false;
        Some(ControlWrite { bytes, is_whole })
    }

    /// What was to be written is on the disk, or it is not.
    pub fn handle_written(&mut self, is_written: bool, now: ControlTime) {
        self.disk.is_out = false;
        if is_written {
            self.disk.has_written = true;
            if std::mem::take(&mut self.disk.has_failed) {
                self.event(ControlEvent::DiskWorks);
                self.election.guard(&self.config, now);
                self.drain(now);
            }
            self.apply(now);
            return;
        }
        if !self.disk.has_failed {
            self.event(ControlEvent::DiskFailed);
        }
        self.disk.has_failed = true;
        self.disk.retry_at = Some(now.steady + RETRY);
        self.disk.rewrite();
        self.out.sends.clear();
        self.lead = None;
        if self.log.is_leader() {
            self.log.step_down();
        }
        self.event(ControlEvent::Changed);
    }

    /// The file as a whole.
    fn whole(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut recorder = Recorder::start(&mut bytes);
        recorder.meta(&mut bytes, &self.meta);
        if self.snapshot.position.index.get() > 0 {
            recorder.snapshot(&mut bytes, &self.snapshot);
        }
        let voted = self.log.raft.voted_for().map(|id| id.get());
        recorder.vote(&mut bytes, self.log.term(), voted);
        let mut rest = self.log.raft.log().entries().clone();
        while !rest.is_empty() {
            let some =
                LogEntries::from_iter(rest.prev_position(), rest.iter().take(RECORD_ENTRIES));
            recorder.entries(&mut bytes, &some, &self.log.commands);
            match rest.since(some.last_position()) {
                Some(after) => rest = after,
                None => break,
            }
        }
        self.disk.recorder = recorder;
        bytes
    }
}
