//! Time limits of an HTTP/2 connection: idle, and written but not read by the client.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::shared::Stream;

/// What the time limits of a connection must know.
#[derive(Default)]
pub(super) struct ConnectionTimes {
    /// Requests under way.
    working: AtomicUsize,
    /// Requests started so far.
    begun: AtomicU64,
}

impl ConnectionTimes {
    /// Call when the head of a request was read.
    pub(super) fn enter(self: &Arc<Self>) -> AtWork {
        self.working.fetch_add(1, Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::Relaxed);
        AtWork(Arc::clone(self))
    }

    /// Waits until there was no request for this long.
    pub(super) async fn idle(&self, idle: Duration) {
        let mut seen = self.begun.load(Ordering::Relaxed);
        loop {
            sleep(idle).await;
            let begun = self.begun.load(Ordering::Relaxed);
            if begun == seen && self.working.load(Ordering::Relaxed) == 0 {
                return;
            }
            seen = begun;
        }
    }
}

/// A request under way, until it is dropped.
pub(super) struct AtWork(Arc<ConnectionTimes>);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.working.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream whose other end must read what is written.
pub(super) struct Timed<S> {
    stream: S,
    slow: Duration,
    /// Runs while unread output remains, with how much was read since it began.
    writing: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> Timed<S> {
    pub(super) const fn new(stream: S, slow: Duration) -> Self {
        Self {
            stream,
            slow,
            writing: None,
        }
    }

    /// The outcome of a write, or an error if the other end reads too slowly.
    fn paced<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
        taken: impl FnOnce(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        match &outcome {
            Poll::Ready(Ok(done)) => {
                if let Some((_, sum)) = &mut self.writing {
                    *sum += taken(done);
                }
                return outcome;
            }
            Poll::Ready(Err(_)) => return outcome,
            Poll::Pending => {}
        }
        let slow = self.slow;
        let begin = || (Box::pin(sleep(slow)), 0);
        let (sleep, taken) = self.writing.get_or_insert_with(begin);
        while sleep.as_mut().poll(context).is_ready() {
            if *taken < TAKEN_MIN {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            *taken = 0;
            sleep.as_mut().reset(Instant::now() + slow);
        }
        Poll::Pending
    }
}

impl<S: Stream> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, out)
    }
}

impl<S: Stream> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.paced(context, outcome, |count| *count)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.paced(context, outcome, |count| *count)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        if outcome.is_ready() {
            // Everything was read.
            self.writing = None;
        }
        self.paced(context, outcome, |()| 0)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        self.paced(context, outcome, |()| 0)
    }
}

/// Bytes that the other end must read within the write timeout.
const TAKEN_MIN: usize = 16 << 10;
