//! Child processes that end with their parent, ports, and waiting.

use std::net::TcpListener;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Bounds a failure only: waits end as soon as their condition is true.
pub const PATIENCE: Duration = Duration::from_mins(1);

#[track_caller]
pub fn until(what: &str, is_so: impl FnMut() -> bool) {
    until_within(PATIENCE, what, is_so);
}

#[track_caller]
pub fn until_within(patience: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < patience, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A free port; another process may take it before it is used.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}

/// Killed when dropped.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Discards the program's output.
    #[track_caller]
    pub fn spawn(command: &mut Command) -> Self {
        Self::logged(command.stdout(Stdio::null()).stderr(Stdio::null()))
    }

    /// Keeps the command's own output settings.
    #[track_caller]
    pub fn logged(command: &mut Command) -> Self {
        let child = command.stdin(Stdio::null()).spawn();
        Self(child.unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    pub(crate) fn of(child: Child) -> Self {
        Self(child)
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn has_ended(&mut self) -> bool {
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

/// Checks that a command ended with this code, and printed these texts on standard error.
#[track_caller]
pub fn refused(output: &Output, code: i32, said: &[&str]) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    for text in said {
        assert!(errors.contains(text), "{text:?} is not in {errors}");
    }
    assert!(!errors.contains("panicked"), "{errors}");
}

/// The standard output; on failure the standard error.
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
