//! A process that ends with whoever started it, ports, and waiting.

use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Bounds a failure only: whatever is waited for comes as soon as it can.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A port that nobody has; somebody may take it before it is used.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// A running program, killed when dropped.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = quiet.stderr(Stdio::null()).spawn();
        Self(child.unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("its state").is_some()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_child(&self.0);
        kill_process(id, signal).expect("a process to signal");
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("a process to kill");
        self.wait();
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.0.wait().expect("its end")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that was killed is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a program prints; what it complains of where it fails.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let done = command.stdin(Stdio::null()).output();
    let Output {
        status,
        stdout,
        stderr,
    } = done.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
    let (said, complaint) = (text(stdout), text(stderr));
    if status.success() {
        return Ok(said);
    }
    Err(format!("{status}: {complaint} {said}"))
}
