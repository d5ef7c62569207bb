//! What waits to be written to one stream, bounded: of messages the oldest goes when there is no room, a request is
//! turned away at once. And the questions whose answers are awaited.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, oneshot};

use super::handle::RequestError;
use super::wire::{self, ResponseStatus};

/// What waits to be written to one stream.
#[derive(Default)]
pub(super) struct Outlet {
    queue: Mutex<Queue>,
    filled: Notify,
    awaited: Mutex<BTreeMap<u64, oneshot::Sender<Result<Bytes, RequestError>>>>,
    next: AtomicU64,
    /// Whether the last attempt to connect failed and the next is not due.
    is_down: AtomicBool,
    /// Whether something was taken from the queue and is not written yet.
    is_writing: AtomicBool,
    /// Messages dropped for want of room, or because they could not be sent.
    dropped: AtomicU64,
    /// Bytes written to the node, before they are sealed, by every stream to it.
    written: Arc<AtomicU64>,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<(Vec<u8>, bool)>,
    bytes: usize,
}

impl Queue {
    fn push(&mut self, frame: Vec<u8>, is_message: bool) {
        self.bytes += frame.len();
        self.frames.push_back((frame, is_message));
    }

    fn is_full(&self, more: usize) -> bool {
        self.bytes + more > QUEUE_BYTES_MAX || self.frames.len() >= QUEUE_FRAMES_MAX
    }

    fn pop(&mut self) -> Option<(Vec<u8>, bool)> {
        let (frame, is_message) = self.frames.pop_front()?;
        self.bytes -= frame.len();
        Some((frame, is_message))
    }
}

impl Outlet {
    /// For another stream to the same node.
    pub(super) fn beside(other: &Self) -> Self {
        Self {
            written: Arc::clone(&other.written),
            ..Self::default()
        }
    }

    /// Leaves a message; the oldest frames go where there is no room.
    pub(super) fn message(&self, bytes: &[u8]) {
        let Some(frame) = wire::message(bytes) else {
            self.dropped.fetch_add(1, Relaxed);
            return;
        };
        let mut queue = self.queue.lock();
        while queue.is_full(frame.len()) && queue.pop().is_some() {
            self.dropped.fetch_add(1, Relaxed);
        }
        queue.push(frame, true);
        drop(queue);
        self.filled.notify_one();
    }

    /// Leaves a question, and says where its answer will be.
    pub(super) fn request(&self, kind: u8, body: &[u8]) -> Result<Awaited<'_>, RequestError> {
        if self.is_down.load(Relaxed) {
            return Err(RequestError::Unreachable);
        }
        let number = self.next.fetch_add(1, Relaxed);
        let frame = wire::request(number, kind, body).ok_or(RequestError::TooLong)?;
        let (sender, answer) = oneshot::channel();
        let mut awaited = self.awaited.lock();
        if awaited.len() >= AWAITED_MAX {
            return Err(RequestError::Busy);
        }
        awaited.insert(number, sender);
        drop(awaited);
        let awaited = Awaited {
            outlet: self,
            number,
            answer,
        };
        let mut queue = self.queue.lock();
        if queue.is_full(frame.len()) {
            return Err(RequestError::Busy);
        }
        queue.push(frame, false);
        drop(queue);
        self.filled.notify_one();
        Ok(awaited)
    }

    /// Leaves an answer; whoever asks more than it reads has it dropped.
    pub(super) fn answer(&self, number: u64, outcome: ResponseStatus, body: &[u8]) {
        let frame = wire::answer(number, outcome, body);
        let mut queue = self.queue.lock();
        if queue.is_full(frame.len()) {
            self.dropped.fetch_add(1, Relaxed);
            return;
        }
        queue.push(frame, false);
        drop(queue);
        self.filled.notify_one();
    }

    /// An answer came.
    pub(super) fn answered(&self, number: u64, outcome: ResponseStatus, body: Bytes) {
        let awaited = self.awaited.lock().remove(&number);
        let result = match outcome {
            ResponseStatus::Done => Ok(body),
            ResponseStatus::Refused => Err(RequestError::Refused),
            ResponseStatus::Busy => Err(RequestError::Busy),
        };
        if let Some(awaited) = awaited {
            // Whoever asked may have stopped waiting.
            let _ = awaited.send(result);
        }
    }

    /// The stream is gone: nobody answers what was asked, and questions that wait are not asked later.
    pub(super) fn fail(&self) {
        let awaited = std::mem::take(&mut *self.awaited.lock());
        for (_, sender) in awaited {
            let _ = sender.send(Err(RequestError::Unreachable));
        }
        let mut queue = self.queue.lock();
        self.is_writing.store(false, Relaxed);
        queue.frames.retain(|(_, is_message)| *is_message);
        queue.bytes = queue.frames.iter().map(|(frame, _)| frame.len()).sum();
    }

    /// Whether questions are turned away because nobody can be reached.
    pub(super) fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Relaxed);
    }

    /// Whether questions are turned away.
    pub(super) fn is_down(&self) -> bool {
        self.is_down.load(Relaxed)
    }

    /// Waits until something is there to be written.
    pub(super) async fn filled(&self) {
        while self.is_empty() {
            self.filled.notified().await;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.lock().frames.is_empty()
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Relaxed)
    }

    pub(super) fn written(&self) -> u64 {
        self.written.load(Relaxed)
    }

    /// Whether all that was left here is written.
    pub(super) fn is_idle(&self) -> bool {
        let queue = self.queue.lock();
        queue.frames.is_empty() && !self.is_writing.load(Relaxed)
    }

    fn take_into(&self, buffer: &mut Vec<u8>) {
        let mut queue = self.queue.lock();
        self.is_writing.store(true, Relaxed);
        while buffer.len() < WRITE_BYTES
            && let Some((frame, _)) = queue.pop()
        {
            buffer.extend(frame);
        }
    }

    /// Writes whatever is left here, for as long as the stream takes it.
    pub(super) async fn write_to(
        &self,
        stream: &mut (impl AsyncWrite + Unpin),
    ) -> std::io::Result<()> {
        let mut buffer = Vec::new();
        loop {
            self.filled().await;
            self.take_into(&mut buffer);
            stream.write_all(&buffer).await?;
            stream.flush().await?;
            self.is_writing.store(false, Relaxed);
            self.written.fetch_add(buffer.len() as u64, Relaxed);
            buffer.clear();
        }
    }
}

/// An answer that is awaited; nobody waits for it any more when this is gone.
pub(super) struct Awaited<'o> {
    outlet: &'o Outlet,
    number: u64,
    answer: oneshot::Receiver<Result<Bytes, RequestError>>,
}

impl Awaited<'_> {
    pub(super) async fn answer(mut self) -> Result<Bytes, RequestError> {
        let answer = (&mut self.answer).await;
        answer.unwrap_or(Err(RequestError::Unreachable))
    }
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        self.outlet.awaited.lock().remove(&self.number);
    }
}

/// The most that waits for one stream.
const QUEUE_BYTES_MAX: usize = 32 << 20;
const QUEUE_FRAMES_MAX: usize = 16 << 10;
/// The most questions to one node without an answer.
const AWAITED_MAX: usize = 8 << 10;
/// About as much as is written at once.
const WRITE_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_message_goes_and_a_question_is_turned_away() {
        let outlet = Outlet::default();
        let message = vec![1; 1 << 20];
        for _ in 0..40 {
            outlet.message(&message);
        }
        assert!(outlet.queue.lock().bytes <= QUEUE_BYTES_MAX);
        assert_eq!(outlet.dropped(), 9);
        let asked = outlet.request(1, &message);
        assert!(matches!(asked, Err(RequestError::Busy)));
        assert!(outlet.awaited.lock().is_empty());
    }

    #[tokio::test]
    async fn a_stream_that_goes_fails_its_questions_and_keeps_messages() {
        let outlet = Outlet::default();
        outlet.message(b"kept");
        let asked = outlet.request(1, b"q").unwrap();
        outlet.fail();
        assert_eq!(asked.answer().await, Err(RequestError::Unreachable));
        assert_eq!(outlet.queue.lock().frames.len(), 1);
        outlet.set_down(true);
        assert!(matches!(
            outlet.request(1, b"q"),
            Err(RequestError::Unreachable)
        ));
    }

    #[tokio::test]
    async fn an_answer_reaches_whoever_asked_and_nobody_else() {
        let outlet = Outlet::default();
        let first = outlet.request(1, b"").unwrap();
        let second = outlet.request(1, b"").unwrap();
        outlet.answered(1, ResponseStatus::Done, Bytes::from_static(b"2"));
        outlet.answered(77, ResponseStatus::Done, Bytes::new());
        outlet.answered(0, ResponseStatus::Refused, Bytes::new());
        assert_eq!(second.answer().await, Ok(Bytes::from_static(b"2")));
        assert_eq!(first.answer().await, Err(RequestError::Refused));
        assert!(outlet.awaited.lock().is_empty());
    }
}
