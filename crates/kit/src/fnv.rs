//! FNV-1a, for names that only have to differ: anyone can make two that are alike.

/// The hash of nothing.
pub const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of what was hashed before and these bytes behind it.
pub const fn fnv(mut hash: u64, mut bytes: &[u8]) -> u64 {
    while let [byte, rest @ ..] = bytes {
        hash = (hash ^ *byte as u64).wrapping_mul(0x0100_0000_01b3);
        bytes = rest;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_published_vectors() {
        assert_eq!(fnv(FNV, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(FNV, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv(fnv(FNV, b"foo"), b"bar"), 0x8594_4171_f739_67e8);
    }
}
