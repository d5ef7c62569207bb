//! Servers as processes: started on free ports, watched, and stopped with the part that needed them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tollgate_parts::HttpReply;
use tollgate_parts::wire::fetch;

/// A server that runs; dropping it ends it.
pub(crate) struct Host {
    /// The name in tables.
    pub(crate) name: &'static str,
    child: Child,
    /// Kept open, so that a server that prints later is not ended by it.
    _output: Option<ChildStdout>,
    /// Ports on loopback, in the order its starter knows.
    pub(crate) ports: Vec<u16>,
}

impl Host {
    /// Starts a server whose ports are known, and waits until it takes connections.
    pub(crate) fn start(name: &'static str, mut command: Command, ports: Vec<u16>) -> Result<Self> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let mut host = Self {
            name,
            child,
            _output: None,
            ports,
        };
        host.wait_until_ready()?;
        Ok(host)
    }

    /// Starts a server that prints a line first; the line has the ports.
    pub(crate) fn start_told(
        name: &'static str,
        mut command: Command,
        ports: impl Fn(&str) -> Option<Vec<u16>>,
    ) -> Result<Self> {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let mut line = String::new();
        let mut output = child.stdout.take().map(BufReader::new);
        if let Some(output) = &mut output {
            output.read_line(&mut line)?;
        }
        let Some(ports) = ports(&line) else {
            let _ = child.kill();
            let _ = child.wait();
            bail!("{name} did not say where it listens, but {line:?}");
        };
        let mut host = Self {
            name,
            child,
            _output: output.map(BufReader::into_inner),
            ports,
        };
        host.wait_until_ready()?;
        Ok(host)
    }

    pub(crate) fn port(&self, at: usize) -> u16 {
        self.ports.get(at).copied().unwrap_or_default()
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        kill_process(Pid::from_child(&self.child), signal).context("no such process")
    }

    /// Nanoseconds of CPU that its threads have taken.
    pub(crate) fn cpu_ns(&self) -> Result<f64> {
        let mut total = 0.0;
        for pid in self.family() {
            for task in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
                let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
                let first = text.split_whitespace().next();
                total += first
                    .and_then(|ns| ns.parse::<f64>().ok())
                    .unwrap_or_default();
            }
        }
        Ok(total)
    }

    pub(crate) fn resident_bytes(&self) -> Result<f64> {
        let mut total = 0.0;
        for pid in self.family() {
            let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
            let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
            total += kib.context("no VmRSS in /proc")? * 1024.0;
        }
        Ok(total)
    }

    /// `GET` on its first port.
    pub(crate) fn get(&self, path: &str) -> Result<HttpReply> {
        Ok(fetch(("127.0.0.1", self.port(0)), path)?)
    }

    /// The process and its children; nginx works in those.
    fn family(&self) -> Vec<u32> {
        let own = self.child.id();
        let mut pids = vec![own];
        let children = Path::new("/proc").join(format!("{own}/task/{own}/children"));
        let text = fs::read_to_string(children).unwrap_or_default();
        pids.extend(
            text.split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
        pids
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + READY_WITHIN;
        for port in self.ports.clone() {
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                if let Some(status) = self.child.try_wait()? {
                    bail!("{} ended before it served: {status}", self.name);
                }
                if Instant::now() > deadline {
                    bail!("{} does not serve on port {port}", self.name);
                }
                thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // SIGTERM first, as nginx would leave its workers behind.
        let _ = self.signal(Signal::TERM);
        let deadline = Instant::now() + LEAVE_WITHIN;
        while Instant::now() < deadline {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that is free at the moment.
pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
    Ok(listener.local_addr()?.port())
}

/// The ports of Tollgate: HTTP and RESP.
pub(crate) fn doors(line: &str) -> Option<Vec<u16>> {
    Some(vec![port_of(line, "http")?, port_of(line, "resp")?])
}

/// The port of one protocol of Tollgate.
pub(crate) fn port_of(line: &str, protocol: &str) -> Option<u16> {
    let told: Value = serde_json::from_str(line).ok()?;
    let address = told.get(protocol)?.get(0)?.as_str()?;
    address.rsplit_once(':')?.1.parse().ok()
}

/// Redis without persistence.
pub(crate) fn redis(name: &'static str) -> Result<Host> {
    let port = free_port()?;
    let mut command = Command::new("redis-server");
    command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
    command.args(["--port", &port.to_string()]);
    Host::start(name, command, vec![port])
}

/// A release build.
pub(crate) fn build_tollgate() -> Result<PathBuf> {
    eprintln!("building tollgate");
    let mut command = Command::new("cargo");
    command.args([
        "build",
        "--release",
        "--package",
        "tollgate",
        "--message-format",
        "json",
    ]);
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!("tollgate does not build");
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let executable = text.lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message.get("executable")?.as_str()?))
    });
    executable.context("cargo did not say where the binary is")
}

const LEAVE_WITHIN: Duration = Duration::from_secs(2);
const READY_WITHIN: Duration = Duration::from_secs(20);
