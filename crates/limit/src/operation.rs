//! Names that callers give operations which must happen once. Not here: what is remembered by them (`node`).

use std::sync::Arc;

/// A caller's name for an operation, 1 to 128 bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OperationId(Arc<[u8]>);

impl OperationId {
    /// The longest id.
    pub const BYTES_MAX: usize = 128;

    /// An id of these bytes; `None` where there are none or too many.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (1..=Self::BYTES_MAX)
            .contains(&bytes.len())
            .then(|| Self(bytes.into()))
    }

    /// The id that one of several callers gives an operation: the same bytes of another caller are another id.
    #[must_use]
    pub fn of_caller(&self, caller: u64) -> Self {
        Self([&*self.0, &caller.to_le_bytes()].concat().into())
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_a_length() {
        assert!(OperationId::new(b"").is_none());
        assert!(OperationId::new(&[0; 129]).is_none());
    }

    #[test]
    fn each_caller_has_ids_of_its_own() {
        let id = OperationId::new(&[7; 128]).unwrap();
        let of = |caller| id.of_caller(caller);
        assert!(of(1) == of(1) && of(1) != of(2) && of(1) != id);
    }
}
