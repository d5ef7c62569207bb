//! `tollgate check`: asks a server about one key.
//!
//! Exit codes say the verdict, so that a script can ask with nothing but `if`: 0 allowed, 1 denied.

pub(crate) mod http;
pub(crate) mod options;
mod show;

use std::fmt::Display;
use std::io::Write;

use serde_json::Value;
use tollgate_load::{KeyParts, ServerAddress};
use tollgate_wire::v1::{self, JsonCheckRequest, WireKey};

use crate::cli::Format;
use crate::failure::Failure;
use crate::report::TerminalStyle;
use http::ServerRequest;
use options::AskOptions;
pub(crate) use show::left;

/// Asks, prints the decision, and fails without a word if it is a denial.
pub(crate) fn run(options: &AskOptions) -> Result<(), Failure> {
    let body = body(options)?;
    let request = ServerRequest {
        server: &options.at.server,
        method: "POST",
        path: "/v1/check",
        token: options.at.token.as_deref(),
        line: None,
        body: Some(&body),
    };
    let reply = request
        .send()
        .map_err(|error| error.failure(&options.at.server))?;
    let decision: Value =
        serde_json::from_slice(&reply.body).map_err(|_| Failure::protocol(no_decision(options)))?;
    let Some(allowed) = decision.get("allowed").and_then(Value::as_bool) else {
        return Err(refused(&options.at.server, reply.status, &decision));
    };
    let text = match options.format {
        Format::Human => show::text(&options.key, &decision, TerminalStyle::of_stdout()),
        Format::Json => format!("{decision}\n"),
    };
    write!(std::io::stdout(), "{text}").map_err(Failure::output)?;
    if allowed {
        Ok(())
    } else {
        Err(Failure::denied())
    }
}

/// The order of a key's entries counts, so they are written as they were typed.
fn body(options: &AskOptions) -> Result<Vec<u8>, Failure> {
    let bad_usage = |error: &dyn Display| Failure::usage(format!("error: {error}"));
    let parts = tollgate_load::parts(&options.key).map_err(|error| bad_usage(&error))?;
    let check = JsonCheckRequest {
        key: match parts {
            KeyParts::Bare(value) => WireKey::Bare(value.into()),
            KeyParts::Entries(entries) => {
                let owned = |(name, value): (String, String)| (name.into(), value.into());
                WireKey::Entries(entries.into_iter().map(owned).collect())
            }
        },
        cost: options.cost,
        contract: options.contract.as_deref().map(Into::into),
        id: None,
    };
    let mut body = Vec::new();
    v1::encode(&check, &mut body).map_err(|error| bad_usage(&error))?;
    Ok(body)
}

/// The server answered with a problem instead of a decision.
pub(crate) fn refused(server: &ServerAddress, status: u16, problem: &Value) -> Failure {
    let member = |name: &str| problem.get(name).and_then(Value::as_str);
    let said = member("detail")
        .or_else(|| member("title"))
        .unwrap_or("it did not say why");
    let text = format!("error: {server} refused to answer (status {status}): {said}");
    match status {
        401 | 403 => Failure::no_permission(format!(
            "{text}\nSet TOLLGATE_TOKEN to a token that the server knows."
        )),
        400..500 => Failure::usage(text),
        _ => Failure::unavailable(text),
    }
}

fn no_decision(options: &AskOptions) -> String {
    format!(
        "error: {} answered with something that is no decision; is it a Tollgate?",
        options.at.server
    )
}
