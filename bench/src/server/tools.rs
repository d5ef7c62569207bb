//! The load tools: redis-benchmark, wrk and h2load, and what they print.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Arguments of redis-benchmark.
pub(crate) struct RedisBenchmark<'a> {
    pub(crate) port: u16,
    pub(crate) depth: u32,
    pub(crate) command: &'a [&'a str],
}

/// What one run of a tool found out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ToolResult {
    pub(crate) per_second: f64,
    /// How many requests were sent, probing included.
    pub(crate) requests: f64,
}

impl RedisBenchmark<'_> {
    /// Runs for about `slice`; a short run calibrates the number of requests.
    pub(crate) fn run(&self, slice: Duration) -> Result<ToolResult> {
        let probe = self.requests(PROBE_REQUESTS)?;
        let found = self.requests(probe.per_second * slice.as_secs_f64())?;
        Ok(ToolResult {
            requests: probe.requests + found.requests,
            ..found
        })
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number of requests"
    )]
    fn requests(&self, requests: f64) -> Result<ToolResult> {
        let requests = requests.max(PROBE_REQUESTS) as u64;
        let mut command = Command::new("redis-benchmark");
        command.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-c", "50"]);
        command.args(["-P", &self.depth.to_string(), "-n", &requests.to_string()]);
        command
            .args(["-r", "100000", "--csv", "-e"])
            .args(self.command);
        let text = output(command)?;
        let per_second =
            redis_rate(&text).with_context(|| format!("redis-benchmark said {text:?}"))?;
        #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
        let requests = requests as f64;
        Ok(ToolResult {
            per_second,
            requests,
        })
    }
}

/// Runs wrk with a script that generates the requests.
pub(crate) fn wrk(url: &str, script: &Path, slice: Duration) -> Result<ToolResult> {
    let seconds = slice.as_secs_f64().ceil().max(1.0);
    let mut command = Command::new("wrk");
    command
        .args(["-t2", "-c64", &format!("-d{seconds}s"), "-s"])
        .arg(script)
        .arg(url);
    let text = output(command)?;
    if text.contains("Non-2xx") || text.contains("Socket errors") {
        bail!("wrk had trouble with {url}: {text}");
    }
    let per_second = after(&text, "Requests/sec:").with_context(|| format!("wrk said {text:?}"))?;
    Ok(ToolResult {
        per_second,
        requests: per_second * seconds,
    })
}

/// Runs h2load, 4 connections with 16 streams each, always the same gRPC call.
pub(crate) fn h2load(url: &str, body: &Path, slice: Duration) -> Result<ToolResult> {
    let seconds = slice.as_secs_f64().ceil().max(1.0);
    let mut command = Command::new("h2load");
    command.args([
        "-c4",
        "-m16",
        "-t1",
        &format!("--duration={seconds}"),
        "--warm-up-time=300ms",
    ]);
    command.args([
        "-H",
        "content-type: application/grpc",
        "-H",
        "te: trailers",
        "-d",
    ]);
    command.arg(body).arg(url);
    let text = output(command)?;
    let (per_second, failed) =
        h2load_rate(&text).with_context(|| format!("h2load said {text:?}"))?;
    if failed > 0.0 {
        bail!("h2load had trouble with {url}: {text}");
    }
    Ok(ToolResult {
        per_second,
        requests: per_second * seconds,
    })
}

fn output(mut command: Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} failed: {complaint} {text}",
            command.get_program().display()
        );
    }
    Ok(text)
}

/// The second column of the last line.
fn redis_rate(text: &str) -> Option<f64> {
    let line = text.lines().rev().find(|line| line.contains("\",\""))?;
    let column = line.trim_matches('"').split("\",\"").nth(1)?;
    column.parse().ok()
}

/// The rate, and how many requests failed or were errors.
fn h2load_rate(text: &str) -> Option<(f64, f64)> {
    let line = text.lines().find(|line| line.starts_with("finished in"))?;
    let rate = line.split(',').nth(1)?.trim().strip_suffix(" req/s")?;
    let requests = text.lines().find(|line| line.starts_with("requests:"))?;
    let number = |name: &str| {
        let part = requests
            .split(',')
            .find_map(|part| part.trim().strip_suffix(name))?;
        part.trim().parse::<f64>().ok()
    };
    Some((rate.parse().ok()?, number("failed")? + number("errored")?))
}

fn after(text: &str, label: &str) -> Option<f64> {
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(label))?;
    line.trim().parse().ok()
}

const PROBE_REQUESTS: f64 = 20_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_found_in_what_tools_print() {
        let redis = "\"test\",\"rps\",\"avg_latency_ms\"\n\"SET a b\",\"62500.00\",\"0.7\"\n";
        assert_eq!(redis_rate(redis), Some(62500.0));
        let h2load = "starting benchmark...\nfinished in 2.30s, 95123.50 req/s, 3.1MB/s\n\
            requests: 190247 total, 190311 started, 190247 done, 190247 succeeded, 0 failed, 0 errored, 0 timeout\n";
        assert_eq!(h2load_rate(h2load), Some((95123.5, 0.0)));
        assert_eq!(
            after("  x\nRequests/sec:  12.5\n", "Requests/sec:"),
            Some(12.5)
        );
        assert_eq!(redis_rate("nothing"), None);
    }
}
