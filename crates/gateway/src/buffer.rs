//! Bytes that have arrived and are not dealt with, and writing that does not wait for ever.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::stream::ByteSource;

/// Bytes asked for at once.
pub(crate) const CHUNK: usize = 1 << 14;

/// Bytes that have arrived. Whoever reads more keeps to a bound by not asking while enough are there.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Forgets the first so many bytes.
    pub(crate) fn consume(&mut self, done: usize) {
        self.0.drain(..done);
        if self.0.is_empty() && self.0.capacity() > 4 * CHUNK {
            // A large head has passed.
            self.0 = Vec::new();
        }
    }

    /// Reads more; says how many bytes there were, zero at the end. Nothing is lost where it is given up.
    pub(crate) async fn fill(&mut self, from: &mut ByteSource) -> io::Result<usize> {
        from.read_some(&mut self.0, CHUNK).await
    }
}

/// Writes all of it, as long as some of it is taken now and then.
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
    // What was taken may have been sealed and not sent.
    match timeout(stall, to.flush()).await {
        Err(_) => Err(BufferError::Stalled),
        Ok(Err(_)) => Err(BufferError::Gone),
        Ok(Ok(())) => Ok(()),
    }
}

/// Why nothing can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferError {
    /// Nobody is there.
    Gone,
    /// Nothing was taken for too long.
    Stalled,
}
