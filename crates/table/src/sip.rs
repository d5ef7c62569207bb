//! SipHash-1-3 over whole words.
//!
//! Not here: the framing that turns keys into words (`print.rs`).

/// The state of one hash in the making.
#[derive(Clone, Copy)]
pub(crate) struct Sip {
    v0: u64,
    v1: u64,
    v2: u64,
    v3: u64,
}

impl Sip {
    /// A hash under the key of these two words.
    #[inline]
    pub(crate) fn new([k0, k1]: [u64; 2]) -> Self {
        Self {
            v0: k0 ^ 0x736f_6d65_7073_6575,
            v1: k1 ^ 0x646f_7261_6e64_6f6d,
            v2: k0 ^ 0x6c79_6765_6e65_7261,
            v3: k1 ^ 0x7465_6462_7974_6573,
        }
    }

    /// Takes in eight bytes, first byte lowest.
    #[inline]
    pub(crate) fn word(&mut self, word: u64) {
        self.v3 ^= word;
        self.round();
        self.v0 ^= word;
    }

    /// The hash, after the closing word that the algorithm asks for: up to seven bytes, then the
    /// length of the message.
    #[inline]
    pub(crate) fn finish(mut self, closing: u64) -> u64 {
        self.word(closing);
        self.v2 ^= 0xff;
        self.round();
        self.round();
        self.round();
        self.v0 ^ self.v1 ^ self.v2 ^ self.v3
    }

    #[inline]
    fn round(&mut self) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use siphasher::sip::SipHasher13;

    #[test]
    fn agrees_with_the_reference_on_whole_words() {
        for words in 0..9_u64 {
            let mut ours = Sip::new([3, u64::MAX / 5]);
            let mut message = Vec::new();
            for word in (0..words).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
                ours.word(word);
                message.extend(word.to_le_bytes());
            }
            let reference = SipHasher13::new_with_keys(3, u64::MAX / 5).hash(&message);
            assert_eq!(ours.finish((words * 8) << 56), reference);
        }
    }
}
