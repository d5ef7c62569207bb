//! A header field's value under construction.

/// Bytes that stay on the stack while they are few.
pub(crate) struct FieldValue {
    few: [u8; FEW],
    length: usize,
    /// All bytes, once they are many.
    many: Vec<u8>,
}

impl FieldValue {
    pub(crate) const fn new() -> Self {
        Self {
            few: [0; FEW],
            length: 0,
            many: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        match self.few.get_mut(self.length..end) {
            Some(room) => room.copy_from_slice(bytes),
            None => self.put_many(bytes),
        }
        self.length = end;
    }

    #[inline]
    pub(crate) fn number(&mut self, number: u64) {
        self.put(itoa::Buffer::new().format(number).as_bytes());
    }

    #[inline(never)]
    fn put_many(&mut self, bytes: &[u8]) {
        if self.many.is_empty() {
            let few = self.few.get(..self.length);
            self.many.extend_from_slice(few.unwrap_or_default());
        }
        self.many.extend_from_slice(bytes);
    }

    pub(crate) fn clear(&mut self) {
        self.length = 0;
        self.many.clear();
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.few.get(..self.length).unwrap_or(&self.many)
    }
}

/// Fits one policy with a name of ordinary length.
const FEW: usize = 128;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_value_is_what_was_put(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..8)) {
            let mut value = FieldValue::new();
            for _ in 0..2 {
                value.clear();
                for part in &parts {
                    value.put(part);
                }
                prop_assert_eq!(value.as_bytes(), parts.concat());
            }
        }
    }
}
