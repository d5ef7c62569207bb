//! A private `PostgreSQL`, reached by a socket in its folder or, with TLS, by a port.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::papers::Papers;
use crate::process::{Process, free_port, output, until};

/// A server with one user, `tollgate`, whose password is `secret`.
pub struct Postgres {
    process: Option<Process>,
    folder: TempDir,
    owner: Option<(u32, u32)>,
    /// For TLS only.
    port: Option<u16>,
}

impl Postgres {
    /// Needs the password; listens only on a socket.
    pub fn start() -> Self {
        let mut server = Self::made();
        assert!(server.try_run(&[]), "postgres does not start");
        server
    }

    /// The same with its data in a folder, such as a separate disk. Needs about 100 MiB.
    pub fn start_in(folder: &Path) -> Self {
        let folder = tempfile::tempdir_in(folder).expect("a folder");
        let mut server = Self::made_in(folder);
        // Keeps logs of few changes small.
        assert!(
            server.try_run(&["max_wal_size=32MB"]),
            "postgres does not start"
        );
        server
    }

    /// With TLS on a port of 127.0.0.1 and this method of `pg_hba.conf`: such as
    /// `scram-sha-256` or `cert`.
    pub fn with_tls(papers: &Papers, method: &str) -> Self {
        let mut server = Self::made();
        let (certificate, key) = papers.server();
        let files = [
            ("ca.pem", papers.ca()),
            ("server.pem", certificate),
            ("server.key", key),
        ];
        for (name, from) in files {
            let to = server.path(name);
            fs::copy(from, &to).expect("a copy");
            fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).expect("its mode");
            server.give(&to);
        }
        let rules = format!("local all all scram-sha-256\nhostssl all all 127.0.0.1/32 {method}\n");
        fs::write(server.path("data/pg_hba.conf"), rules).expect("the rules");
        // Another process may take the free port first: then retry.
        for _ in 0..20 {
            server.port = Some(free_port());
            if server.try_run(&[]) {
                return server;
            }
        }
        panic!("postgres does not start");
    }

    /// Starts it again after [`Self::stop`], with settings like `work_mem=1MB`, and waits until it accepts connections.
    pub fn run(&mut self, settings: &[&str]) {
        assert!(self.try_run(settings), "postgres does not start");
    }

    /// A fast shutdown; waits for its end.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            signal(Signal::CONT, process.id());
            process.signal(Signal::INT);
            process.wait();
        }
    }

    /// SIGSTOP to all its processes: connections stay open without answers.
    pub fn pause(&self) {
        signal(Signal::STOP, self.id());
    }

    /// SIGCONT.
    pub fn resume(&self) {
        signal(Signal::CONT, self.id());
    }

    pub fn url(&self) -> String {
        self.url_as("tollgate:secret")
    }

    /// `who` is `user:password`; with TLS by the name `localhost`, and the caller adds `sslmode`.
    pub fn url_as(&self, who: &str) -> String {
        if let Some(port) = self.port {
            return format!("postgres://{who}@localhost:{port}/postgres");
        }
        let folder = self.folder.path().display();
        format!("postgres://{who}@localhost/postgres?host={folder}")
    }

    /// Runs one statement by `psql`; returns one line per row.
    #[track_caller]
    pub fn sql(&self, statement: &str) -> String {
        let mut command = self.command("psql");
        command.env("PGPASSWORD", "secret").arg("-h");
        command.arg(self.folder.path());
        command.args(["-U", "tollgate", "-d", "postgres", "-qAtc", statement]);
        output(&mut command).unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    fn made() -> Self {
        Self::made_in(tempfile::tempdir().expect("a folder"))
    }

    fn made_in(folder: TempDir) -> Self {
        let server = Self {
            process: None,
            folder,
            owner: owner(),
            port: None,
        };
        server.give(server.folder.path());
        fs::write(server.path("password"), "secret").expect("a file");
        let mut command = server.command("initdb");
        command.args(["-N", "-U", "tollgate", "-A", "scram-sha-256", "-E", "UTF8"]);
        command.args(["--no-locale", "--pwfile", "password", "-D", "data"]);
        output(&mut command).unwrap_or_else(|error| panic!("initdb: {error}"));
        server
    }

    /// `false` if it exits at once.
    fn try_run(&mut self, settings: &[&str]) -> bool {
        let mut command = self.command("postgres");
        command.args(["-D", "data", "-k"]).arg(self.folder.path());
        command.args(["-c", "fsync=off", "-c", "max_connections=120"]);
        match self.port {
            None => command.args(["-c", "listen_addresses="]),
            Some(port) => command
                .args(["-c", "listen_addresses=127.0.0.1", "-c", "ssl=on"])
                .args([
                    "-c",
                    "ssl_ca_file=../ca.pem",
                    "-c",
                    "ssl_cert_file=../server.pem",
                ])
                .args(["-c", "ssl_key_file=../server.key", "-p", &port.to_string()]),
        };
        for setting in settings {
            command.args(["-c", setting]);
        }
        let mut process = Process::spawn(&mut command);
        let mut has_ended = false;
        until("postgres takes connections", || {
            has_ended = process.has_ended();
            let mut ready = self.command("pg_isready");
            ready.arg("-q").arg("-h").arg(self.folder.path());
            has_ended || output(&mut ready).is_ok()
        });
        self.process = (!has_ended).then_some(process);
        !has_ended
    }

    fn id(&self) -> u32 {
        self.process.as_ref().expect("a running server").id()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn give(&self, path: &Path) {
        if let Some((user, group)) = self.owner {
            chown(path, Some(user), Some(group)).expect("another owner");
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(binary(program));
        command.current_dir(self.folder.path()).env("LC_ALL", "C");
        if let Some(port) = self.port {
            command.env("PGPORT", port.to_string());
        }
        if let Some((user, group)) = self.owner {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}

/// `PostgreSQL` refuses to run as root: the user to run it as instead.
fn owner() -> Option<(u32, u32)> {
    let me = fs::metadata("/proc/self").expect("oneself").uid();
    if me != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("the users");
    let named = |name: &str| users.lines().find(|line| line.starts_with(name));
    let line = ["postgres:", "nobody:"].into_iter().find_map(named);
    let fields: Vec<&str> = line.expect("a user").split(':').collect();
    let number = |place: usize| fields[place].parse().expect("a number");
    Some((number(2), number(3)))
}

/// Debian does not put the server's programs in the path.
fn binary(program: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut found: Vec<PathBuf> = versions
        .map(|version| version.expect("a version").path().join("bin").join(program))
        .filter(|path| path.exists())
        .collect();
    found.sort();
    found.pop().unwrap_or_else(|| program.into())
}

/// To the server and its children.
fn signal(signal: Signal, server: u32) {
    let children = fs::read_to_string(format!("/proc/{server}/task/{server}/children"));
    let children = children.unwrap_or_default();
    let ids = children
        .split_whitespace()
        .map(|id| id.parse().expect("an id"));
    for id in std::iter::once(server).chain(ids) {
        let id = i32::try_from(id).ok().and_then(Pid::from_raw);
        // A child may have ended meanwhile.
        let _ = kill_process(id.expect("an id"), signal);
    }
}
