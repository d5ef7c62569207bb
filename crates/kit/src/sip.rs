//! `SipHash`: a hash that nothing can steer without its key.
//!
//! It is written out here because every node, build and year must agree on it. Not here: hash tables.

/// A hash in the making, with so many rounds for each word and at the end.
#[derive(Clone, Copy)]
pub struct Sip<const EACH: usize, const LAST: usize> {
    v0: u64,
    v1: u64,
    v2: u64,
    v3: u64,
}

impl<const EACH: usize, const LAST: usize> Sip<EACH, LAST> {
    /// A hash under the key of these two words.
    #[inline]
    pub const fn new([k0, k1]: [u64; 2]) -> Self {
        Self {
            v0: k0 ^ 0x736f_6d65_7073_6575,
            v1: k1 ^ 0x646f_7261_6e64_6f6d,
            v2: k0 ^ 0x6c79_6765_6e65_7261,
            v3: k1 ^ 0x7465_6462_7974_6573,
        }
    }

    /// Takes in eight bytes, first byte lowest.
    #[inline]
    pub fn word(&mut self, word: u64) {
        self.v3 ^= word;
        for _ in 0..EACH {
            self.round();
        }
        self.v0 ^= word;
    }

    /// The hash, after the closing word that the algorithm asks for: up to seven bytes, then the length of the message.
    #[inline]
    pub fn finish(mut self, closing: u64) -> u64 {
        self.word(closing);
        self.v2 ^= 0xff;
        for _ in 0..LAST {
            self.round();
        }
        self.v0 ^ self.v1 ^ self.v2 ^ self.v3
    }

    #[inline]
    const fn round(&mut self) {
        self.v0 = self.v0.wrapping_add(self.v1);
        self.v1 = self.v1.rotate_left(13) ^ self.v0;
        self.v0 = self.v0.rotate_left(32);
        self.v2 = self.v2.wrapping_add(self.v3);
        self.v3 = self.v3.rotate_left(16) ^ self.v2;
        self.v0 = self.v0.wrapping_add(self.v3);
        self.v3 = self.v3.rotate_left(21) ^ self.v0;
        self.v2 = self.v2.wrapping_add(self.v1);
        self.v1 = self.v1.rotate_left(17) ^ self.v2;
        self.v2 = self.v2.rotate_left(32);
    }
}

/// SipHash-2-4 of `bytes` under a key of 16 bytes, both halves little-endian.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the halves are what is wanted"
)]
pub fn siphash24(key: &[u8; 16], bytes: &[u8]) -> u64 {
    let whole = u128::from_le_bytes(*key);
    let mut sip = Sip::<2, 4>::new([whole as u64, (whole >> 64) as u64]);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        sip.word(u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    // The top byte of the last word is the length, modulo 256.
    last[7] = bytes.len().to_le_bytes()[0];
    sip.finish(u64::from_le_bytes(last))
}

#[cfg(test)]
mod tests {
    use siphasher::sip::SipHasher13;

    use super::*;

    #[test]
    fn agrees_with_the_reference_on_whole_words() {
        for words in 0..9_u64 {
            let mut ours = Sip::<1, 3>::new([3, u64::MAX / 5]);
            let mut message = Vec::new();
            for word in (0..words).map(|i| i.wrapping_mul(crate::GOLDEN)) {
                ours.word(word);
                message.extend(word.to_le_bytes());
            }
            let reference = SipHasher13::new_with_keys(3, u64::MAX / 5).hash(&message);
            assert_eq!(ours.finish((words * 8) << 56), reference);
        }
    }

    /// The vectors of the hash's authors: key 00..0f, message 00..n.
    #[test]
    fn agrees_with_the_published_vectors() {
        let key: [u8; 16] = std::array::from_fn(|at| u8::try_from(at).unwrap());
        let message: Vec<u8> = (0..64).collect();
        assert_eq!(siphash24(&key, &[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(siphash24(&key, &message[..1]), 0x74f8_39c5_93dc_67fd);
        assert_eq!(siphash24(&key, &message[..8]), 0x93f5_f579_9a93_2462);
        assert_eq!(siphash24(&key, &message[..15]), 0xa129_ca61_49be_45e5);
        assert_eq!(siphash24(&key, &message[..63]), 0x958a_324c_eb06_4572);
    }
}
