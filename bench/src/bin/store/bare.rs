//! The bare script that `redis-benchmark` drives.

use std::process::Command;

use anyhow::{Context, Result};
use tollgate_parts::Redis;

/// The smallest token bucket that is still correct: level and time, refilled by the server's clock, expiring when
/// full.
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

/// Loads the bare script; returns its digest.
pub(crate) fn load(server: &Redis) -> String {
    server.cli(&["SCRIPT", "LOAD", BARE])
}

/// Calls of the bare script per second, as `redis-benchmark` counts them.
pub(crate) fn rate(server: &Redis, script: &str, callers: u64, keys: u64) -> Result<f64> {
    let mut command = Command::new("redis-benchmark");
    command.args(["-p", &server.port.to_string(), "-c", &callers.to_string()]);
    command.args(["-n", "100000", "-r", &keys.to_string(), "--csv"]);
    command.args(["EVALSHA", script, "1", "bare:__rand_int__"]);
    let output = command.args(["1000000", "1000000"]).output();
    let output = output.context("redis-benchmark is not installed")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rate = text.lines().last().and_then(|line| line.split(',').nth(1));
    let rate = rate.context("no rate")?.trim_matches('"');
    Ok(rate.parse()?)
}
