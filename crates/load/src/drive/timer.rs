//! A timer polled with the sockets, exact to microseconds; a poll timeout is exact to a millisecond.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

pub(crate) struct Timer {
    clock: OwnedFd,
    /// When it fires, if it is set.
    at: Option<u64>,
}

impl Timer {
    pub(crate) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let clock = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        registry.register(&mut SourceFd(&clock.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Self { clock, at: None })
    }

    /// Fires at `at`; both in nanoseconds from the start of the run.
    pub(crate) fn set(&mut self, at: u64, now: u64) -> io::Result<()> {
        if self.at == Some(at) {
            return Ok(());
        }
        // Zero would turn it off.
        let wait = at.saturating_sub(now).max(1);
        let value = Timespec {
            tv_sec: i64::try_from(wait / NS_PER_S).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(wait % NS_PER_S).unwrap_or_default(),
        };
        let once = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: value,
        };
        rustix::time::timerfd_settime(&self.clock, TimerfdTimerFlags::empty(), &once)?;
        self.at = Some(at);
        Ok(())
    }

    /// It fired. Setting it again resets it, so that nothing need be read.
    pub(crate) fn rang(&mut self) {
        self.at = None;
    }
}

const NS_PER_S: u64 = 1_000_000_000;
