//! One server of Redis: plain, with TLS, with passwords and users, alone or behind another.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::papers::Papers;
use crate::process::{Process, free_port, output, until};

/// What a server is like; by default it speaks in clear and lets everybody in.
#[derive(Clone, Default)]
pub struct RedisSetup {
    /// Lines of `redis.conf`, users among them. `PORT` and `BUS` in them are free ports.
    pub lines: Vec<String>,
    /// Speaks TLS alone, with clients and with other servers, and asks everybody for a certificate.
    pub papers: Option<Arc<Papers>>,
    /// The password of the default user, by which other servers and [`Redis::cli`] come in.
    pub password: Option<String>,
}

impl RedisSetup {
    /// With these lines of `redis.conf`.
    pub fn with(lines: &[&str]) -> Self {
        let lines = lines.iter().map(|&line| line.to_owned()).collect();
        Self {
            lines,
            ..Self::default()
        }
    }

    /// With a password for the default user.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    /// With TLS.
    #[must_use]
    pub fn papers(mut self, papers: &Arc<Papers>) -> Self {
        self.papers = Some(Arc::clone(papers));
        self
    }

    /// With one more line.
    #[must_use]
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    fn is_sentinel(&self) -> bool {
        self.lines.iter().any(|line| line.starts_with("sentinel"))
    }

    /// The whole file.
    fn text(&self, folder: &str) -> String {
        let mut lines = vec!["bind 127.0.0.1".to_owned(), format!("dir {folder}")];
        match &self.papers {
            None => lines.push("port PORT".into()),
            Some(papers) => {
                let (certificate, key) = papers.server();
                lines.extend(["port 0".into(), "tls-port PORT".into()]);
                lines.push(format!("tls-cert-file {}", certificate.display()));
                lines.push(format!("tls-key-file {}", key.display()));
                lines.push(format!("tls-ca-cert-file {}", papers.ca().display()));
                lines.push("tls-replication yes".into());
            }
        }
        if !self.is_sentinel() {
            let forgets = ["save \"\"", "appendonly no", "repl-diskless-sync-delay 0"];
            lines.extend(forgets.map(String::from));
        }
        if let Some(password) = &self.password {
            lines.push(format!("requirepass {password}"));
            if !self.is_sentinel() {
                lines.push(format!("masterauth {password}"));
            }
        }
        lines.extend(self.lines.iter().cloned());
        lines.join("\n") + "\n"
    }
}

/// A server of Redis.
pub struct Redis {
    process: Process,
    folder: TempDir,
    setup: RedisSetup,
    /// Where it listens.
    pub port: u16,
    /// Where nodes of a Cluster meet.
    pub bus: u16,
}

impl Redis {
    /// A plain server.
    pub fn start() -> Self {
        Self::of(&RedisSetup::default())
    }

    /// A server like that.
    pub fn of(setup: &RedisSetup) -> Self {
        // A free port may be taken before the server has it: then another.
        for _ in 0..20 {
            if let Some(server) = Self::run(setup, free_port(), free_port()) {
                return server;
            }
        }
        panic!("redis-server does not start");
    }

    /// A replica, and as such in step.
    #[must_use]
    pub fn replica(&self) -> Self {
        let line = format!("replicaof 127.0.0.1 {}", self.port);
        let replica = Self::of(&self.setup.clone().line(line));
        until("the replica follows", || self.is_followed(1));
        replica
    }

    /// Another run on the same ports and by the same file; what was in memory is gone.
    pub fn restart(&mut self) {
        if !self.process.has_ended() {
            self.process.kill();
        }
        self.process = spawn(&self.setup, self.folder.path());
        assert!(self.answers(), "its port is taken");
    }

    /// `host:port`.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its URL for the default user.
    pub fn url(&self) -> String {
        let password = self.setup.password.as_deref();
        self.url_as(&password.map_or_else(String::new, |password| format!(":{password}")))
    }

    /// Its URL for `user:password`.
    pub fn url_as(&self, who: &str) -> String {
        let scheme = self.setup.papers.as_ref().map_or("redis", |_| "rediss");
        let at = if who.is_empty() { "" } else { "@" };
        format!("{scheme}://{who}{at}{}", self.address())
    }

    /// Does one command by `redis-cli`.
    #[track_caller]
    pub fn cli(&self, command: &[&str]) -> String {
        self.try_cli(command)
            .unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// The same where it may fail.
    pub fn try_cli(&self, command: &[&str]) -> Result<String, String> {
        // One that stands still must not hold a test.
        let mut cli = Command::new("timeout");
        cli.args(["20", "redis-cli", "-e", "-h", "127.0.0.1"]);
        cli.args(["-p", &self.port.to_string()]);
        if let Some(papers) = &self.setup.papers {
            let (certificate, key) = papers.client();
            cli.arg("--tls").arg("--cacert").arg(papers.ca());
            cli.arg("--cert").arg(certificate).arg("--key").arg(key);
        }
        if let Some(password) = &self.setup.password {
            cli.env("REDISCLI_AUTH", password);
        }
        output(cli.args(command))
    }

    /// Calls of a command since the statistics were reset.
    pub fn calls(&self, command: &str) -> u64 {
        let text = self.cli(&["INFO", "commandstats"]);
        let line = format!("cmdstat_{command}:calls=");
        let found = text.lines().find_map(|text| text.strip_prefix(&line));
        let count = found.and_then(|rest| rest.split(',').next());
        count.map_or(0, |count| count.parse().expect("a count"))
    }

    /// Whether it is a primary; `false` where it does not answer.
    pub fn is_primary(&self) -> bool {
        let info = self.try_cli(&["INFO", "replication"]);
        info.is_ok_and(|info| info.contains("role:master"))
    }

    /// Whether so many replicas are in step with it.
    pub fn is_followed(&self, replicas: usize) -> bool {
        let info = self.try_cli(&["INFO", "replication"]);
        info.is_ok_and(|info| info.matches("state=online").count() == replicas)
    }

    /// Holds it still (SIGSTOP): connections stay, nothing is answered.
    pub fn pause(&self) {
        self.process.signal(Signal::STOP);
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Kills it (SIGKILL); its ports stay known.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// `None` where the ports are taken.
    fn run(setup: &RedisSetup, port: u16, bus: u16) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let text = setup.text(&folder.path().display().to_string());
        let text = text.replace("PORT", &port.to_string());
        let text = text.replace("BUS", &bus.to_string());
        fs::write(folder.path().join(FILE), text).expect("a file");
        let mut server = Self {
            process: spawn(setup, folder.path()),
            folder,
            setup: setup.clone(),
            port,
            bus,
        };
        server.answers().then_some(server)
    }

    /// Waits until it does; `false` where it ends.
    fn answers(&mut self) -> bool {
        // Who answers there may be somebody else.
        let itself = format!("process_id:{}", self.process.id());
        let mut has_ended = false;
        until("redis-server answers", || {
            has_ended = self.process.has_ended();
            let info = self.try_cli(&["INFO", "server"]);
            has_ended || info.is_ok_and(|info| info.contains(&itself))
        });
        !has_ended
    }
}

const FILE: &str = "redis.conf";

fn spawn(setup: &RedisSetup, folder: &Path) -> Process {
    let mut command = Command::new("redis-server");
    command.arg(folder.join(FILE));
    Process::spawn(command.args(setup.is_sentinel().then_some("--sentinel")))
}
