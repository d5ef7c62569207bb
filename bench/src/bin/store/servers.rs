//! Private servers of Redis, and the bare script that `redis-benchmark` drives.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The smallest token bucket that still keeps its word: level and time, refilled by the server's clock, expiring when full.
const BARE: &str = "
local limit, per = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local kept = redis.call('HMGET', KEYS[1], 'level', 'at')
local level, at = tonumber(kept[1]) or limit, tonumber(kept[2]) or now
level = math.min(limit, level + (now - at) * limit / per)
if level < 1 then
    return 0
end
redis.call('HSET', KEYS[1], 'level', level - 1, 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(per / 1000))
return 1";

/// A server, gone when dropped.
pub(crate) struct Server {
    child: Child,
    port: u16,
    bus: u16,
}

impl Server {
    pub(crate) fn start(settings: &[&str]) -> Result<Self> {
        let (port, bus) = (free_port()?, free_port()?);
        let child = Command::new("redis-server")
            .args([
                "--port",
                &port.to_string(),
                "--save",
                "",
                "--appendonly",
                "no",
            ])
            .args(
                settings
                    .iter()
                    .map(|part| part.replace("BUS", &bus.to_string())),
            )
            .current_dir(std::env::temp_dir())
            .stdout(Stdio::null())
            .spawn()
            .context("redis-server is not installed")?;
        let server = Self { child, port, bus };
        server.wait("PING", "PONG")?;
        Ok(server)
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The digest of the bare script, which the server then knows.
    pub(crate) fn load_bare_script(&self) -> Result<String> {
        self.cli(&["SCRIPT", "LOAD", BARE])
    }

    /// Calls of the bare script per second, as `redis-benchmark` counts them.
    pub(crate) fn bare_rate(&self, script: &str, connections: usize, keys: u64) -> Result<f64> {
        let (port, connections, keys) = (
            self.port.to_string(),
            connections.to_string(),
            keys.to_string(),
        );
        let output = Command::new("redis-benchmark")
            .args([
                "-p",
                &port,
                "-c",
                &connections,
                "-n",
                "100000",
                "-r",
                &keys,
                "--csv",
            ])
            .args([
                "EVALSHA",
                script,
                "1",
                "bare:__rand_int__",
                "1000000",
                "1000000",
            ])
            .output()
            .context("redis-benchmark is not installed")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let rate = text.lines().last().and_then(|line| line.split(',').nth(1));
        let rate = rate.context("no rate")?.trim_matches('"');
        Ok(rate.parse()?)
    }

    fn wait(&self, command: &str, answer: &str) -> Result<()> {
        let start = Instant::now();
        let words: Vec<&str> = command.split(' ').collect();
        while start.elapsed() < Duration::from_secs(20) {
            let is_up = TcpStream::connect(("127.0.0.1", self.port)).is_ok();
            if is_up && self.cli(&words)?.contains(answer) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("{command} never says {answer}")
    }

    fn cli(&self, command: &[&str]) -> Result<String> {
        let output = Command::new("redis-cli")
            .args(["-p", &self.port.to_string()])
            .args(command)
            .output()
            .context("redis-cli is not installed")?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have gone by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Three primaries without replicas.
pub(crate) fn cluster() -> Result<Vec<Server>> {
    let mut nodes = Vec::new();
    for (epoch, slots) in [["0", "5460"], ["5461", "10922"], ["10923", "16383"]]
        .iter()
        .enumerate()
    {
        // A file of its own for each, named by a free port.
        let file = format!(
            "tollgate-bench-{}-{}.conf",
            std::process::id(),
            free_port()?
        );
        let node = Server::start(&[
            "--cluster-enabled",
            "yes",
            "--cluster-port",
            "BUS",
            "--cluster-config-file",
            &file,
        ])?;
        node.cli(&["CLUSTER", "SET-CONFIG-EPOCH", &(epoch + 1).to_string()])?;
        node.cli(&["CLUSTER", "ADDSLOTSRANGE", slots[0], slots[1]])?;
        nodes.push(node);
    }
    for node in &nodes {
        let (port, bus) = (node.port.to_string(), node.bus.to_string());
        nodes[0].cli(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus])?;
    }
    for node in &nodes {
        node.wait("CLUSTER INFO", "cluster_state:ok")?;
        node.wait("CLUSTER INFO", "cluster_known_nodes:3")?;
    }
    Ok(nodes)
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
