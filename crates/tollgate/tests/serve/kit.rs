//! A server process for one test, ended with it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
pub(crate) use tollgate_parts::until;

/// Nothing here takes as long unless it hangs.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

pub(crate) const CONTRACTS: &str = "contracts:
  - id: users
    key: [user]
    policies: [{ name: daily, limit: 100, per: 1d, algorithm: fixed-window, durable: true }]
";

/// The command, with nothing of the environment that a developer may have set.
pub(crate) fn tollgate(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("TOLLGATE_") {
            command.env_remove(name);
        }
    }
    // Nobody has to be sent elsewhere.
    command.env("TOLLGATE_SHUTDOWN_DELAY", "0s");
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs a command that ends by itself.
pub(crate) fn run(arguments: &[&str]) -> Output {
    tollgate(arguments).output().unwrap()
}

#[track_caller]
pub(crate) fn refused(output: &Output, code: i32, said: &[&str]) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    for text in said {
        assert!(errors.contains(text), "{text:?} is not in {errors}");
    }
    assert!(!errors.contains("panicked"), "{errors}");
    assert!(output.stdout.is_empty(), "nothing is said to serve");
}

/// A running server.
pub(crate) struct Server {
    child: Child,
    /// Reads what it says on standard error, so that it is never held up by that.
    errors: Option<JoinHandle<String>>,
    pub(crate) http: SocketAddr,
    pub(crate) resp: SocketAddr,
}

impl Server {
    /// Serves at free ports with its data in `folder`.
    pub(crate) fn start(folder: &Path, more: &[&str]) -> Self {
        Self::spawn(
            tollgate(&[
                "serve",
                "--format",
                "json",
                "--http",
                "127.0.0.1:0",
                "--resp",
                "127.0.0.1:0",
            ])
            .arg("--data-dir")
            .arg(folder)
            .args(more),
        )
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let Ok(said) = serde_json::from_str::<serde_json::Value>(&line) else {
            let output = child.wait_with_output().unwrap();
            panic!("{line:?}: {}", String::from_utf8_lossy(&output.stderr));
        };
        let address = |name: &str| {
            said[name][0]
                .as_str()
                .unwrap_or("127.0.0.1:1")
                .parse()
                .unwrap()
        };
        let mut stderr = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || {
            let mut errors = String::new();
            stderr.read_to_string(&mut errors).unwrap();
            errors
        });
        Self {
            http: address("http"),
            resp: address("resp"),
            child,
            errors: Some(errors),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let done = Command::new("kill")
            .args(["-s", name, &pid])
            .status()
            .unwrap();
        assert!(done.success());
    }

    /// Waits for the end; gives the exit code and what was said on standard error.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < DEADLINE, "the server does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        let errors = self.errors.take().unwrap().join().unwrap();
        assert!(!errors.contains("panicked"), "{errors}");
        (status.code(), errors)
    }

    /// Bytes the process holds in memory.
    pub(crate) fn resident(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = std::fs::read_to_string(path).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        line.trim()
            .split(' ')
            .next()
            .unwrap()
            .parse::<u64>()
            .unwrap()
            << 10
    }

    pub(crate) fn request(&self, request: &str) -> String {
        request_at(self.http, request)
    }

    /// The value of a metric without labels, or the sum over its labels.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let text = self.request("GET /metrics HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
        let lines = text.lines().filter_map(|line| line.strip_prefix(name));
        let values = lines.filter(|rest| rest.starts_with([' ', '{']));
        values
            .map(|rest| rest.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
            .sum()
    }

    /// How many tokens a user has left after taking one.
    pub(crate) fn take(&self, user: &str) -> u64 {
        self.try_take(user).unwrap()
    }

    /// The same; `None` where the server is gone.
    pub(crate) fn try_take(&self, user: &str) -> Option<u64> {
        let body = format!("{{\"key\":{{\"user\":\"{user}\"}},\"cost\":1}}");
        let answer = try_request_at(
            self.http,
            &format!(
                "POST /v1/check HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            ),
        );
        let answer = answer.ok().filter(|answer| !answer.is_empty())?;
        let remaining = answer
            .split("\"remaining\":")
            .nth(1)
            .unwrap_or_else(|| panic!("{answer}"));
        let remaining = remaining.split([',', '}']).next().unwrap();
        Some(remaining.trim().parse().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request and reads until the server closes.
pub(crate) fn request_at(address: SocketAddr, request: &str) -> String {
    try_request_at(address, request).unwrap()
}

/// The same, where nobody may be there.
fn try_request_at(address: SocketAddr, request: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(DEADLINE))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Settings of a server on a catalogue in a folder, whose requests wait for terms however busy the machine is.
pub(crate) fn patient(folder: &Path, catalogue: &str) -> PathBuf {
    let settings = format!("catalogue: {{ path: {catalogue}, deadline: 30s }}\n");
    file(folder, "settings.yaml", &settings)
}

/// A file in a folder.
pub(crate) fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}
