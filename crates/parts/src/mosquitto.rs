//! One Mosquitto, the MQTT broker.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::papers::Papers;
use crate::process::{Process, free_port, until};

/// It persists its state to its folder when it is stopped, and restores it.
pub struct Mosquitto {
    process: Process,
    folder: TempDir,
    pub port: u16,
}

impl Mosquitto {
    /// Without authentication.
    pub fn start() -> Self {
        Self::with(&["allow_anonymous true"])
    }

    /// With these lines of `mosquitto.conf`; `FOLDER` in them is its own folder.
    pub fn with(lines: &[&str]) -> Self {
        // Another process may take the free port first: then retry.
        for _ in 0..20 {
            if let Some(broker) = Self::run(lines, free_port()) {
                return broker;
            }
        }
        panic!("mosquitto does not start");
    }

    /// TLS only; if `asks`, clients need a certificate of the same authority.
    pub fn sealed(papers: &Papers, asks: bool) -> Self {
        let (certificate, key) = papers.server();
        Self::with(&[
            "allow_anonymous true",
            &format!("cafile {}", papers.ca().display()),
            &format!("certfile {}", certificate.display()),
            &format!("keyfile {}", key.display()),
            &format!("require_certificate {asks}"),
        ])
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Kills it (SIGKILL); its port stays the same.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// SIGSTOP: connections stay open without answers.
    pub fn pause(&self) {
        self.process.signal(Signal::STOP);
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Starts it again with the same port and file; a running one is stopped cleanly, and persists its state.
    pub fn restart(&mut self) {
        if !self.process.has_ended() {
            self.process.signal(Signal::TERM);
            self.process.wait();
        }
        self.process = spawn(self.folder.path());
        assert!(self.answers(), "its port is taken");
    }

    /// `None` if the port is taken.
    fn run(lines: &[&str], port: u16) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().display();
        // Its default user could not access the folder.
        let mut text = format!(
            "listener {port} 127.0.0.1\nuser root\npersistence true\npersistence_location {place}/\nlog_dest file {place}/{LOG}\n"
        );
        for line in lines {
            text += &line.replace("FOLDER", &place.to_string());
            text += "\n";
        }
        fs::write(folder.path().join(FILE), text).expect("a file");
        let mut broker = Self {
            process: spawn(folder.path()),
            folder,
            port,
        };
        broker.answers().then_some(broker)
    }

    /// Waits until it does; `false` if it exits.
    fn answers(&mut self) -> bool {
        // Another process may answer at the port: its own log shows when it has it.
        let log = self.folder.path().join(LOG);
        let mut has_ended = false;
        until("mosquitto answers", || {
            has_ended = self.process.has_ended();
            let said = fs::read_to_string(&log).unwrap_or_default();
            has_ended || said.lines().any(|line| line.ends_with(" running"))
        });
        !has_ended
    }
}

const FILE: &str = "mosquitto.conf";
const LOG: &str = "mosquitto.log";

fn spawn(folder: &Path) -> Process {
    // Removes the log of an earlier run.
    let _ = fs::remove_file(folder.join(LOG));
    Process::spawn(Command::new("mosquitto").arg("-c").arg(folder.join(FILE)))
}
