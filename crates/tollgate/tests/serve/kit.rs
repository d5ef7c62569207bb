//! A server process for one test, ended with it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tollgate_parts::wire::{Wire, check};
pub(crate) use tollgate_parts::{Daemon, PATIENCE, until};

pub(crate) const CONTRACTS: &str = "contracts:
  - id: users
    key: [user]
    policies: [{ name: daily, limit: 100, per: 1d, algorithm: fixed-window, durable: true }]
";

/// The command, with nothing of the environment that a developer may have set.
pub(crate) fn tollgate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TOLLGATE_") {
            command.env_remove(name);
        }
    }
    // Nobody has to be sent elsewhere.
    command.env("TOLLGATE_SHUTDOWN_DELAY", "0s");
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs a command that ends by itself.
pub(crate) fn run(arguments: &[&str]) -> Output {
    tollgate(arguments).output().unwrap()
}

#[track_caller]
pub(crate) fn refused(output: &Output, code: i32, said: &[&str]) {
    tollgate_parts::refused(output, code, said);
    assert!(output.stdout.is_empty(), "nothing is said to serve");
}

/// A running server.
pub(crate) struct Server {
    daemon: Daemon,
    pub(crate) http: SocketAddr,
    pub(crate) resp: SocketAddr,
}

impl std::ops::Deref for Server {
    type Target = Daemon;

    fn deref(&self) -> &Daemon {
        &self.daemon
    }
}

impl Server {
    /// Serves at free ports with its data in `folder`.
    pub(crate) fn start(folder: &Path, more: &[&str]) -> Self {
        Self::spawn(serve().arg("--data-dir").arg(folder).args(more))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let daemon = Daemon::spawn(command);
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
        Self {
            http: daemon.listens("http").unwrap_or(nowhere),
            resp: daemon.listens("resp").unwrap_or(nowhere),
            daemon,
        }
    }

    /// Waits for the end; gives the exit code and what was said on standard error.
    pub(crate) fn end(self) -> (Option<i32>, String) {
        self.daemon.end()
    }

    /// How many tokens a user has left after taking one.
    pub(crate) fn take(&self, user: &str) -> u64 {
        self.try_take(user).unwrap()
    }

    /// The same; `None` where the server is gone.
    pub(crate) fn try_take(&self, user: &str) -> Option<u64> {
        let mut wire = Wire::try_to(self.http).ok()?;
        wire.try_send(check("user", user)).ok()?;
        let reply = wire.try_reply().ok()?;
        let remaining = reply.json()["remaining"].as_u64();
        Some(remaining.unwrap_or_else(|| panic!("{reply:?}")))
    }
}

/// The command that serves at free ports and says where.
pub(crate) fn serve() -> Command {
    let mut command = tollgate(&["serve", "--format", "json", "--http", "127.0.0.1:0"]);
    command.args(["--resp", "127.0.0.1:0"]);
    command
}

/// Settings of a server on a catalogue in a folder, whose requests wait for terms however busy the machine is.
pub(crate) fn patient(folder: &Path, catalogue: &str) -> PathBuf {
    let settings = format!("catalogue: {{ path: {catalogue}, deadline: 30s }}\n");
    file(folder, "settings.yaml", &settings)
}

/// A file in a folder.
pub(crate) fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}
