//! A set of packet identifiers that never takes more than eight kibibytes.

#[derive(Debug, Default)]
pub(crate) struct Ids {
    /// One bit for each; empty without identifiers.
    words: Vec<u64>,
    count: usize,
}

impl Ids {
    pub(crate) fn insert(&mut self, id: u16) {
        if self.words.is_empty() {
            self.words = vec![0; WORDS];
        }
        let (word, bit) = place(id);
        self.count += usize::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    /// Returns whether it was present.
    pub(crate) fn remove(&mut self, id: u16) -> bool {
        let had = self.contains(id);
        if had {
            let (word, bit) = place(id);
            self.words[word] &= !bit;
            self.count -= 1;
        }
        had
    }

    pub(crate) fn contains(&self, id: u16) -> bool {
        let (word, bit) = place(id);
        self.words.get(word).is_some_and(|bits| bits & bit != 0)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

fn place(id: u16) -> (usize, u64) {
    (usize::from(id / 64), 1 << (id % 64))
}

const WORDS: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_what_was_put_in_and_not_taken_out() {
        let mut ids = Ids::default();
        assert!(ids.is_empty() && !ids.contains(1) && !ids.remove(1));
        for id in [1, 64, 65_535, 1] {
            ids.insert(id);
        }
        assert!(ids.contains(64) && !ids.contains(63));
        assert!(ids.remove(1) && !ids.remove(1));
        assert!(ids.remove(64) && ids.remove(65_535) && ids.is_empty());
    }
}
