//! One node's control machine with its disk, as a shell runs it.
//!
//! Not here: the world around it.

use std::sync::Arc;

use tollgate_control::{Control, ControlEvent, ControlTime};

use crate::nodes::Member;

/// A node.
#[derive(Debug)]
pub struct ControlSite {
    /// Its machine, while it runs.
    pub machine: Option<Control>,
    /// What its disk holds.
    pub disk: Vec<u8>,
    /// Its name, which its place follows from.
    pub name: String,
    /// Its zone.
    pub zone: String,
    /// Whether its disk is full.
    pub is_full: bool,
    /// It dies in the middle of what it writes next, after so many bytes.
    pub tears: Option<usize>,
    /// Whether it hands over what it is asked to.
    pub hands_over: bool,
    /// What was refused and what was lost so far, for tests.
    pub events: Vec<ControlEvent>,
    /// By how much its wall clock has jumped.
    pub(super) jumped: i64,
    pub(super) committed: Vec<(u64, u64)>,
    pub(super) is_changed: bool,
}

/// Events that are kept.
const EVENTS_MAX: usize = 1_000;

impl ControlSite {
    pub(super) fn new(place: usize, zone: &str) -> Self {
        Self {
            machine: None,
            disk: Vec::new(),
            name: format!("n{place:04}"),
            zone: zone.to_owned(),
            is_full: false,
            tears: None,
            hands_over: true,
            events: Vec::new(),
            jumped: 0,
            committed: Vec::new(),
            is_changed: false,
        }
    }

    /// The time by its wall clock, in both ways.
    pub(super) fn time(&self, clock: u64) -> ControlTime {
        ControlTime {
            steady: clock.saturating_add_signed(-self.jumped),
            wall_ms: clock / 1_000_000,
        }
    }

    /// Writes what the machine wants written; whether it still runs after that.
    fn write(&mut self, now: ControlTime) -> bool {
        while let Some(write) = self.machine.as_mut().and_then(Control::poll_write) {
            if let Some(bytes) = self.tears.take() {
                // A file that is written as a whole takes the place of the old one, or does not.
                let bytes = write.bytes.get(..bytes).unwrap_or(&write.bytes);
                if !write.is_whole {
                    self.disk.extend_from_slice(bytes);
                }
                self.machine = None;
                self.is_changed = true;
                return false;
            }
            if !self.is_full && write.is_whole {
                self.disk = write.bytes;
            } else if !self.is_full {
                self.disk.extend_from_slice(&write.bytes);
            }
            if let Some(machine) = &mut self.machine {
                machine.handle_written(!self.is_full, now);
            }
        }
        self.machine.is_some()
    }

    /// Takes note of what happened; the slots that it is to hand over.
    fn hear(&mut self) -> Vec<u16> {
        let mut slots = Vec::new();
        while let Some(event) = self.machine.as_mut().and_then(Control::poll_event) {
            self.is_changed = true;
            match event {
                ControlEvent::Committed { index, hash } => self.committed.push((index, hash)),
                ControlEvent::Changed => {}
                ControlEvent::HandOver { slot, .. } => slots.push(slot),
                other if self.events.len() < EVENTS_MAX => self.events.push(other),
                _ => {}
            }
        }
        slots
    }
}

impl Member for ControlSite {
    type Message = Arc<[u8]>;

    fn is_up(&self) -> bool {
        self.machine.is_some()
    }

    fn handle_message(&mut self, _from: u16, message: &Arc<[u8]>, now: u64) {
        let now = self.time(now);
        if let Some(machine) = &mut self.machine {
            // Every frame here was made by a machine.
            let read = machine.handle_frame(message, now);
            debug_assert!(read.is_ok(), "{read:?}");
        }
    }

    fn handle_timeout(&mut self, now: u64) {
        let now = self.time(now);
        if let Some(machine) = &mut self.machine {
            machine.handle_timeout(now);
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        let at = self.machine.as_ref()?.poll_timeout()?;
        Some(at.saturating_add_signed(self.jumped))
    }

    fn store(&mut self, now: u64) {
        let now = self.time(now);
        while self.write(now) {
            let slots = self.hear();
            if slots.is_empty() || !self.hands_over {
                break;
            }
            if let Some(machine) = &mut self.machine {
                machine.handed(&slots, now);
            }
        }
    }

    fn poll_send(&mut self) -> Option<(u16, Arc<[u8]>)> {
        let send = self.machine.as_mut()?.poll_send()?;
        let place = send.to.strip_prefix('n')?.parse().ok()?;
        Some((place, send.bytes))
    }

    fn bytes(message: &Arc<[u8]>) -> &[u8] {
        message
    }
}
