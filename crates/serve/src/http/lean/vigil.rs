//! What a connection waits for besides bytes: its timeout, and the server's stop.
//!
//! Both are polled only when a task wakes and finds no bytes, as they otherwise cost more than a request.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

use crate::shared::Stop;

pub(super) struct Vigil {
    sleep: Pin<Box<Sleep>>,
    stop: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Whether both will wake the task.
    is_armed: bool,
}

/// What happened meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// The timeout passed.
    Late,
    /// The server stops.
    Stopped,
}

impl Vigil {
    pub(super) fn new(mut stop: Stop, time: Duration) -> Self {
        Self {
            sleep: Box::pin(sleep(time)),
            stop: Some(Box::pin(async move { stop.given().await })),
            is_armed: false,
        }
    }

    pub(super) fn set(&mut self, time: Duration) {
        self.sleep.as_mut().reset(Instant::now() + time);
        self.is_armed = false;
    }

    /// Another future polled in between may have taken a wake-up meant for this one.
    pub(super) const fn disarm(&mut self) {
        self.is_armed = false;
    }

    /// Whether both will wake the task. False after a timeout that passed unnoticed while bytes came.
    pub(super) fn is_armed(&self) -> bool {
        self.is_armed && !self.sleep.is_elapsed()
    }

    /// Polls both, so that they wake the task.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Woken> {
        if let Some(stop) = &mut self.stop
            && stop.as_mut().poll(context).is_ready()
        {
            self.stop = None;
            return Poll::Ready(Woken::Stopped);
        }
        if self.sleep.as_mut().poll(context).is_ready() {
            self.is_armed = false;
            return Poll::Ready(Woken::Late);
        }
        self.is_armed = true;
        Poll::Pending
    }
}
