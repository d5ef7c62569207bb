//! SipHash-2-4, the hash that places keys and numbers nodes.
//!
//! It is written out here because every node, build and year must agree on it. Not here: hash tables.

/// SipHash-2-4 of `bytes` under a key of 16 bytes, both halves little-endian.
pub fn siphash24(key: &[u8; 16], bytes: &[u8]) -> u64 {
    let mut state = State::new(key);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        state.absorb(u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    // The top byte of the last word is the length, modulo 256.
    last[7] = bytes.len().to_le_bytes()[0];
    state.absorb(u64::from_le_bytes(last));
    state.finish()
}

struct State([u64; 4]);

impl State {
    fn new(key: &[u8; 16]) -> Self {
        let (halves, _) = key.as_chunks::<8>();
        let [k0, k1] = match halves {
            [k0, k1] => [u64::from_le_bytes(*k0), u64::from_le_bytes(*k1)],
            _ => [0, 0],
        };
        Self([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ])
    }

    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.round();
        self.0[0] ^= word;
    }

    fn finish(mut self) -> u64 {
        self.0[2] ^= 0xff;
        for _ in 0..4 {
            self.round();
        }
        let [a, b, c, d] = self.0;
        a ^ b ^ c ^ d
    }

    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.0;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        self.0 = [a, b, c, d];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
