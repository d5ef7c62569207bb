//! Ends this process with the one that started it, however that ended.
//!
//! Standard input is a pipe whose other end the starter holds; the system closes it even after a kill. Not here: what a
//! stop does (`signals`).

use std::io::{ErrorKind, Read};
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

use crate::failure::Failure;

/// How long a stop may take before it is cut short.
const PATIENCE: Duration = Duration::from_secs(2);

/// Waits for the end of standard input beside the server, and then stops it.
pub(super) fn tie() -> Result<(), Failure> {
    let watch = || {
        let mut input = std::io::stdin().lock();
        let mut ignored = [0; 64];
        loop {
            match input.read(&mut ignored) {
                Ok(1..) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
            }
        }
        for _ in 0..2 {
            // The first signal asks to stop, the second does not wait for connections.
            let _ = kill_process(getpid(), Signal::TERM);
            thread::sleep(PATIENCE);
        }
    };
    let spawned = thread::Builder::new().name("leash".to_owned()).spawn(watch);
    spawned
        .map(|_| ())
        .map_err(|error| Failure::system("start a thread", &error))
}
