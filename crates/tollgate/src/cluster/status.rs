//! `tollgate cluster status`: a cluster as one node sees it.
//!
//! Not here: how the figures come about (`tollgate-serve`).

use std::io::Write;

use serde_json::Value;

use super::options::{ClusterFormat, StatusOptions};
use crate::check::http::{HttpError, Request};
use crate::failure::Failure;

pub(super) fn run(options: &StatusOptions) -> Result<(), Failure> {
    let status = fetch(options)?;
    let text = match options.format {
        ClusterFormat::Json => format!("{status}\n"),
        ClusterFormat::Human => format!("{status:#}\n"),
    };
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).map_err(Failure::output)
}

/// How many nodes it sees alive, itself included.
pub(super) fn alive(status: &Value) -> usize {
    let members = status.get("members").and_then(Value::as_array);
    let is_alive = |member: &&Value| member.get("state").and_then(Value::as_str) == Some("alive");
    members.map_or(0, |members| members.iter().filter(is_alive).count())
}

fn fetch(options: &StatusOptions) -> Result<Value, Failure> {
    let server = &options.at;
    let request = Request {
        server,
        method: "GET",
        path: "/v1/cluster",
        token: options.token.as_deref(),
        body: None,
    };
    let reply = request.send().map_err(|error| match error {
        HttpError::Connect(error) => Failure::unavailable(format!(
            "error: nothing answers at {server}: {error}\nStart a cluster with `tollgate cluster dev`, or name a node with --at."
        )),
        HttpError::Io(error) => Failure::unavailable(format!("error: {server} broke off: {error}")),
        HttpError::Reply(what) => Failure::protocol(format!("error: {server} does not speak HTTP: {what}")),
    })?;
    match (reply.status, serde_json::from_slice(&reply.body)) {
        (200, Ok(status)) => Ok(status),
        (401 | 403, _) => Err(Failure::no_permission(format!(
            "error: {server} lets nobody look without a token\nSet TOLLGATE_TOKEN to a token that the server knows."
        ))),
        (404, Ok(problem)) => Err(Failure::usage(format!(
            "error: {server} is in no cluster{}\nStart it with --cluster and --cluster-key.",
            detail(&problem)
        ))),
        (status, _) => Err(Failure::protocol(format!(
            "error: {server} does not tell of its cluster (status {status} for /v1/cluster); is it a Tollgate?"
        ))),
    }
}

fn detail(problem: &Value) -> String {
    let detail = problem.get("detail").and_then(Value::as_str);
    detail.map_or_else(String::new, |detail| format!(": {detail}"))
}
