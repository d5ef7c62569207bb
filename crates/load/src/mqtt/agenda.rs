//! When each publisher publishes: decided by rate and seed alone, never by what a broker does.
//!
//! A group has events; at each of them every publisher of the group publishes a batch. If messages are spread, each has
//! its own instant after the event. Times are nanoseconds from the start. Not here: clocks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use tollgate_kit::Dice;

use super::plan::{MqttPace, MqttPlan};
use crate::plan::Arrivals;
use crate::schedule::Schedule;

/// Messages that are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) at: u64,
    pub(crate) publisher: u32,
    /// How many at once.
    pub(crate) count: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// All of a group, by its index here.
    Event(usize),
    /// One message of one publisher.
    Message(u32),
}

struct Group {
    members: Range<u32>,
    events: Schedule,
    dice: Dice,
}

/// Due times of some groups, in order.
pub(crate) struct Agenda {
    entries: BinaryHeap<Reverse<(u64, What)>>,
    groups: Vec<Group>,
    batch: u32,
    spread_ns: u64,
}

impl Agenda {
    /// For the groups whose number modulo `of` is `at`; empty in a closed loop.
    pub(crate) fn new(plan: &MqttPlan, at: u32, of: u32) -> Self {
        let size = plan.groups.size.max(1);
        let batch = plan.groups.batch.max(1);
        let mut agenda = Self {
            entries: BinaryHeap::new(),
            groups: Vec::new(),
            batch,
            spread_ns: u64::try_from(plan.groups.spread.as_nanos()).unwrap_or(u64::MAX),
        };
        let MqttPace::Open { rate, arrivals } = plan.pace else {
            return agenda;
        };
        let groups = plan.publishers.div_ceil(size);
        for number in (at..groups).step_by(of.max(1) as usize) {
            let mut dice = Dice::new(plan.seed ^ (u64::from(number) + 1).wrapping_mul(MIX));
            let seed = dice.roll();
            let first = dice.unit();
            let rate = rate / f64::from(batch);
            let mut events = Schedule::new(rate, arrivals, seed, first);
            if arrivals == Arrivals::Poisson {
                events = Schedule::new(rate, arrivals, seed, 0.0);
                events.advance();
            }
            let members = number * size..((number + 1) * size).min(plan.publishers);
            let event = What::Event(agenda.groups.len());
            agenda.entries.push(Reverse((events.due_ns(), event)));
            agenda.groups.push(Group {
                members,
                events,
                dice,
            });
        }
        agenda
    }

    pub(crate) fn next(&self) -> Option<u64> {
        self.entries.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes the first entry; appends what is to be published at its time.
    pub(crate) fn take(&mut self, due: &mut Vec<Due>) {
        let Some(Reverse((at, what))) = self.entries.pop() else {
            return;
        };
        let place = match what {
            What::Message(publisher) => {
                due.push(Due {
                    at,
                    publisher,
                    count: 1,
                });
                return;
            }
            What::Event(place) => place,
        };
        let Some(group) = self.groups.get_mut(place) else {
            return;
        };
        for publisher in group.members.clone() {
            if self.spread_ns == 0 {
                due.push(Due {
                    at,
                    publisher,
                    count: self.batch,
                });
                continue;
            }
            for _ in 0..self.batch {
                let later = at.saturating_add(group.dice.below(self.spread_ns));
                let message = What::Message(publisher);
                self.entries.push(Reverse((later, message)));
            }
        }
        group.events.advance();
        self.entries.push(Reverse((group.events.due_ns(), what)));
    }
}

const MIX: u64 = 0xa076_1d64_78bd_642f;
