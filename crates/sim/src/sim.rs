//! Time, what is under way, and the alarm of every node.
//!
//! Not here: what nodes do when a message or their time has come.

use std::collections::BTreeMap;

use crate::clock::SimClock;
use crate::links::{Links, RandomSource};

/// What happens next. Messages are of type `M`, plans of the world of type `P`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimEvent<M, P> {
    /// A message arrives.
    Message {
        /// Who sent it.
        from: u16,
        /// Whom it reaches.
        to: u16,
        /// What it says.
        message: M,
    },
    /// The time has come at which a node wanted to be woken.
    Wake {
        /// Which.
        node: u16,
    },
    /// Something that the world planned.
    Plan(P),
}

/// The surroundings of the machines of a world.
#[derive(Debug)]
pub struct Sim<M, P, D> {
    /// What is between the nodes.
    pub links: Links<D>,
    now: u64,
    /// What will happen, by its time and by its place among all that was ever entered.
    agenda: BTreeMap<(u64, u64), SimEvent<M, P>>,
    entered: u64,
    flying: u64,
    /// Events since time passed last.
    at_once: u64,
    seats: Vec<Seat<M, P>>,
}

/// More events than that at one instant are a storm that would never end: what is under way is dropped.
const AT_ONCE_MAX: u64 = 50_000_000;

/// A node as its surroundings know it.
#[derive(Debug)]
struct Seat<M, P> {
    clock: SimClock,
    /// When it is woken.
    alarm: Option<u64>,
    /// What came while it was paused.
    paused: Option<Vec<SimEvent<M, P>>>,
}

impl<M, P, D: RandomSource> Sim<M, P, D> {
    /// A time at which nothing is under way.
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

    /// The time of the world.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// A node's clock; one that was not set is right.
    pub fn clock(&self, node: u16) -> SimClock {
        let seat = self.seats.get(usize::from(node));
        seat.map_or_else(SimClock::default, |seat| seat.clock)
    }

    /// What a node's clock shows.
    pub fn local(&self, node: u16) -> u64 {
        self.clock(node).at(self.now)
    }

    /// Sets a node's clock.
    pub fn set_clock(&mut self, node: u16, clock: SimClock) {
        self.seat(node).clock = clock;
    }

    /// When something happens next.
    pub fn next_at(&self) -> Option<u64> {
        self.agenda.first_key_value().map(|((at, _), _)| *at)
    }

    /// Messages under way, copies included.
    pub fn flying(&self) -> u64 {
        self.flying
    }

    /// What happens next at `until` or before, in order of time, and of entry where times are equal.
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

    /// Lets time pass up to `to`; what happens until then must have happened.
    pub fn pass(&mut self, to: u64) {
        self.now = self.now.max(to);
    }

    /// Puts a message on its way; how many copies of it will arrive.
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

    /// Puts a message on a way that loses nothing and takes so long.
    pub fn send(&mut self, delay: u64, from: u16, to: u16, message: M) {
        self.flying += 1;
        let event = SimEvent::Message { from, to, message };
        self.enter(self.now.saturating_add(delay), event);
    }

    /// Plans something; what is late is planned for now.
    pub fn plan(&mut self, at: u64, what: P) {
        self.enter(at.max(self.now), SimEvent::Plan(what));
    }

    /// Wakes a node then, unless it is woken earlier. Each node has one alarm: it is over when it rings.
    pub fn wake_at(&mut self, node: u16, at: u64) {
        let at = at.max(self.now);
        let seat = self.seat(node);
        if seat.alarm.is_none_or(|alarm| alarm > at) {
            seat.alarm = Some(at);
            self.enter(at, SimEvent::Wake { node });
        }
    }

    /// Wakes a node no more until it wants to be woken again.
    pub fn let_sleep(&mut self, node: u16) {
        self.seat(node).alarm = None;
    }

    /// A node is gone, with its alarm and everything that waited for it.
    pub fn reset(&mut self, node: u16) {
        let seat = self.seat(node);
        (seat.alarm, seat.paused) = (None, None);
    }

    /// A node's clock jumps; its alarm was set by the clock before.
    pub fn jump(&mut self, node: u16, by: i64) {
        let seat = self.seat(node);
        seat.clock.ahead = seat.clock.ahead.saturating_add(by);
        seat.alarm = None;
    }

    /// A node does nothing until it goes on; what comes meanwhile waits.
    pub fn pause(&mut self, node: u16) {
        self.seat(node).paused.get_or_insert_default();
    }

    /// Whether a node is paused.
    pub fn is_paused(&self, node: u16) -> bool {
        let seat = self.seats.get(usize::from(node));
        seat.is_some_and(|seat| seat.paused.is_some())
    }

    /// A node goes on, with everything that came while it was paused.
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

    /// What of it reaches the world now.
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

    /// Never anything but zero.
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
