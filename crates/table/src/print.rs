//! The 64-bit print by which a table knows a key, and the seeded hash that takes it.
//!
//! Clients choose their keys, and the print *is* the identity of a key: whoever finds a second key with the print of a
//! victim's spends the victim's allowance. So the hash carries a proof. A key is a message of words `w`, and its print
//! the upper half of `a0 * w0 + a1 * w1 + ... + b` modulo 2^128, where the coefficients are secret: the strongly
//! universal family of Dietzfelbinger, for which two different messages, chosen in any way that does not depend on the
//! secret, collide with probability 2^-64. A message of more than a block is hashed block by block; the sum of one
//! block enters the next through SipHash-1-3, which adds 2^-64 per block if `SipHash` is as good as it is held to be.
//! Prints are mixed at the end by a bijection, so that any of their bits may choose a place; that changes no collision.
//!
//! The proof covers whoever cannot see prints, so they must not leave the process as they are. A number takes three
//! multiplications, a string two for every eight bytes; `SipHash` throughout took three times the instructions.
//!
//! Not here: randomness. The caller brings the seed, so a simulation repeats exactly.

use std::fmt;

use tollgate_kit::Sip;

type Sip13 = Sip<1, 3>;

/// The print of a key: all the table ever knows of it.
///
/// Two keys share a print, and then a cell, with probability 2^-64 (5.4e-20) per pair and per 248 bytes of the longer
/// key: among ten million short keys one such pair is expected once in 370 000 seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Print(pub u64);

/// The secret under which prints are taken; the same seed gives the same prints everywhere.
#[derive(Clone)]
pub struct Seed {
    /// One for each word of a block.
    factors: Box<[u128; BLOCK]>,
    /// Added once to every block.
    offset: u128,
    /// Carries the sum of one block into the next.
    chain: Sip13,
    /// The factor of a key that is one number, and all else that is added to it.
    word: (u128, u128),
}

impl Seed {
    /// A seed of 128 bits that clients must not be able to guess.
    pub fn new(words: [u64; 2]) -> Self {
        let half = |place: u64| u128::from(Sip13::new(words).finish(place));
        let factor = |place: u64| half(2 * place) << 64 | half(2 * place + 1);
        let mut factors = Box::new([0; BLOCK]);
        for (place, to) in (1..).zip(factors.iter_mut()) {
            *to = factor(place);
        }
        let offset = factor(0);
        let word = (factors[1], offset.wrapping_add(factors[0]));
        Self {
            factors,
            offset,
            chain: Sip13::new(words),
            word,
        }
    }

    /// A seed from sixteen bytes of whatever source of randomness the caller has.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let whole = u128::from_le_bytes(bytes);
        #[allow(clippy::cast_possible_truncation)] // The two halves are what is wanted.
        Self::new([whole as u64, (whole >> 64) as u64])
    }

    /// The print of a key that is one string of bytes.
    #[inline]
    pub fn bytes(&self, key: &[u8]) -> Print {
        let (chunks, tail) = key.as_chunks::<8>();
        let [first, others @ ..] = &*self.factors;
        let Some(last) = others.get(chunks.len()) else {
            return self.long(key);
        };
        // What `PrintHasher::bytes` does, without a look at the end of the block before every word.
        let term = |factor: &u128, word: u64| factor.wrapping_mul(u128::from(word));
        let mut sum = self.offset.wrapping_add(term(first, length(key)));
        for (factor, chunk) in others.iter().zip(chunks) {
            sum = sum.wrapping_add(term(factor, u64::from_le_bytes(*chunk)));
        }
        if !tail.is_empty() {
            sum = sum.wrapping_add(term(last, end(key, tail)));
        }
        Print(mixed(upper(sum)))
    }

    /// The print of a string that may not fit in one block.
    #[cold]
    fn long(&self, key: &[u8]) -> Print {
        let mut hasher = self.hasher();
        hasher.bytes(key);
        hasher.finish()
    }

    /// The print of a key that is one number.
    #[inline]
    pub fn word(&self, key: u64) -> Print {
        let (factor, rest) = self.word;
        let sum = factor.wrapping_mul(u128::from(key)).wrapping_add(rest);
        Print(mixed(upper(sum)))
    }

    /// Starts the print of a key made of several parts.
    #[inline]
    pub fn hasher(&self) -> PrintHasher<'_> {
        PrintHasher {
            seed: self,
            sum: self.offset,
            place: 0,
        }
    }
}

impl fmt::Debug for Seed {
    /// Keeps the secret out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

/// Takes the print of a key part by part.
///
/// Keys of different parts are different messages to the hash: `("ab", "c")` is not `("a", "bc")`, and a number is not
/// the string of its bytes.
#[derive(Clone)]
pub struct PrintHasher<'s> {
    seed: &'s Seed,
    sum: u128,
    /// The place of the next word in its block.
    place: usize,
}

impl PrintHasher<'_> {
    /// Adds a part that is a string of bytes: its length, then its words.
    #[inline]
    pub fn bytes(&mut self, part: &[u8]) {
        self.push(length(part));
        let (chunks, tail) = part.as_chunks::<8>();
        for chunk in chunks {
            self.push(u64::from_le_bytes(*chunk));
        }
        if !tail.is_empty() {
            self.push(end(part, tail));
        }
    }

    /// Adds a part that is a number: a mark, then the number.
    #[inline]
    pub fn word(&mut self, part: u64) {
        self.push(1);
        self.push(part);
    }

    /// The print of the parts added.
    #[inline]
    pub fn finish(self) -> Print {
        Print(mixed(upper(self.sum)))
    }

    #[inline]
    fn push(&mut self, word: u64) {
        if self.place == BLOCK {
            self.next_block();
        }
        let factor = self.seed.factors[self.place % BLOCK];
        self.sum = self.sum.wrapping_add(factor.wrapping_mul(u128::from(word)));
        self.place += 1;
    }

    #[cold]
    #[allow(clippy::cast_possible_truncation)] // The two halves are what is wanted.
    fn next_block(&mut self) {
        let mut chain = self.seed.chain;
        chain.word(self.sum as u64);
        let before = chain.finish((self.sum >> 64) as u64);
        (self.sum, self.place) = (self.seed.offset, 0);
        self.push(before);
    }
}

impl fmt::Debug for PrintHasher<'_> {
    /// Keeps what could betray the seed out of logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrintHasher(..)")
    }
}

/// The word that a string begins with: its length, and that it is no number.
#[inline]
const fn length(part: &[u8]) -> u64 {
    (part.len() as u64).wrapping_add(1) << 1
}

/// The word that a string ends with, where its length is no multiple of eight. The last eight bytes overlap those
/// before; with the length they still tell every byte.
#[inline]
fn end(part: &[u8], tail: &[u8]) -> u64 {
    match part.last_chunk() {
        Some(last) => u64::from_le_bytes(*last),
        None => short(tail),
    }
}

/// The half of a sum that is a print.
#[inline]
#[allow(clippy::cast_possible_truncation)] // The upper half is what is wanted.
const fn upper(sum: u128) -> u64 {
    (sum >> 64) as u64
}

/// Spreads what tells two prints apart over all bits; reversible.
#[inline]
const fn mixed(mut print: u64) -> u64 {
    print ^= print >> 32;
    print = print.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    print ^ (print >> 29)
}

/// Up to seven bytes as a number, first byte lowest, without a call to copy them.
#[inline]
fn short(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u64::from(u32::from_le_bytes(*last));
        return u64::from(u32::from_le_bytes(*first)) | last << (8 * (length - 4));
    }
    match *bytes {
        [a, b, c] => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
        [a, b] => u64::from(a) | u64::from(b) << 8,
        [a] => u64::from(a),
        _ => 0,
    }
}

/// Words of a message hashed together.
const BLOCK: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug, PartialEq)]
    enum Part {
        Bytes(Vec<u8>),
        Word(u64),
    }

    fn print(parts: &[Part]) -> Print {
        let seed = Seed::new([5, 6]);
        let mut hasher = seed.hasher();
        for part in parts {
            match part {
                Part::Bytes(bytes) => hasher.bytes(bytes),
                Part::Word(word) => hasher.word(*word),
            }
        }
        hasher.finish()
    }

    fn parts() -> impl Strategy<Value = Vec<Part>> {
        let part = prop_oneof![
            prop::collection::vec(0..3_u8, 0..20).prop_map(Part::Bytes),
            (0..3_u64).prop_map(Part::Word),
        ];
        prop::collection::vec(part, 0..5)
    }

    proptest! {
        #[test]
        fn different_parts_have_different_prints(a in parts(), b in parts()) {
            prop_assert_eq!(a == b, print(&a) == print(&b));
        }

        #[test]
        fn a_string_has_the_print_of_a_key_of_one_part(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let seed = Seed::new([5, 6]);
            let mut hasher = seed.hasher();
            hasher.bytes(&bytes);
            prop_assert_eq!(seed.bytes(&bytes), hasher.finish());
        }

        #[test]
        fn short_bytes_read_like_padded_ones(bytes in prop::collection::vec(any::<u8>(), 0..8)) {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(&bytes);
            prop_assert_eq!(short(&bytes), u64::from_le_bytes(padded));
        }
    }

    #[test]
    fn prints_of_neighbours_spread_over_the_low_and_the_high_bits() {
        let seed = Seed::new([3, 4]);
        let (mut low, mut high) = ([0; 256], [0; 256]);
        for key in 0..65_536_u64 {
            let print = seed.word(key).0;
            low[usize::from(print.to_le_bytes()[0])] += 1;
            high[usize::from(print.to_le_bytes()[7])] += 1;
        }
        for count in low.into_iter().chain(high) {
            assert!(
                (160..=352).contains(&count),
                "{count} is six deviations from 256"
            );
        }
    }

    #[test]
    fn a_word_and_a_string_are_the_sums_they_are_said_to_be() {
        let seed = Seed::new([1, 2]);
        let [a0, a1, a2, a3, ..] = *seed.factors;
        let upper = |sum: u128| Print(mixed(u64::try_from(sum >> 64).expect("half")));
        let word = seed
            .offset
            .wrapping_add(a0)
            .wrapping_add(a1.wrapping_mul(99));
        assert_eq!(seed.word(99), upper(word));
        let eight = |at: usize| {
            let bytes = b"twenty-one bytes long"[at..at + 8]
                .try_into()
                .expect("eight");
            u128::from(u64::from_le_bytes(bytes))
        };
        let words = [(a0, 44), (a1, eight(0)), (a2, eight(8)), (a3, eight(13))];
        let string = words.iter().fold(seed.offset, |sum, (factor, word)| {
            sum.wrapping_add(factor.wrapping_mul(*word))
        });
        assert_eq!(seed.bytes(b"twenty-one bytes long"), upper(string));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let strings = |parts: &[&str]| {
            print(
                &parts
                    .iter()
                    .map(|p| Part::Bytes(p.as_bytes().to_vec()))
                    .collect::<Vec<_>>(),
            )
        };
        assert_ne!(strings(&["ab", "c"]), strings(&["a", "bc"]));
        assert_ne!(strings(&["abc", ""]), strings(&["abc"]));
        assert_ne!(strings(&["\0"]), strings(&[""]));
    }

    #[test]
    fn many_parts_are_told_apart_by_their_kinds() {
        let mut prints: Vec<_> = (50..70)
            .flat_map(|n| {
                let words = vec![Part::Word(0); n];
                let mut last = words.clone();
                last[n - 1] = Part::Bytes(Vec::new());
                [print(&words), print(&last)]
            })
            .collect();
        prints.sort();
        prints.dedup();
        assert_eq!(prints.len(), 40);
    }

    #[test]
    fn long_strings_differ_by_length_alone() {
        let mut prints: Vec<_> = (240..270)
            .map(|n| Seed::new([1, 2]).bytes(&vec![0; n]))
            .collect();
        prints.sort();
        prints.dedup();
        assert_eq!(prints.len(), 30);
    }

    #[test]
    fn the_seed_is_its_bytes_and_stays_secret() {
        let mut bytes = [0; 16];
        bytes[0] = 1;
        bytes[8] = 2;
        assert_eq!(Seed::from_bytes(bytes).word(7), Seed::new([1, 2]).word(7));
        assert_ne!(Seed::new([1, 2]).word(7), Seed::new([1, 3]).word(7));
        assert_eq!(format!("{:?}", Seed::new([1, 2])), "Seed(..)");
    }
}
