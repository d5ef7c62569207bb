//! Requests to the admin API; turns refusals into failures.

use serde_json::Value;

use super::options::NodeOptions;
use crate::check::http::ServerRequest;
pub(super) use crate::check::http::encoded;
use crate::failure::Failure;

pub(super) struct ServerAccess<'a> {
    options: &'a NodeOptions,
    token: String,
}

impl<'a> ServerAccess<'a> {
    /// The server in the options, with a token from a file or the environment.
    pub(super) fn of(options: &'a NodeOptions) -> Result<Self, Failure> {
        let token = match &options.token_file {
            Some(path) => {
                std::fs::read_to_string(path).map_err(|error| Failure::unreadable(path, &error))?
            }
            None => std::env::var("TOLLGATE_ADMIN_TOKEN").unwrap_or_default(),
        };
        let token = token.trim().to_owned();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Failure::no_permission(
                "error: this needs a management token: set TOLLGATE_ADMIN_TOKEN, or say --token-file FILE",
            ));
        }
        Ok(Self { options, token })
    }

    /// A path below `/admin/v1`.
    pub(super) fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send("GET", path, None, None)
    }

    /// `seen` is the version that a change is based on.
    pub(super) fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        seen: Option<u64>,
    ) -> Result<Value, Failure> {
        let (status, value) = self.exchange(method, path, body, seen)?;
        done(status, value)
    }

    /// The current version, if the object exists.
    pub(super) fn version(&self, path: &str) -> Result<Option<u64>, Failure> {
        let (status, value) = self.exchange("GET", path, None, None)?;
        match status {
            404 => Ok(None),
            _ => Ok(done(status, value)?["version"].as_u64()),
        }
    }

    pub(super) fn send_lines(&self, path: &str, lines: &[u8]) -> Result<Value, Failure> {
        let line = Some(("content-type", "application/x-ndjson"));
        let (status, value) = self.reply("POST", path, line, Some(lines))?;
        done(status, value)
    }

    fn exchange(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        seen: Option<u64>,
    ) -> Result<(u16, Value), Failure> {
        let body = body.map(|body| body.to_string().into_bytes());
        let version = seen.map(|version| format!("\"{version}\""));
        let line = match &version {
            None => None,
            Some(_) if seen == Some(0) => Some(("if-none-match", "*")),
            Some(version) => Some(("if-match", &**version)),
        };
        self.reply(method, path, line, body.as_deref())
    }

    fn reply(
        &self,
        method: &str,
        path: &str,
        line: Option<(&str, &str)>,
        body: Option<&[u8]>,
    ) -> Result<(u16, Value), Failure> {
        let path = format!("/admin/v1{path}");
        let server = &self.options.server;
        let request = ServerRequest {
            server,
            method,
            path: &path,
            token: Some(&self.token),
            line,
            body,
        };
        let reply = request.send().map_err(|error| error.failure(server))?;
        let value = serde_json::from_slice(&reply.body);
        let value = value
            .map_err(|_| Failure::protocol(format!("error: {server} has no management API")))?;
        Ok((reply.status, value))
    }
}

/// The answer; a refusal is a failure.
fn done(status: u16, value: Value) -> Result<Value, Failure> {
    if (200..300).contains(&status) {
        return Ok(value);
    }
    let error = &value["error"];
    let message = error["message"].as_str().or(value["detail"].as_str());
    let mut text = format!("error: {}", message.unwrap_or("the server did not say why"));
    for detail in error["details"].as_array().into_iter().flatten() {
        let line = detail["line"].as_u64();
        let place = line.map_or_else(String::new, |line| format!("line {line}: "));
        let message = detail["message"].as_str().unwrap_or_default();
        text.extend(["\n  ", &place, message]);
    }
    Err(match status {
        401 | 403 | 429 => Failure::no_permission(text),
        409 | 412 | 428 => Failure::found(text),
        503 => Failure::unavailable(text),
        _ => Failure::usage(text),
    })
}
