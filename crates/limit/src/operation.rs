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
}
