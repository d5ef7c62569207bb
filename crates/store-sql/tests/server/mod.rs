//! A private `PostgreSQL` in a temporary folder, reached by a socket there; it ends with the test.

#![allow(clippy::unwrap_used, reason = "a broken set-up must stop the test")]
#![allow(dead_code, reason = "every test file uses a part of its own")]

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct Server {
    folder: tempfile::TempDir,
    owner: Option<(u32, u32)>,
    child: Option<Child>,
}

impl Server {
    /// A new database server, with a password and no network.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let owner = owner();
        if let Some((user, group)) = owner {
            chown(folder.path(), Some(user), Some(group)).unwrap();
        }
        fs::write(folder.path().join("password"), "secret").unwrap();
        let mut server = Self {
            folder,
            owner,
            child: None,
        };
        let made = server
            .command("initdb")
            .args(["-N", "-U", "tollgate", "-A", "scram-sha-256", "-E", "UTF8"])
            .args(["--no-locale", "--pwfile", "password", "-D", "data"])
            .output()
            .unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        server.run(&[]);
        server
    }

    /// Runs the server, and waits until it takes connections.
    pub(crate) fn run(&mut self, options: &[&str]) {
        let socket = self.folder.path().display().to_string();
        let mut command = self.command("postgres");
        command.args(["-D", "data", "-c", "listen_addresses=", "-c", "fsync=off"]);
        command
            .args(["-c", "max_connections=120", "-k"])
            .arg(socket);
        for option in options {
            command.args(["-c", option]);
        }
        self.child = Some(command.spawn().unwrap());
        eventually("the server takes connections", || {
            let ready = self
                .command("pg_isready")
                .arg("-q")
                .arg("-h")
                .arg(self.folder.path())
                .status();
            ready.is_ok_and(|status| status.success())
        });
    }

    pub(crate) fn url(&self) -> String {
        self.url_with("secret")
    }

    pub(crate) fn url_with(&self, password: &str) -> String {
        let folder = self.folder.path().display();
        format!("postgres://tollgate:{password}@localhost/postgres?host={folder}")
    }

    /// Ends the server as an operator would who is in a hurry, and waits for its end.
    pub(crate) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            signal("-CONT", &everyone(child.id()));
            signal("-INT", &[child.id()]);
            child.wait().unwrap();
        }
    }

    /// Holds every process of the server still, or lets them go on.
    pub(crate) fn signal(&self, name: &str) {
        let child = self.child.as_ref().unwrap();
        signal(name, &everyone(child.id()));
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(binary(program));
        command
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command.stderr(Stdio::piped()).env("LC_ALL", "C");
        if program == "postgres" {
            command.stderr(Stdio::null());
        }
        if let Some((user, group)) = self.owner {
            command.uid(user).gid(group);
        }
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Waits for something to become true; the bound is only for what never does.
pub(crate) fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(
            begin.elapsed() < Duration::from_mins(1),
            "{what}: not in a minute"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// `PostgreSQL` does not run as root: whom to run it as then.
fn owner() -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    let me = fs::metadata("/proc/self").unwrap().uid();
    if me != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let line = ["postgres:", "nobody:"]
        .into_iter()
        .find_map(|name| users.lines().find(|line| line.starts_with(name)));
    let fields: Vec<&str> = line.unwrap().split(':').collect();
    Some((fields[2].parse().unwrap(), fields[3].parse().unwrap()))
}

/// Debian keeps the server's programs out of the path.
fn binary(program: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut found: Vec<PathBuf> = versions
        .map(|version| version.unwrap().path().join("bin").join(program))
        .filter(|path| path.exists())
        .collect();
    found.sort();
    found.pop().unwrap_or_else(|| program.into())
}

/// The server and its children.
fn everyone(server: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{server}/task/{server}/children"));
    let children = children.unwrap_or_default();
    let children = children.split_whitespace().map(|id| id.parse().unwrap());
    std::iter::once(server).chain(children).collect()
}

fn signal(name: &str, processes: &[u32]) {
    let ids = processes.iter().map(u32::to_string);
    // A child may have ended meanwhile.
    let _ = Command::new("kill")
        .arg(name)
        .args(ids)
        .stderr(Stdio::null())
        .status();
}
