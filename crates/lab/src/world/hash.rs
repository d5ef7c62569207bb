//! A fingerprint of everything that happened, in order, the same on every machine.
//!
//! Not here: protection against anybody who wants two runs to look alike.

/// Takes numbers and bytes in; FNV-1a over words of eight bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventHash(u64);

impl EventHash {
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn word(&mut self, word: u64) {
        // The rotation brings high bits back down, which multiplying alone never does.
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        self.word(u64::from_le_bytes(last));
        self.word(bytes.len() as u64);
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}
