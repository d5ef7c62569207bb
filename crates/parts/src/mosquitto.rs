//! One Mosquitto, the MQTT broker.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::papers::Papers;
use crate::process::{Process, free_port, until};

/// A broker. What it must keep it writes to its folder when it is stopped, and finds again.
pub struct Mosquitto {
    process: Process,
    folder: TempDir,
    /// Where it listens.
    pub port: u16,
}

impl Mosquitto {
    /// A broker that lets everybody in.
    pub fn start() -> Self {
        Self::with(&["allow_anonymous true"])
    }

    /// A broker with these lines of `mosquitto.conf`. `FOLDER` in them is a folder of its own.
    pub fn with(lines: &[&str]) -> Self {
        // A free port may be taken before the broker has it: then another.
        for _ in 0..20 {
            if let Some(broker) = Self::run(lines, free_port()) {
                return broker;
            }
        }
        panic!("mosquitto does not start");
    }

    /// A broker that speaks TLS alone and, where it asks, lets in who shows a certificate of the same authority.
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

    /// `host:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Kills it (SIGKILL); its port stays known.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Holds it still (SIGSTOP): connections stay, nothing is answered.
    pub fn pause(&self) {
        self.process.signal(Signal::STOP);
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Another run on the same port and by the same file; one that still runs is asked to stop, and keeps what it must.
    pub fn restart(&mut self) {
        if !self.process.has_ended() {
            self.process.signal(Signal::TERM);
            self.process.wait();
        }
        self.process = spawn(self.folder.path());
        assert!(self.answers(), "its port is taken");
    }

    /// `None` where the port is taken.
    fn run(lines: &[&str], port: u16) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().display();
        // As the user it prefers it would not be let into the folder.
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

    /// Waits until it does; `false` where it ends.
    fn answers(&mut self) -> bool {
        // Who answers at the port may be somebody else: it says itself when it has it.
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
    // What an earlier run said is none of this one's.
    let _ = fs::remove_file(folder.join(LOG));
    Process::spawn(Command::new("mosquitto").arg("-c").arg(folder.join(FILE)))
}
