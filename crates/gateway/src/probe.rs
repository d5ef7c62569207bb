//! Time that the broker takes for messages of one client: from the write to its PUBACK or PUBREC.
//!
//! Bounded: a fixed number of messages is followed, without allocation; messages beyond are not counted, and
//! neither are messages that are written in pieces, and those of `QoS` 0, which have no answer. Not here: the
//! metrics (`meter`).

use parking_lot::Mutex;
use tollgate_limit::Instant;

const FOLLOWED_MAX: usize = 32;

/// Messages of one client that the broker has not answered.
#[derive(Debug, Default)]
pub(crate) struct UnansweredMessages(Mutex<Followed>);

#[derive(Debug, Default)]
struct Followed {
    /// Identifiers, and when they were written; in order.
    messages: [(u16, Instant); FOLLOWED_MAX],
    count: usize,
    /// How many of them, from the end, are not written yet.
    waiting: usize,
}

impl UnansweredMessages {
    /// A message passes; the next write contains it.
    pub(crate) fn follow(&self, id: u16) {
        let mut followed = self.0.lock();
        // A client that reuses an identifier no longer waits for its answer.
        if let Some(place) = followed.find(id) {
            followed.remove(place);
        }
        let place = followed.count;
        if let Some(free) = followed.messages.get_mut(place) {
            *free = (id, Instant::default());
            followed.count += 1;
            followed.waiting += 1;
        }
    }

    /// All followed messages are written to the broker.
    pub(crate) fn hand_over(&self, now: impl FnOnce() -> Instant) {
        let mut followed = self.0.lock();
        if followed.waiting == 0 {
            return;
        }
        let now = now();
        let some = followed.count - followed.waiting..followed.count;
        for (_, since) in &mut followed.messages[some] {
            *since = now;
        }
        followed.waiting = 0;
    }

    /// The broker answered. Returns the nanoseconds since the write, if the message was followed.
    pub(crate) fn answer(&self, id: u16, now: impl FnOnce() -> Instant) -> Option<u64> {
        let mut followed = self.0.lock();
        let place = followed.find(id)?;
        let is_handed = place < followed.count - followed.waiting;
        let (_, since) = followed.messages[place];
        // An answer before the write belongs to an earlier message.
        is_handed.then(|| {
            followed.remove(place);
            now().nanos_since(since)
        })
    }
}

impl Followed {
    fn find(&self, id: u16) -> Option<usize> {
        let all = &self.messages[..self.count];
        all.iter().position(|(of, _)| *of == id)
    }

    fn remove(&mut self, place: usize) {
        self.waiting -= usize::from(place >= self.count - self.waiting);
        self.messages.copy_within(place + 1..self.count, place);
        self.count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: u64) -> impl FnOnce() -> Instant {
        move || Instant::from_nanos(nanos)
    }

    #[test]
    fn an_answer_tells_how_long_ago_its_message_was_handed_over() {
        let probe = UnansweredMessages::default();
        probe.follow(7);
        assert_eq!(probe.answer(7, at(5)), None, "not handed over");
        probe.follow(8);
        probe.hand_over(at(10));
        probe.follow(9);
        probe.hand_over(at(20));
        assert_eq!(probe.answer(8, at(25)), Some(15));
        assert_eq!(probe.answer(8, at(26)), None, "answered already");
        assert_eq!(probe.answer(9, at(27)), Some(7));
        assert_eq!(probe.answer(7, at(30)), Some(20));
        assert_eq!(probe.answer(1, at(31)), None, "never seen");
    }

    #[test]
    fn an_identifier_that_is_used_again_begins_anew() {
        let probe = UnansweredMessages::default();
        probe.follow(7);
        probe.hand_over(at(10));
        probe.follow(7);
        assert_eq!(probe.answer(7, at(15)), None);
        probe.hand_over(at(20));
        assert_eq!(probe.answer(7, at(25)), Some(5));
    }

    #[test]
    fn what_there_is_no_room_for_is_not_followed() {
        let probe = UnansweredMessages::default();
        let most = u16::try_from(FOLLOWED_MAX).unwrap();
        for id in 1..=most + 3 {
            probe.follow(id);
        }
        probe.hand_over(at(10));
        assert_eq!(probe.answer(most + 1, at(20)), None);
        for id in (1..=most).rev() {
            assert_eq!(probe.answer(id, at(20)), Some(10), "{id}");
        }
        probe.follow(most + 1);
        probe.hand_over(at(30));
        assert_eq!(probe.answer(most + 1, at(31)), Some(1));
    }
}
