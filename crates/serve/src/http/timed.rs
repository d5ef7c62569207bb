//! Time limits that hyper does not have: for a head that began, for a connection without requests, for an answer that
//! is not taken.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::shared::Stream;

/// What goes on in a connection, as far as its time limits must know.
#[derive(Default)]
pub(super) struct Pace {
    /// Requests that are worked on.
    working: AtomicUsize,
    /// Requests that were begun so far.
    begun: AtomicU64,
}

impl Pace {
    /// A request was read whole but for its body.
    pub(super) fn enter(self: &Arc<Self>) -> AtWork {
        self.working.fetch_add(1, Ordering::Relaxed);
        self.begun.fetch_add(1, Ordering::Relaxed);
        AtWork(Arc::clone(self))
    }

    /// Waits until there was no request for so long.
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

/// A request that is worked on, until it is dropped.
pub(super) struct AtWork(Arc<Pace>);

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.working.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream with time limits.
pub(super) struct Timed<S> {
    stream: S,
    /// What goes on in a connection of HTTP/1, where bytes between requests begin a head.
    pace: Option<Arc<Pace>>,
    slow: Duration,
    /// Runs while the other side does not take what is written.
    writing: Option<Pin<Box<Sleep>>>,
    /// Runs while a head is read, and the number of requests before it.
    heading: Option<(Pin<Box<Sleep>>, u64)>,
}

impl<S> Timed<S> {
    pub(super) const fn new(stream: S, slow: Duration, pace: Option<Arc<Pace>>) -> Self {
        Self {
            stream,
            pace,
            slow,
            writing: None,
            heading: None,
        }
    }

    /// Whether a head takes too long: bytes came, and no request of them.
    fn is_head_late(&mut self, context: &mut Context<'_>) -> bool {
        let (Some((sleep, begun)), Some(pace)) = (&mut self.heading, &self.pace) else {
            return false;
        };
        if *begun != pace.begun.load(Ordering::Relaxed) {
            self.heading = None;
            return false;
        }
        sleep.as_mut().poll(context).is_ready()
    }

    /// Bytes came: a head begins unless one did, or a body is read.
    fn came(&mut self) {
        let Some(pace) = &self.pace else {
            return;
        };
        let begun = pace.begun.load(Ordering::Relaxed);
        let is_head = pace.working.load(Ordering::Relaxed) == 0;
        if is_head
            && self
                .heading
                .as_ref()
                .is_none_or(|(_, before)| *before != begun)
        {
            self.heading = Some((Box::pin(sleep(self.slow)), begun));
        }
    }

    /// An outcome of writing, or an error where the other side does not take anything for too long.
    fn paced<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.writing = None;
            return outcome;
        }
        let slow = self.slow;
        let writing = self.writing.get_or_insert_with(|| Box::pin(sleep(slow)));
        if writing.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
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
        let before = out.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut self.stream).poll_read(context, out) {
            if out.filled().len() > before {
                self.came();
            }
            return Poll::Ready(read);
        }
        if self.is_head_late(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }
}

impl<S: Stream> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.paced(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.paced(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.paced(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        self.paced(context, outcome)
    }
}
