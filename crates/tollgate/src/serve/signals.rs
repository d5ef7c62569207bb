//! Signals: stop, stop at once, reload.

use std::io;
use std::process;
use std::thread;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tollgate_serve::cluster::Fatal;
use tollgate_serve::run::Running;

use crate::failure::Failure;

/// The signals a server obeys, caught from the moment this exists.
pub(crate) struct Signals {
    runtime: Runtime,
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

enum Heard {
    Stop {
        code: i32,
    },
    Reload,
    /// The server reports that it must stop.
    Fatal(Fatal),
}

/// Reports why the server must stop, if it can.
type Watched = Option<watch::Receiver<Option<Fatal>>>;

impl Signals {
    pub(crate) fn catch() -> Result<Self, Failure> {
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

    /// Keeps the server until a stop signal. `before` runs before the server stops.
    ///
    /// SIGTERM comes from a supervisor: clients are sent elsewhere first. SIGINT comes from a person at a terminal, who
    /// does not want to wait.
    pub(crate) fn obey(mut self, running: Running, before: impl FnOnce()) -> Result<(), Failure> {
        let mut watched = running.fatal();
        let (fatal, leaves) = loop {
            match self.next(&mut watched) {
                // The outcome is logged, counted and remembered.
                Heard::Reload => drop(running.reload()),
                Heard::Stop { code } => break (None, code == TERMINATED),
                Heard::Fatal(fatal) => break (Some(fatal), false),
            }
        };
        self.exit_at_the_next();
        if leaves {
            running.leave();
        }
        before();
        running.stop().map_err(|error| Failure::lost(&error))?;
        fatal.map_or(Ok(()), |fatal| Err(Failure::fatal(&fatal)))
    }

    fn next(&mut self, watched: &mut Watched) -> Heard {
        let Self {
            runtime,
            interrupt,
            terminate,
            hang_up,
        } = self;
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => Heard::Stop { code: INTERRUPTED },
                _ = terminate.recv() => Heard::Stop { code: TERMINATED },
                _ = hang_up.recv() => Heard::Reload,
                fatal = fatal(watched) => Heard::Fatal(fatal),
            }
        })
    }

    /// A second signal does not wait for connections.
    fn exit_at_the_next(mut self) {
        thread::spawn(move || {
            loop {
                if let Heard::Stop { code } = self.next(&mut None) {
                    process::exit(code);
                }
            }
        });
    }
}

/// Waits until the server must stop; possibly for ever.
async fn fatal(watched: &mut Watched) -> Fatal {
    if let Some(watched) = watched
        && let Ok(fatal) = watched.wait_for(Option::is_some).await
        && let Some(fatal) = &*fatal
    {
        return fatal.clone();
    }
    std::future::pending().await
}

/// The codes of processes that these signals end.
const INTERRUPTED: i32 = 130;
const TERMINATED: i32 = 143;
