//! What the gateway itself says to a client, until it is sent between two packets of the broker.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The most bytes that wait to be said. A client that does not read is not read from once they do.
const BYTES_MAX: usize = 4096;

/// Bytes to say, and whether they are the last.
#[derive(Debug, Default)]
pub(crate) struct ClientOutbox {
    words: Mutex<OutboxBytes>,
    /// There is something to say.
    filled: Notify,
    /// There is room.
    taken: Notify,
}

#[derive(Debug, Default)]
pub(crate) struct OutboxBytes {
    pub(crate) bytes: Vec<u8>,
    pub(crate) are_last: bool,
}

impl ClientOutbox {
    /// Says something as soon as there is room for it.
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

    /// Says this, and then nothing more.
    pub(crate) fn end(&self, bytes: &[u8]) {
        let mut words = self.words();
        words.bytes.extend(bytes);
        words.are_last = true;
        drop(words);
        self.filled.notify_one();
    }

    /// What is to be said now.
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

    /// Waits until there is something to say.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }

    fn words(&self) -> MutexGuard<'_, OutboxBytes> {
        // Nothing panics while it is held.
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
