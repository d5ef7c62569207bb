//! One `tollgate serve` as a process of its own.
//!
//! Not here: which flags it gets.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::failure::Failure;

/// A server that runs. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct ChildServer {
    process: process::Child,
    /// What it says once it serves.
    said: Receiver<String>,
    /// The child ends when this does, even if this process is killed.
    _leash: Option<ChildStdin>,
}

/// Between two looks.
const TICK: Duration = Duration::from_millis(10);

impl ChildServer {
    /// Starts one, under words that become the command, as `ip netns exec NAME`.
    pub(super) fn spawn(
        under: &[String],
        binary: &Path,
        flags: &[String],
        log: File,
    ) -> Result<Self, Failure> {
        let mut words = under.iter().map(OsStr::new).chain([binary.as_os_str()]);
        let mut command = Command::new(words.next().unwrap_or(binary.as_os_str()));
        command.args(words);
        command
            .args(["serve", "--format", "json", "--ends-with-stdin"])
            .args(flags)
            // What a terminal sends is for whoever started the cluster.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        // Settings of somebody else's server.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with(OURS)) {
                command.env_remove(name);
            }
        }
        // Whoever asks it to end knows all its clients.
        command.env("TOLLGATE_SHUTDOWN_DELAY", "0s");
        let failed = |error| Failure::system("start a node", &error);
        let mut process = command.spawn().map_err(failed)?;
        let leash = process.stdin.take();
        let (sender, said) = sync_channel(1);
        if let Some(output) = process.stdout.take() {
            let read = move || {
                let mut lines = BufReader::new(output).lines();
                while let Some(Ok(line)) = lines.next() {
                    // Only the first is waited for.
                    let _ = sender.try_send(line);
                }
            };
            thread::Builder::new()
                .name("node-output".to_owned())
                .spawn(read)
                .map_err(failed)?;
        }
        Ok(Self {
            process,
            said,
            _leash: leash,
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The first line it says; nothing if it ends or takes too long.
    pub(super) fn line(&mut self, patience: Duration) -> Option<String> {
        self.said.recv_timeout(patience).ok()
    }

    pub(super) fn pause(&mut self) -> Result<(), Failure> {
        self.signal(Signal::STOP)
    }

    pub(super) fn resume(&mut self) -> Result<(), Failure> {
        self.signal(Signal::CONT)
    }

    pub(super) fn hang_up(&mut self) -> Result<(), Failure> {
        self.signal(Signal::HUP)
    }

    pub(super) fn ask(&mut self) {
        // One that is gone has ended.
        let _ = self.signal(Signal::TERM);
    }

    /// Asks it to end, waits, and kills it if it does not.
    pub(super) fn stop(mut self, patience: Duration) {
        let begun = Instant::now();
        self.ask();
        while begun.elapsed() < patience && matches!(self.process.try_wait(), Ok(None)) {
            thread::sleep(TICK);
        }
    }

    pub(super) fn kill(self) {
        drop(self);
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let pid = i32::try_from(self.process.id())
            .ok()
            .and_then(Pid::from_raw);
        let sent = pid.map(|pid| kill_process(pid, signal));
        match sent {
            Some(Err(error)) => Err(Failure::system("signal a node", &error.into())),
            Some(Ok(())) | None => Ok(()),
        }
    }
}

impl Drop for ChildServer {
    fn drop(&mut self) {
        // One that has ended already is only collected.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const OURS: &str = "TOLLGATE_";
