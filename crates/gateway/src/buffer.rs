//! Received bytes that are not processed yet, and writes with a timeout.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::stream::ByteSource;

/// Bytes per read.
pub(crate) const CHUNK: usize = 1 << 14;

/// The caller bounds it by not reading while it has enough bytes.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn consume(&mut self, done: usize) {
        self.0.drain(..done);
        if self.0.is_empty() && self.0.capacity() > 4 * CHUNK {
            // Frees the memory of a large head.
            self.0 = Vec::new();
        }
    }

    /// Returns the number of bytes read, zero at the end. Cancel-safe.
    pub(crate) async fn fill(&mut self, from: &mut ByteSource) -> io::Result<usize> {
        from.read_some(&mut self.0, CHUNK).await
    }
}

/// Writes all bytes; fails if the peer accepts none for `stall`.
pub(crate) async fn write(
    to: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    stall: Duration,
) -> Result<(), BufferError> {
    while !bytes.is_empty() {
        match timeout(stall, to.write(bytes)).await {
            Err(_) => return Err(BufferError::Stalled),
            Ok(Err(_) | Ok(0)) => return Err(BufferError::Gone),
            Ok(Ok(count)) => bytes = &bytes[count..],
        }
    }
    // Accepted bytes may be encrypted but not sent yet.
    match timeout(stall, to.flush()).await {
        Err(_) => Err(BufferError::Stalled),
        Ok(Err(_)) => Err(BufferError::Gone),
        Ok(Ok(())) => Ok(()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferError {
    /// The peer has closed.
    Gone,
    /// The peer accepted no byte for too long.
    Stalled,
}
