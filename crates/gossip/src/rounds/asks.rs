//! A newcomer's question for all that others know, and whose answer it waits for.
//!
//! Two neighbours are asked, the one before this node in the circle among them; so each node's knowledge goes to the
//! next one even where all of them begin at once, and from there on as news to everybody. An answer is some frames of
//! state, and one that says that it was the last. Whoever does not answer is asked again with the next round. Not here:
//! what is told of a key.

use super::Rounds;

/// The kind of a question: all that you know, please.
pub(crate) const JOIN: u8 = 8;
/// Of a part of the answer.
pub(crate) const STATE: u8 = 9;
/// Of its end.
pub(crate) const END: u8 = 10;
/// Bytes after which a part of an answer takes no further key.
pub(crate) const PART_BYTES: usize = 32 << 10;

/// How often one neighbour is asked.
const ASKS_MAX: u8 = 5;

/// Neighbours whose answers are awaited, and how often they were asked.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    awaited: Vec<(usize, u8)>,
}

impl Asks {
    /// Chooses whom to ask.
    pub(crate) fn begin(&mut self, rounds: &mut Rounds) {
        let first = rounds.ward();
        let second = rounds.pick();
        let second = second.filter(|&slot| Some(slot) != first);
        let both = first.into_iter().chain(second);
        self.awaited = both.map(|slot| (slot, 0)).collect();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.awaited.is_empty()
    }

    /// A neighbour has told all it knows.
    pub(crate) fn answered(&mut self, slot: usize) {
        self.awaited.retain(|&(awaited, _)| awaited != slot);
    }

    /// Whom to ask, or to ask again. Who has left, or never answers, is not waited for.
    pub(crate) fn due(&mut self, rounds: &Rounds) -> Vec<usize> {
        let is_there = |slot: usize| rounds.all().contains(slot);
        self.awaited
            .retain(|&(slot, asked)| is_there(slot) && asked < ASKS_MAX);
        for (_, asked) in &mut self.awaited {
            *asked += 1;
        }
        self.awaited.iter().map(|&(slot, _)| slot).collect()
    }
}
