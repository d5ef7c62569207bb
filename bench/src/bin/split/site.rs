//! Brokers, gateways before them, and one measurement.
//!
//! Not here: which measurements, and their evaluation.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tollgate_parts::Mosquitto;
use tollgate_parts::wire::fetch;

use crate::judge::{AdmissionLog, JudgedBucket, judge};

/// What is measured.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) binary: PathBuf,
    pub(crate) brokers: u16,
    pub(crate) lends: bool,
    /// The value of `--adapt`.
    pub(crate) adapt: &'static str,
    /// The longest wait, in seconds.
    pub(crate) wait_max: u32,
    pub(crate) limit: u32,
    pub(crate) burst: u32,
    pub(crate) publishers: u32,
    pub(crate) each: u32,
    pub(crate) group: u32,
    pub(crate) assign: String,
    pub(crate) seconds: u32,
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteLatencies {
    pub(crate) p50_ms: f64,
    pub(crate) p95_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) max_ms: f64,
    pub(crate) waited_percent: f64,
    pub(crate) frames_per_message: f64,
    pub(crate) over: u64,
}

/// Brokers and gateways that run.
pub(crate) struct BrokerSite {
    brokers: Vec<Mosquitto>,
    gateways: Vec<Gateway>,
    folder: tempfile::TempDir,
}

struct Gateway {
    child: Child,
    listen: String,
    http: String,
    cluster: String,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl BrokerSite {
    /// Starts everything, and waits until gateways know each other and have their parts.
    pub(crate) fn start(trial: &Trial) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let contracts = folder.path().join("contracts.yaml");
        let text = format!(
            "contracts: [{{ id: topic, match: {{ topic: 'bench/#' }}, policies: [{{ name: all, limit: {}, per: 1s, burst: {}, on_limit: delay, max_wait: {}s, coordination: split }}] }}]",
            trial.limit, trial.burst, trial.wait_max
        );
        fs::write(&contracts, text)?;
        let key = folder.path().join("cluster.key");
        let made = Command::new(&trial.binary)
            .args(["cluster", "key", "new"])
            .arg(&key)
            .stdout(Stdio::null())
            .status()?;
        ensure!(made.success(), "no key");
        let mut site = Self {
            brokers: (0..trial.brokers).map(|_| Mosquitto::start()).collect(),
            gateways: Vec::new(),
            folder,
        };
        let names: Vec<String> = (0..trial.brokers)
            .map(|number| format!("g{number}"))
            .collect();
        for (name, broker) in names.iter().zip(&site.brokers) {
            let mut command = Command::new(&trial.binary);
            command
                .args([
                    "gateway",
                    "--listen",
                    "127.0.0.1:0",
                    "--metrics",
                    "127.0.0.1:0",
                ])
                .args(["--upstream", &broker.address(), "--cluster", "127.0.0.1:0"])
                .args(["--name", name, "--roster", &names.join(",")])
                .args(["--lend", if trial.lends { "on" } else { "off" }])
                .args(["--adapt", trial.adapt])
                .args(["--format", "json", "--threads", "1"])
                .arg("--contracts")
                .arg(&contracts)
                .arg("--cluster-key")
                .arg(&key)
                .arg("--admission-log")
                .arg(site.folder.path().join("admitted"));
            if let Some(first) = site.gateways.first() {
                command.args(["--join", &first.cluster]);
            }
            site.gateways.push(Gateway::start(command)?);
        }
        site.settle(trial)?;
        Ok(site)
    }

    fn settle(&self, trial: &Trial) -> Result<()> {
        let begun = Instant::now();
        loop {
            let alone = self.gateways.iter().any(|gateway| {
                let members = get(&gateway.http, "/v1/cluster");
                let members = members
                    .ok()
                    .and_then(|view| view["peers"].as_array().map(Vec::len));
                members != Some(usize::from(trial.brokers) - 1)
            });
            if !alone {
                break;
            }
            ensure!(
                begun.elapsed() < Duration::from_secs(30),
                "gateways do not find each other"
            );
            sleep(Duration::from_millis(50));
        }
        // Waits until messages held from before have passed.
        sleep(Duration::from_secs(trial.wait_max.into()) + Duration::from_millis(500));
        Ok(())
    }

    /// Publishes evenly, and returns the latencies.
    pub(crate) fn measure(&self, trial: &Trial) -> Result<SiteLatencies> {
        let even: Vec<usize> = (0..self.gateways.len()).collect();
        self.publish(trial, &even, 1)
    }

    /// Publishes evenly, then `percent` of the messages at the first gateway, and returns the latencies of that part.
    pub(crate) fn measure_shift(&self, trial: &Trial, percent: u32) -> Result<SiteLatencies> {
        self.measure(trial)?;
        let first = trial.publishers * percent / 100;
        let others = self.gateways.len() - 1;
        let rest = (first..trial.publishers).map(|number| 1 + number as usize % others);
        let uneven: Vec<usize> = (0..first).map(|_| 0).chain(rest).collect();
        self.publish(trial, &uneven, 0)
    }

    /// Distributes publishers over those gateways in turn.
    fn publish(&self, trial: &Trial, at: &[usize], warm_up: u32) -> Result<SiteLatencies> {
        let mut command = Command::new(&trial.binary);
        command.args([
            "bench",
            "mqtt",
            "--format",
            "json",
            "--topic",
            "bench/one",
            "--qos",
            "0",
        ]);
        for gateway in at.iter().filter_map(|place| self.gateways.get(*place)) {
            command.args(["--target", &gateway.listen]);
        }
        for broker in &self.brokers {
            command.args(["--subscribe", &broker.address()]);
        }
        let said = command
            .args(["--publishers", &trial.publishers.to_string()])
            .args(["--rate", &trial.each.to_string()])
            .args([
                "--group",
                &trial.group.to_string(),
                "--assign",
                &trial.assign,
            ])
            .args(["--duration", &trial.seconds.to_string()])
            .args(["--seed", &trial.seed.to_string()])
            .args(["--warm-up", &warm_up.to_string()])
            .args(["--patience", &(trial.wait_max + 2).to_string()])
            .stderr(Stdio::inherit())
            .output()?;
        ensure!(said.status.success(), "the generator failed");
        let said: Value =
            serde_json::from_slice(&said.stdout).context("what the generator said")?;
        let arrival = &said["latency"];
        let millis = |name: &str| arrival[name].as_f64().map_or(f64::NAN, |nanos| nanos / 1e6);
        let mut counts = [0.0; 3];
        for gateway in &self.gateways {
            let view = get(&gateway.http, "/v1/cluster/split")?;
            let policy = &view["policies"][0]["counts"];
            for (sum, name) in counts.iter_mut().zip(["admitted", "delayed", "frames"]) {
                *sum += policy[name].as_f64().unwrap_or(0.0);
            }
        }
        let [admitted, delayed, frames] = counts;
        Ok(SiteLatencies {
            p50_ms: millis("p50"),
            p95_ms: millis("p95"),
            p99_ms: millis("p99"),
            max_ms: millis("max"),
            waited_percent: 100.0 * delayed / admitted,
            frames_per_message: frames / admitted,
            over: self.over(trial)?,
        })
    }

    /// How many messages were admitted beyond the one bucket.
    fn over(&self, trial: &Trial) -> Result<u64> {
        let mut log = AdmissionLog::default();
        for entry in fs::read_dir(self.folder.path().join("admitted"))? {
            let path = entry?.path();
            let text = fs::read_to_string(&path)?;
            let read = log.read(&path.display().to_string(), &text);
            read.map_err(anyhow::Error::msg)?;
        }
        let bucket = JudgedBucket {
            limit: trial.limit.into(),
            per_ns: 1_000_000_000,
            burst: trial.burst.into(),
        };
        Ok(judge(bucket, &log).violations)
    }
}

impl Gateway {
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let said: Value = serde_json::from_str(&line).context("a gateway does not start")?;
        let text = |name: &str| said[name].as_str().map(str::to_owned).context("an address");
        Ok(Self {
            listen: text("listen")?,
            http: text("metrics")?,
            cluster: text("cluster")?,
            child,
        })
    }
}

/// Fetches JSON from a gateway.
fn get(at: &str, path: &str) -> Result<Value> {
    Ok(serde_json::from_str(&fetch(at, path)?.body)?)
}
