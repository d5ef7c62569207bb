//! Samples of a running world on a grid of time: bytes of state and bytes sent.
//!
//! Not here: curves that follow from the answers alone.

use crate::world::Request;
use crate::world::outcome::Curves;
use crate::world::player::Player;

/// The finest grid.
const STEP_NS_MIN: u64 = 100_000_000;

/// Samples of the state over a run.
const STATE_SAMPLES: u64 = 600;
/// Points of a curve over a run.
const CURVE_POINTS: u64 = 6_000;

/// Equally spaced instants from the first request on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    next: u64,
    step: u64,
}

impl Grid {
    pub(crate) fn of_state(trace: &[Request]) -> Self {
        Self::new(trace, STATE_SAMPLES)
    }

    pub(crate) fn of_curves(trace: &[Request]) -> Self {
        Self::new(trace, CURVE_POINTS)
    }

    /// About `steps` steps from the first request to the last, none shorter than 0.1 s.
    fn new(trace: &[Request], steps: u64) -> Self {
        let start = trace.first().map_or(0, |request| request.at.as_nanos());
        let end = trace.last().map_or(0, |request| request.at.as_nanos());
        Self {
            next: start,
            step: (end.saturating_sub(start) / steps).max(STEP_NS_MIN),
        }
    }

    pub(crate) fn step_s(self) -> f64 {
        seconds(self.step)
    }

    pub(crate) fn take(&mut self) -> u64 {
        let taken = self.next;
        self.next = taken.saturating_add(self.step);
        taken
    }

    /// Takes the next instant if it is before `now`.
    pub(crate) fn take_before(&mut self, now: u64) -> bool {
        let is_due = self.next < now;
        if is_due {
            self.take();
        }
        is_due
    }
}

#[derive(Debug)]
pub(crate) struct SampleRecord {
    state_grid: Grid,
    /// The mean state is taken up to here.
    end: u64,
    pub(crate) state: StateSum,
    curve_grid: Option<Grid>,
    pub(crate) curves: Curves,
    sent_before: u64,
}

impl SampleRecord {
    pub(crate) fn new(trace: &[Request], with_curves: bool) -> Self {
        let curve_grid = Grid::of_curves(trace);
        Self {
            state_grid: Grid::of_state(trace),
            end: trace.last().map_or(0, |request| request.at.as_nanos()),
            state: StateSum::default(),
            curve_grid: with_curves.then_some(curve_grid),
            curves: Curves {
                step_s: curve_grid.step_s(),
                ..Curves::default()
            },
            sent_before: 0,
        }
    }

    /// Samples whatever is due before `now`; nothing happened since the last call.
    pub(crate) fn pass(&mut self, now: u64, nodes: &[Player], sent_bytes: u64) {
        while self.state_grid.take_before(now.min(self.end)) {
            self.state.add(nodes);
        }
        let Some(grid) = &mut self.curve_grid else {
            return;
        };
        let mut due = 0;
        while grid.take_before(now) {
            due += 1;
        }
        for _ in 0..due {
            self.sample(nodes, sent_bytes);
        }
    }

    /// Samples once more, so that curves end with what happened last.
    pub(crate) fn close(&mut self, nodes: &[Player], sent_bytes: u64) {
        if let Some(grid) = &mut self.curve_grid {
            grid.take();
            self.sample(nodes, sent_bytes);
        }
    }

    fn sample(&mut self, nodes: &[Player], sent_bytes: u64) {
        let mut held = StateSum::default();
        held.add(nodes);
        self.curves.state_bytes.push(held.all());
        self.curves.sent_bytes.push(sent_bytes - self.sent_before);
        self.sent_before = sent_bytes;
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StateSum {
    local: u128,
    all: u128,
    nodes: u128,
}

impl StateSum {
    pub(crate) fn add(&mut self, nodes: &[Player]) {
        for held in nodes.iter().filter_map(Player::footprint) {
            self.local += u128::from(held.local);
            self.all += u128::from(held.local.saturating_add(held.extra));
            self.nodes += 1;
        }
    }

    pub(crate) fn local(self) -> f64 {
        mean(self.local, self.nodes)
    }

    pub(crate) fn all(self) -> f64 {
        mean(self.all, self.nodes)
    }

    pub(crate) fn bytes(self) -> u64 {
        u64::try_from(self.all).unwrap_or(u64::MAX)
    }
}

#[allow(clippy::cast_precision_loss, reason = "a figure to read")]
pub(crate) fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[allow(clippy::cast_precision_loss, reason = "a figure to read")]
fn mean(sum: u128, count: u128) -> f64 {
    if count == 0 {
        return 0.0;
    }
    sum as f64 / count as f64
}
