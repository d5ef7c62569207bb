//! Commands of RESP clients.

use std::io::{self, Read, Write};
use std::time::Duration;

use super::{CallError, CallLimit, Judge, Prepared, Protocol};
use crate::address::{Dialled, Resolved};
use crate::key::KeyParts;
use crate::template::Template;

/// The usual token bucket in Lua: the level and the time of the last request in a hash.
pub const LUA_TOKEN_BUCKET: &str = "\
local burst, count, period = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local cost = tonumber(ARGV[4])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local old = redis.call('HMGET', KEYS[1], 'level', 'at')
local level, at = tonumber(old[1]) or burst, tonumber(old[2]) or now
level = math.min(burst, level + (now - at) * count / (period * 1000000))
if level < cost then return 0 end
redis.call('HSET', KEYS[1], 'level', level - cost, 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil(burst * period * 1000 / count))
return 1
";

/// A command in the form that clients send.
pub(super) fn command(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n{word}\r\n", word.len()).as_bytes());
    }
    bytes
}

pub(super) fn throttle(name: &str, key: &str, limit: CallLimit) -> Vec<u8> {
    let [burst, count, period] = numbers(limit);
    command(&[name, key, &burst, &count, &period])
}

pub(super) fn check(key: &KeyParts) -> Vec<u8> {
    let mut words = vec!["TOLLGATE.CHECK", "KEY"];
    match key {
        KeyParts::Bare(value) => words.push(value),
        KeyParts::Entries(entries) => {
            for (name, value) in entries {
                words.extend([name.as_str(), value.as_str()]);
            }
        }
    }
    command(&words)
}

pub(super) fn lua(sha: &str, key: &str, limit: CallLimit) -> Vec<u8> {
    let [burst, count, period] = numbers(limit);
    command(&["EVALSHA", sha, "1", key, &burst, &count, &period, "1"])
}

fn numbers(limit: CallLimit) -> [String; 3] {
    [limit.burst, limit.count, limit.period_secs].map(|number| number.to_string())
}

pub(super) fn prepare(template: Template, judge: Judge, token: Option<&str>) -> Prepared {
    let greeting = token.map(|token| command(&["AUTH", token]));
    Prepared {
        protocol: Protocol::Resp {
            replies: usize::from(greeting.is_some()),
            greeting: greeting.unwrap_or_default(),
        },
        template,
        judge,
    }
}

/// Loads the script into the server, which answers with its digest.
pub(crate) fn load_script(server: &Resolved, token: Option<&str>) -> Result<String, CallError> {
    let trouble = |error: io::Error| CallError::Script(error.to_string());
    let mut stream = server.dial(PATIENCE).map_err(trouble)?;
    if let Some(token) = token {
        stream
            .exchange(&command(&["AUTH", token]))
            .map_err(trouble)?;
    }
    let reply = stream
        .exchange(&command(&["SCRIPT", "LOAD", LUA_TOKEN_BUCKET]))
        .map_err(trouble)?;
    let sha = reply.lines().nth(1).filter(|sha| sha.len() == SHA_LEN);
    sha.map(str::to_owned)
        .ok_or(CallError::Script(reply.trim().to_owned()))
}

impl Dialled {
    /// Sends, and reads one piece: enough for a short reply on a new connection.
    fn exchange(&mut self, bytes: &[u8]) -> io::Result<String> {
        let mut reply = [0; 512];
        let read = match self {
            Self::Tcp(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.write_all(bytes)?;
                stream.read(&mut reply)?
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.write_all(bytes)?;
                stream.read(&mut reply)?
            }
        };
        Ok(String::from_utf8_lossy(reply.get(..read).unwrap_or_default()).into_owned())
    }
}

const PATIENCE: Duration = Duration::from_secs(5);
const SHA_LEN: usize = 40;
