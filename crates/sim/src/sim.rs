//! Time, pending events, and the alarm of every node.
//!
//! Not here: how nodes handle events.

use std::collections::BTreeMap;

use crate::clock::SimClock;
use crate::links::{Links, RandomSource};

/// `M` is the type of messages, `P` of planned events of the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimEvent<M, P> {
    Message {
        from: u16,
        to: u16,
        message: M,
    },
    /// The alarm of a node.
    Wake {
        node: u16,
    },
    /// Planned by the world.
    Plan(P),
}

/// The environment of the machines of a world.
#[derive(Debug)]
pub struct Sim<M, P, D> {
    pub links: Links<D>,
    now: u64,
    /// Pending events, by time and by order of entry.
    agenda: BTreeMap<(u64, u64), SimEvent<M, P>>,
    entered: u64,
    flying: u64,
    /// Events since time last advanced.
    at_once: u64,
    seats: Vec<Seat<M, P>>,
}

/// More events than that at one instant would never end: pending events are dropped.
const AT_ONCE_MAX: u64 = 50_000_000;

/// A node as its environment sees it.
#[derive(Debug)]
struct Seat<M, P> {
    clock: SimClock,
    alarm: Option<u64>,
    /// Events held while it is paused; `None` if it runs.
    paused: Option<Vec<SimEvent<M, P>>>,
}

impl<M, P, D: RandomSource> Sim<M, P, D> {
    /// Without pending events.
    pub fn new(start: u64, links: Links<D>) -> Self {
        Self {
            links,
            now: start,
            agenda: BTreeMap::new(),
            entered: 0,
            flying: 0,
            at_once: 0,
            seats: Vec::new(),
        }
    }

    pub fn now(&self) -> u64 {
        self.now
    }

    /// A node's clock; exact unless it was set.
    pub fn clock(&self, node: u16) -> SimClock {
        let seat = self.seats.get(usize::from(node));
        seat.map_or_else(SimClock::default, |seat| seat.clock)
    }

    /// The reading of a node's clock.
    pub fn local(&self, node: u16) -> u64 {
        self.clock(node).at(self.now)
    }

    pub fn set_clock(&mut self, node: u16, clock: SimClock) {
        self.seat(node).clock = clock;
    }

    /// The time of the next event.
    pub fn next_at(&self) -> Option<u64> {
        self.agenda.first_key_value().map(|((at, _), _)| *at)
    }

    /// Messages in flight, copies included.
    pub fn flying(&self) -> u64 {
        self.flying
    }

    /// The next event at `until` or before, ordered by time, then by entry.
    pub fn next(&mut self, until: u64) -> Option<SimEvent<M, P>> {
        while self.next_at().is_some_and(|at| at <= until) {
            let ((at, _), event) = self.agenda.pop_first()?;
            self.at_once = if at > self.now { 0 } else { self.at_once + 1 };
            self.now = self.now.max(at);
            if self.at_once > AT_ONCE_MAX {
                (self.agenda, self.flying) = (BTreeMap::new(), 0);
            } else if let Some(event) = self.admit(event) {
                return Some(event);
            }
        }
        None
    }

    /// Advances time to `to`; all events until then must have been handled.
    pub fn pass(&mut self, to: u64) {
        self.now = self.now.max(to);
    }

    /// Sends a message; returns how many copies will arrive.
    pub fn post(&mut self, from: u16, to: u16, message: M) -> u64
    where
        M: Clone,
    {
        let delays = self.links.carry(from, to, self.now);
        let mut copies = 0;
        for delay in delays.into_iter().flatten() {
            let message = message.clone();
            self.send(delay, from, to, message);
            copies += 1;
        }
        copies
    }

    /// Sends a message without loss, with this delay.
    pub fn send(&mut self, delay: u64, from: u16, to: u16, message: M) {
        self.flying += 1;
        let event = SimEvent::Message { from, to, message };
        self.enter(self.now.saturating_add(delay), event);
    }

    /// Events in the past are planned for now.
    pub fn plan(&mut self, at: u64, what: P) {
        self.enter(at.max(self.now), SimEvent::Plan(what));
    }

    /// Sets the alarm, unless it is set to an earlier time. Each node has one alarm, which rings once.
    pub fn wake_at(&mut self, node: u16, at: u64) {
        let at = at.max(self.now);
        let seat = self.seat(node);
        if seat.alarm.is_none_or(|alarm| alarm > at) {
            seat.alarm = Some(at);
            self.enter(at, SimEvent::Wake { node });
        }
    }

    /// Clears the alarm.
    pub fn let_sleep(&mut self, node: u16) {
        self.seat(node).alarm = None;
    }

    /// Removes a node, with its alarm and all events held for it.
    pub fn reset(&mut self, node: u16) {
        let seat = self.seat(node);
        (seat.alarm, seat.paused) = (None, None);
    }

    /// A node's clock jumps; its alarm was set by the old clock.
    pub fn jump(&mut self, node: u16, by: i64) {
        let seat = self.seat(node);
        seat.clock.ahead = seat.clock.ahead.saturating_add(by);
        seat.alarm = None;
    }

    /// A node does nothing until it resumes; its events are held.
    pub fn pause(&mut self, node: u16) {
        self.seat(node).paused.get_or_insert_default();
    }

    pub fn is_paused(&self, node: u16) -> bool {
        let seat = self.seats.get(usize::from(node));
        seat.is_some_and(|seat| seat.paused.is_some())
    }

    /// Resumes a node, with all events held for it.
    pub fn go_on(&mut self, node: u16) {
        for event in self.seat(node).paused.take().into_iter().flatten() {
            self.flying += u64::from(matches!(event, SimEvent::Message { .. }));
            if matches!(event, SimEvent::Wake { .. }) {
                self.wake_at(node, self.now);
            } else {
                self.enter(self.now, event);
            }
        }
    }

    fn enter(&mut self, at: u64, event: SimEvent<M, P>) {
        self.entered += 1;
        self.agenda.insert((at, self.entered), event);
    }

    /// `None` if a paused node holds the event.
    fn admit(&mut self, event: SimEvent<M, P>) -> Option<SimEvent<M, P>> {
        let node = match &event {
            SimEvent::Message { from, to, .. } => {
                self.flying -= 1;
                if self.links.cuts_arrivals && self.links.is_cut(*from, *to, self.now) {
                    return None;
                }
                *to
            }
            SimEvent::Wake { node } => {
                let now = self.now;
                let seat = self.seat(*node);
                seat.alarm.take_if(|alarm| *alarm == now)?;
                *node
            }
            SimEvent::Plan(_) => return Some(event),
        };
        let seat = self.seats.get_mut(usize::from(node));
        match seat.and_then(|seat| seat.paused.as_mut()) {
            Some(waiting) => {
                waiting.push(event);
                None
            }
            None => Some(event),
        }
    }

    fn seat(&mut self, node: u16) -> &mut Seat<M, P> {
        let place = usize::from(node);
        if place >= self.seats.len() {
            self.seats.resize_with(place + 1, || Seat {
                clock: SimClock::default(),
                alarm: None,
                paused: None,
            });
        }
        self.seats
            .get_mut(place)
            .unwrap_or_else(|| unreachable!("there is a seat for it by now"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::Conditions;

    /// Always zero.
    struct Zero;

    impl RandomSource for Zero {
        fn below(&mut self, _bound: u64) -> u64 {
            0
        }
    }

    fn sim(weather: Conditions) -> Sim<char, u8, Zero> {
        Sim::new(100, Links::new(weather, [Zero, Zero, Zero]))
    }

    fn calm() -> Sim<char, u8, Zero> {
        sim(Conditions::between(10, 10))
    }

    fn told(to: u16, message: char) -> SimEvent<char, u8> {
        SimEvent::Message {
            from: 0,
            to,
            message,
        }
    }

    #[test]
    fn everything_comes_in_its_order() {
        let mut sim = calm();
        sim.plan(110, 1);
        assert_eq!(sim.post(0, 1, 'a'), 1);
        sim.wake_at(1, 105);
        sim.plan(7, 2);
        assert_eq!(sim.next(1_000), Some(SimEvent::Plan(2)));
        assert_eq!((sim.now(), sim.flying()), (100, 1));
        assert_eq!(sim.next(1_000), Some(SimEvent::Wake { node: 1 }));
        assert_eq!(sim.next(109), None);
        assert_eq!(sim.next(1_000), Some(SimEvent::Plan(1)));
        assert_eq!(sim.next(1_000), Some(told(1, 'a')));
        assert_eq!((sim.now(), sim.flying()), (110, 0));
    }

    #[test]
    fn a_node_is_woken_once_by_its_earliest_alarm() {
        let mut sim = calm();
        sim.wake_at(3, 300);
        sim.wake_at(3, 200);
        sim.wake_at(3, 250);
        assert_eq!(sim.next(1_000), Some(SimEvent::Wake { node: 3 }));
        assert_eq!((sim.now(), sim.next(1_000)), (200, None));
        sim.wake_at(3, 1_100);
        sim.let_sleep(3);
        assert_eq!(sim.next(2_000), None);
    }

    #[test]
    fn what_comes_in_a_pause_waits() {
        let mut sim = calm();
        sim.pause(1);
        sim.post(0, 1, 'a');
        sim.post(0, 2, 'b');
        sim.wake_at(1, 105);
        assert_eq!(sim.next(500), Some(told(2, 'b')));
        assert_eq!(sim.next(500), None);
        sim.pass(500);
        assert!(sim.is_paused(1) && !sim.is_paused(2));
        sim.go_on(1);
        assert_eq!(sim.next(500), Some(SimEvent::Wake { node: 1 }));
        assert_eq!(sim.next(500), Some(told(1, 'a')));
        assert_eq!((sim.next(500), sim.is_paused(1)), (None, false));
        sim.pause(1);
        sim.post(0, 1, 'c');
        assert_eq!(sim.next(600), None);
        sim.reset(1);
        sim.go_on(1);
        assert_eq!(sim.next(600), None);
    }

    #[test]
    fn clocks_differ_and_jump() {
        let mut sim = calm();
        sim.set_clock(4, SimClock::ahead(50));
        sim.wake_at(4, 130);
        sim.jump(4, -20);
        assert_eq!((sim.local(4), sim.local(9)), (130, 100));
        assert_eq!(sim.next(1_000), None);
    }

    #[test]
    fn a_message_may_come_twice_or_never() {
        let weather = |loss, copies| Conditions {
            loss,
            copies,
            ..Conditions::default()
        };
        assert_eq!(sim(weather(1, 0)).post(0, 1, 'a'), 0);
        assert_eq!(sim(weather(0, 1)).post(0, 1, 'a'), 2);
        let mut cut = calm();
        cut.links.cut(&[0], &[1], 0..101);
        assert_eq!((cut.post(0, 1, 'a'), cut.post(1, 0, 'a')), (0, 1));
        cut.links.cuts_arrivals = true;
        cut.links.cut(&[1], &[0], 110..111);
        assert_eq!((cut.post(0, 1, 'b'), cut.flying()), (1, 2));
        assert_eq!(cut.next(200), Some(told(1, 'b')));
        assert_eq!((cut.next(200), cut.flying()), (None, 0));
    }
}
