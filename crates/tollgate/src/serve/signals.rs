//! Signals: stop, stop at once, read again.

use std::io;
use std::process;
use std::thread;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tollgate_serve::run::Running;

use crate::failure::Failure;

/// The signals a server obeys, caught from the moment this exists.
pub(super) struct Signals {
    runtime: Runtime,
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

enum Heard {
    Stop { code: i32 },
    Reload,
}

impl Signals {
    pub(super) fn catch() -> Result<Self, Failure> {
        let caught = || -> io::Result<Self> {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let context = runtime.enter();
            let interrupt = signal(SignalKind::interrupt())?;
            let terminate = signal(SignalKind::terminate())?;
            let hang_up = signal(SignalKind::hangup())?;
            drop(context);
            Ok(Self {
                runtime,
                interrupt,
                terminate,
                hang_up,
            })
        };
        caught().map_err(|error| Failure::system("cannot catch signals", &error))
    }

    /// Keeps the server until a signal says to stop.
    pub(super) fn obey(mut self, running: Running) -> Result<(), Failure> {
        while let Heard::Reload = self.next() {
            // The outcome is logged, counted and remembered.
            let _ = running.reload();
        }
        self.exit_at_the_next();
        running.stop().map_err(|error| Failure::lost(&error))
    }

    fn next(&mut self) -> Heard {
        let Self {
            runtime,
            interrupt,
            terminate,
            hang_up,
        } = self;
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => Heard::Stop { code: 130 },
                _ = terminate.recv() => Heard::Stop { code: 143 },
                _ = hang_up.recv() => Heard::Reload,
            }
        })
    }

    /// Whoever asks twice will not wait for connections.
    fn exit_at_the_next(mut self) {
        thread::spawn(move || {
            loop {
                if let Heard::Stop { code } = self.next() {
                    process::exit(code);
                }
            }
        });
    }
}
