//! The gateway's own packets to a client, queued until they fit between two packets of the broker.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Bound on queued bytes. Beyond it, the gateway stops reading from the client.
const BYTES_MAX: usize = 4096;

/// Bytes, and whether they are the last.
#[derive(Debug, Default)]
pub(crate) struct ClientOutbox {
    words: Mutex<OutboxBytes>,
    filled: Notify,
    taken: Notify,
}

#[derive(Debug, Default)]
pub(crate) struct OutboxBytes {
    pub(crate) bytes: Vec<u8>,
    pub(crate) are_last: bool,
}

impl ClientOutbox {
    /// Waits for room.
    pub(crate) async fn say(&self, bytes: &[u8]) {
        loop {
            let room = self.taken.notified();
            if self.put(bytes) {
                break;
            }
            room.await;
        }
        self.filled.notify_one();
    }

    fn put(&self, bytes: &[u8]) -> bool {
        let mut words = self.words();
        let fits = words.bytes.len() + bytes.len() <= BYTES_MAX;
        if fits {
            words.bytes.extend(bytes);
        }
        fits
    }

    /// Queues the final packet; later ones are dropped.
    pub(crate) fn end(&self, bytes: &[u8]) {
        let mut words = self.words();
        words.bytes.extend(bytes);
        words.are_last = true;
        drop(words);
        self.filled.notify_one();
    }

    pub(crate) fn take(&self) -> OutboxBytes {
        let mut words = self.words();
        let bytes = mem::take(&mut words.bytes);
        let are_last = words.are_last;
        drop(words);
        if !bytes.is_empty() {
            self.taken.notify_one();
        }
        OutboxBytes { bytes, are_last }
    }

    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }

    fn words(&self) -> MutexGuard<'_, OutboxBytes> {
        // No code panics while it is held.
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
