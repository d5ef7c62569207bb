//! Frames that wait to be sent, and whoever is to be woken to send them.
//!
//! Bounded in number and bytes; the oldest are dropped, as on any network. Not here: sockets.

use core::fmt;
use std::collections::VecDeque;
use std::sync::atomic::{
    AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed, Ordering::Release,
};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tollgate_limit::Instant;
use tollgate_mode::{ClockKind, NodeId};

/// A frame to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The policy it is about, as all nodes name it.
    pub tag: u64,
    /// The node it is for.
    pub to: NodeId,
    /// Its bytes, shared by all who get the same.
    pub frame: Arc<[u8]>,
}

/// Wakes whoever sends.
pub type Waker = Arc<dyn Fn() + Send + Sync>;

/// What waits, and who is told.
pub(super) struct Outbox {
    queue: Mutex<Queue>,
    /// The most that frames may take.
    bytes_max: u64,
    dropped: AtomicU64,
    waker: OnceLock<Waker>,
    /// The times at which whoever sends will look again by itself, on either clock.
    armed: [AtomicU64; 2],
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Outgoing>,
    bytes: u64,
}

impl Outbox {
    /// Nothing waits yet; frames may take so many bytes.
    pub(super) fn new(bytes_max: u64) -> Self {
        Self {
            queue: Mutex::default(),
            bytes_max,
            dropped: AtomicU64::new(0),
            waker: OnceLock::new(),
            armed: [AtomicU64::new(0), AtomicU64::new(0)],
        }
    }

    /// Sets who is woken; the first who does stays.
    pub(super) fn set_waker(&self, waker: Waker) {
        let _ = self.waker.set(waker);
    }

    /// Adds frames; says whether there were none before.
    pub(super) fn push(&self, frames: impl Iterator<Item = Outgoing>) -> bool {
        let mut queue = self.queue.lock();
        let was_empty = queue.frames.is_empty();
        for outgoing in frames {
            queue.bytes += held(&outgoing);
            queue.frames.push_back(outgoing);
            while queue.frames.len() > FRAMES_MAX || queue.bytes > self.bytes_max {
                queue.pop();
                self.dropped.fetch_add(1, Relaxed);
            }
        }
        was_empty && !queue.frames.is_empty()
    }

    pub(super) fn pop(&self) -> Option<Outgoing> {
        self.queue.lock().pop()
    }

    /// Drops all that waits: it tells of a time that is not to come.
    pub(super) fn clear(&self) {
        let mut queue = self.queue.lock();
        while queue.pop().is_some() {
            self.dropped.fetch_add(1, Relaxed);
        }
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    /// Notes when whoever sends looks again.
    pub(super) fn arm(&self, clock: ClockKind, at: Option<Instant>) {
        self.armed(clock).store(nanos(at), Release);
    }

    /// Notes that whoever sends looks again by then.
    pub(super) fn arm_by(&self, clock: ClockKind, at: u64) {
        self.armed(clock).fetch_min(at, AcqRel);
    }

    const fn armed(&self, clock: ClockKind) -> &AtomicU64 {
        let [wall, steady] = &self.armed;
        match clock {
            ClockKind::Wall => wall,
            ClockKind::Steady => steady,
        }
    }

    /// Whether that is too late for something that is due at `next`; it is then noted as known.
    pub(super) fn is_late_for(&self, clock: ClockKind, next: u64) -> bool {
        let earlier = |armed: u64| (next < armed).then_some(next);
        let armed = self.armed(clock);
        next < armed.load(Acquire) && armed.fetch_update(AcqRel, Acquire, earlier).is_ok()
    }

    pub(super) fn wake(&self) {
        if let Some(waker) = self.waker.get() {
            waker();
        }
    }
}

impl Queue {
    fn pop(&mut self) -> Option<Outgoing> {
        let first = self.frames.pop_front()?;
        self.bytes -= held(&first);
        Some(first)
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frames = self.queue.lock().frames.len();
        f.debug_struct("Outbox")
            .field("frames", &frames)
            .finish_non_exhaustive()
    }
}

/// About how many bytes of memory a frame takes.
fn held(outgoing: &Outgoing) -> u64 {
    outgoing.frame.len() as u64 + FRAME_HELD
}

/// An instant as a number; never is the greatest.
pub(super) fn nanos(at: Option<Instant>) -> u64 {
    at.map_or(u64::MAX, Instant::as_nanos)
}

/// Frames that may wait.
const FRAMES_MAX: usize = 1 << 16;
/// What a frame takes besides its bytes: its place here, and what whoever shares it counts.
const FRAME_HELD: u64 = 96;
