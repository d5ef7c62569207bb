//! A Tollgate server as a process: it prints its listeners as a line of JSON, takes requests and signals, and ends
//! with the
//! test.
//!
//! Deliberately absent: the binary, its flags and settings.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::process::{Process, until};
use crate::wire::{HttpReply, Wire};

/// A running server.
#[derive(Debug)]
pub struct Daemon {
    process: Process,
    /// The line that it printed when ready.
    pub ready: Value,
    /// Drains its standard error, so that it never blocks on that.
    errors: Option<JoinHandle<String>>,
}

impl Daemon {
    /// Waits for the line with its listeners.
    #[track_caller]
    pub fn spawn(command: &mut Command) -> Self {
        Self::logged(command.stderr(Stdio::piped()))
    }

    /// The same, with the command's own standard error.
    #[track_caller]
    pub fn logged(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output");
        let read = BufReader::new(stdout).read_line(&mut line);
        let ready = read.ok().and_then(|_| serde_json::from_str(&line).ok());
        let Some(ready) = ready else {
            let output = child.wait_with_output().expect("its output");
            panic!("{line:?}: {}", String::from_utf8_lossy(&output.stderr));
        };
        let errors = child.stderr.take().map(|mut stderr| {
            std::thread::spawn(move || {
                let mut errors = String::new();
                stderr.read_to_string(&mut errors).expect("text");
                errors
            })
        });
        Self {
            process: Process::of(child),
            ready,
            errors,
        }
    }

    /// The first address of a listener such as `http`.
    #[track_caller]
    pub fn address(&self, name: &str) -> SocketAddr {
        self.listens(name)
            .unwrap_or_else(|| panic!("no {name} in {}", self.ready))
    }

    /// The first address of a listener, if it has one.
    pub fn listens(&self, name: &str) -> Option<SocketAddr> {
        let said = &self.ready[name];
        said.get(0).unwrap_or(said).as_str()?.parse().ok()
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends it a signal, such as `TERM`.
    #[track_caller]
    pub fn signal(&self, name: &str) {
        let mut kill = Command::new("kill");
        let done = kill.args(["-s", name, &self.id().to_string()]).status();
        assert!(done.expect("kill").success());
    }

    /// Waits for its end; returns the exit code and the standard error.
    #[track_caller]
    pub fn end(mut self) -> (Option<i32>, String) {
        until("the server ends", || self.process.has_ended());
        let status = self.process.wait();
        let errors = self.errors.take().map(JoinHandle::join);
        let errors = errors.map_or_else(String::new, |errors| errors.expect("its errors"));
        assert!(!errors.contains("panicked"), "{errors}");
        (status.code(), errors)
    }

    /// Resident bytes.
    #[track_caller]
    pub fn resident(&self) -> u64 {
        let path = format!("/proc/{}/status", self.id());
        let status = std::fs::read_to_string(path).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
        kib.expect("its memory") << 10
    }

    /// On its first HTTP listener.
    #[track_caller]
    pub fn get(&self, path: &str) -> HttpReply {
        Wire::to(self.address("http")).get(path)
    }

    /// On its first HTTP listener, as JSON.
    #[track_caller]
    pub fn post(&self, path: &str, body: &str) -> HttpReply {
        Wire::to(self.address("http")).post(path, body)
    }

    /// The value of a metric without labels, or the sum over its labels.
    #[track_caller]
    pub fn metric(&self, name: &str) -> f64 {
        self.get("/metrics").metric(name)
    }
}
