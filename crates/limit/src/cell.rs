//! Everything remembered about one key: one time, and one state per policy.
//!
//! A cell of `N` words holds up to `N` policies whose states fit in a word each without touching the heap; anything
//! else moves to a box. Which of the two a cell is never changes an answer.

use core::num::NonZeroU64;

use crate::set::PolicySet;
use crate::state::State;
use crate::time::Instant;

/// The memory of one key. `N` is the number of policies held without a box.
#[derive(Clone, Debug)]
pub struct Cell<const N: usize>(Form<N>);

#[derive(Clone, Debug)]
enum Form<const N: usize> {
    /// The newest charge in nanoseconds, plus one so that zero is free, and one packed state per policy.
    Inline {
        at: NonZeroU64,
        words: [u64; N],
    },
    Boxed(Box<Full>),
}

#[derive(Clone, Debug)]
struct Full {
    at: Instant,
    states: Box<[State]>,
}

impl<const N: usize> Cell<N> {
    /// The cell of a key never seen.
    pub fn fresh(set: &PolicySet) -> Self {
        if set.is_compact() && set.policies().len() == N {
            return Self(Form::Inline {
                at: NonZeroU64::MIN,
                words: [0; N],
            });
        }
        let states = set.policies().iter().map(crate::Policy::fresh).collect();
        Self(Form::Boxed(Box::new(Full {
            at: Instant::default(),
            states,
        })))
    }

    /// The newest time the key was charged at.
    pub fn at(&self) -> Instant {
        match &self.0 {
            Form::Inline { at, .. } => Instant::from_stored(*at),
            Form::Boxed(full) => full.at,
        }
    }

    /// Bytes on the heap behind the cell.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Inline { .. } => 0,
            Form::Boxed(full) => {
                let states: usize = full.states.iter().map(State::heap_bytes).sum();
                size_of::<Full>() + size_of_val(&*full.states) + states
            }
        }
    }

    /// Time and word of a cell of one word; `None` for any other.
    #[inline]
    pub(crate) fn single(&mut self) -> Option<(&mut NonZeroU64, &mut u64)> {
        let (at, words) = self.words()?;
        match words.as_mut_slice() {
            [word] => Some((at, word)),
            _ => None,
        }
    }

    /// Time and words of a cell without a box.
    #[inline]
    pub(crate) fn words(&mut self) -> Option<(&mut NonZeroU64, &mut [u64; N])> {
        match &mut self.0 {
            Form::Inline { at, words } => Some((at, words)),
            Form::Boxed(_) => None,
        }
    }

    /// Shows the states to `read`.
    pub(crate) fn view<T>(&self, set: &PolicySet, read: impl FnOnce(Instant, &[State]) -> T) -> T {
        match &self.0 {
            Form::Boxed(full) => read(full.at, &full.states),
            Form::Inline { words, .. } => read(self.at(), &unpack(set, words)),
        }
    }

    /// Lets `write` change the states; moves them to a box where they no longer fit.
    pub(crate) fn edit(&mut self, set: &PolicySet, write: impl FnOnce(&mut Instant, &mut [State])) {
        let at = self.at();
        match &mut self.0 {
            Form::Boxed(full) => write(&mut full.at, &mut full.states),
            Form::Inline { words, .. } => {
                let mut time = at;
                let mut states = unpack(set, words);
                write(&mut time, &mut states);
                self.0 = pack(time, states);
            }
        }
    }
}

fn unpack<const N: usize>(set: &PolicySet, words: &[u64; N]) -> [State; N] {
    let mut policies = set.policies().iter();
    words.map(|word| {
        policies
            .next()
            .map_or(State::Count(word), |policy| policy.unpack(word))
    })
}

fn pack<const N: usize>(at: Instant, states: [State; N]) -> Form<N> {
    let mut words = [0; N];
    for (word, state) in words.iter_mut().zip(&states) {
        match state.pack() {
            Some(packed) => *word = packed,
            None => {
                return Form::Boxed(Box::new(Full {
                    at,
                    states: Box::new(states),
                }));
            }
        }
    }
    Form::Inline {
        at: at.to_stored(),
        words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_of_one_bucket_is_sixteen_bytes_and_of_two_twenty_four() {
        assert_eq!(size_of::<Cell<1>>(), 16);
        assert_eq!(size_of::<Cell<2>>(), 24);
        assert_eq!(size_of::<Cell<3>>(), 32);
    }
}
