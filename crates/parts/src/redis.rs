//! One server of Redis: plain, with TLS, with passwords and users, alone or behind another.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::papers::Papers;
use crate::process::{Process, free_port, output, until};

/// The default is plain TCP without authentication.
#[derive(Clone, Default)]
pub struct RedisSetup {
    /// Lines of `redis.conf`, such as users. `PORT` and `BUS` in them are free ports.
    pub lines: Vec<String>,
    /// TLS only, with clients and with other servers; client certificates are required.
    pub papers: Option<Arc<Papers>>,
    /// The password of the default user, which other servers and [`Redis::cli`] use.
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

    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.password = Some(password.to_owned());
        self
    }

    #[must_use]
    pub fn papers(mut self, papers: &Arc<Papers>) -> Self {
        self.papers = Some(Arc::clone(papers));
        self
    }

    #[must_use]
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    fn is_sentinel(&self) -> bool {
        self.lines.iter().any(|line| line.starts_with("sentinel"))
    }

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

pub struct Redis {
    process: Process,
    folder: TempDir,
    setup: RedisSetup,
    pub port: u16,
    /// The port of the Cluster bus.
    pub bus: u16,
}

impl Redis {
    pub fn start() -> Self {
        Self::of(&RedisSetup::default())
    }

    /// A server like that.
    pub fn of(setup: &RedisSetup) -> Self {
        // Another process may take the free port first: then retry.
        for _ in 0..20 {
            if let Some(server) = Self::run(setup, free_port(), free_port()) {
                return server;
            }
        }
        panic!("redis-server does not start");
    }

    /// Waits until the replica is in sync.
    #[must_use]
    pub fn replica(&self) -> Self {
        let line = format!("replicaof 127.0.0.1 {}", self.port);
        let replica = Self::of(&self.setup.clone().line(line));
        until("the replica follows", || self.is_followed(1));
        replica
    }

    /// Starts it again with the same ports and file; its memory is lost.
    pub fn restart(&mut self) {
        if !self.process.has_ended() {
            self.process.kill();
        }
        self.process = spawn(&self.setup, self.folder.path());
        assert!(self.answers(), "its port is taken");
    }

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

    /// Runs one command by `redis-cli`.
    #[track_caller]
    pub fn cli(&self, command: &[&str]) -> String {
        self.try_cli(command)
            .unwrap_or_else(|error| panic!("{command:?}: {error}"))
    }

    /// The same where it may fail.
    pub fn try_cli(&self, command: &[&str]) -> Result<String, String> {
        // A paused server must not block a test.
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

    /// Whether it is a primary; `false` if it does not answer.
    pub fn is_primary(&self) -> bool {
        let info = self.try_cli(&["INFO", "replication"]);
        info.is_ok_and(|info| info.contains("role:master"))
    }

    /// Whether so many replicas are in sync with it.
    pub fn is_followed(&self, replicas: usize) -> bool {
        let info = self.try_cli(&["INFO", "replication"]);
        info.is_ok_and(|info| info.matches("state=online").count() == replicas)
    }

    /// SIGSTOP: connections stay open without answers.
    pub fn pause(&self) {
        self.process.signal(Signal::STOP);
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.process.signal(Signal::CONT);
    }

    /// Kills it (SIGKILL); its ports stay the same.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// `None` if the ports are taken.
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

    /// Waits until it does; `false` if it exits.
    fn answers(&mut self) -> bool {
        // Another process may answer there.
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
