//! What several nodes say to one question: asked, printed as JSON, and what stands at the end whatever the question
//! was.
//!
//! Not here: tables (`supply`, and `status` of gateways).

use std::fmt::Write as _;
use std::io::Write as _;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tollgate_load::ServerAddress;
use tollgate_serve::modes::view::ModeView;

use super::options::SupplyOptions;
use crate::check::http::{ServerRequest, encoded};
use crate::cli::Format;
use crate::failure::Failure;
use crate::report::TerminalStyle;
use crate::report::table::tame;

pub(crate) struct NodeReport {
    pub(crate) server: String,
    /// What it said, as it is meant and as it is.
    pub(crate) said: Result<(ModeView, Value), Failure>,
}

/// Asks all servers; an error only where none has an answer.
pub(crate) fn ask(options: &SupplyOptions, what: &str) -> Result<Vec<NodeReport>, Failure> {
    let path = path(what, options)?;
    let ask = |server: &ServerAddress| {
        let said = fetch::<ModeView>(server, &path, options.token.as_deref());
        NodeReport {
            server: server.to_string(),
            said: said.and_then(|(view, value)| {
                if view.divided.as_ref().is_some_and(|divided| divided.on) {
                    Ok((view, value))
                } else {
                    Err(no_roster(server))
                }
            }),
        }
    };
    let told: Vec<NodeReport> = options.at.iter().map(ask).collect();
    if told.iter().all(|told| told.said.is_err()) {
        let first = told.into_iter().find_map(|told| told.said.err());
        return first.map_or_else(|| Ok(Vec::new()), Err);
    }
    Ok(told)
}

pub(crate) fn print(
    options: &SupplyOptions,
    told: &[NodeReport],
    human: impl FnOnce(&[NodeReport], TerminalStyle) -> String,
) -> Result<(), Failure> {
    let text = match options.format {
        Format::Json => format!("{}\n", machine(told)),
        Format::Human => human(told, TerminalStyle::of_stdout()),
    };
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).map_err(Failure::output)
}

fn machine(told: &[NodeReport]) -> Value {
    let nodes = told.iter().map(|told| match &told.said {
        Ok((_, value)) => value.clone(),
        Err(failure) => json!({ "server": told.server, "error": failure.to_string() }),
    });
    json!({ "nodes": nodes.collect::<Vec<_>>() })
}

pub(crate) fn views(told: &[NodeReport]) -> Vec<&ModeView> {
    let said = told.iter().map(|told| told.said.as_ref());
    said.filter_map(|said| said.ok().map(|(view, _)| view))
        .collect()
}

/// What is too small, who did not answer, and who was not asked.
pub(crate) fn end(told: &[NodeReport], text: &mut String) {
    let views = views(told);
    let Some(divided) = views.first().and_then(|first| first.divided.as_ref()) else {
        return;
    };
    for small in &divided.by_owner {
        let _ = writeln!(text, "{}", tame(&small.to_string(), SENTENCE_MAX));
    }
    for told in told {
        if let Err(failure) = &told.said {
            let _ = writeln!(text, "{}: {failure}", told.server);
        }
    }
    let missing = divided.roster.len().saturating_sub(views.len());
    if missing > 0 {
        let _ = writeln!(
            text,
            "{missing} more of the roster were not asked; name them with --server"
        );
    }
}

fn no_roster(server: &ServerAddress) -> Failure {
    Failure::usage(format!(
        "error: {server} divides no rates\nA cluster that does has a roster: --roster a,b,c."
    ))
}

fn path(what: &str, options: &SupplyOptions) -> Result<String, Failure> {
    let mut path = format!("/v1/cluster/{what}?contract={}", encoded(&options.contract));
    for entry in &options.key {
        if !entry.contains('=') {
            return Err(Failure::usage(format!(
                "error: --key {entry}: write an entry and its value, as user=42"
            )));
        }
        let _ = write!(path, "&key={}", encoded(entry));
    }
    Ok(path)
}

/// What a server says there, as it is meant and as it is.
pub(crate) fn fetch<T: DeserializeOwned>(
    server: &ServerAddress,
    path: &str,
    token: Option<&str>,
) -> Result<(T, Value), Failure> {
    let reply = ServerRequest::get(server, path, token).send();
    let reply = reply.map_err(|error| {
        Failure::unavailable(format!("error: {server} does not answer: {error}"))
    })?;
    let value: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let detail = value.get("detail").and_then(Value::as_str).unwrap_or("");
    match reply.status {
        200 => {}
        400 => return Err(Failure::usage(format!("error: {server}: {detail}"))),
        401 | 403 => {
            return Err(Failure::no_permission(format!(
                "error: {server} lets nobody look without a token\nSet TOLLGATE_TOKEN to a token that the server knows."
            )));
        }
        status => {
            return Err(Failure::protocol(format!(
                "error: {server} does not answer that (status {status}); is it a Tollgate?"
            )));
        }
    }
    let view = serde_json::from_value(value.clone()).ok();
    let view = view.ok_or_else(|| {
        Failure::protocol(format!("error: {server} says what makes no sense here"))
    })?;
    Ok((view, value))
}

const SENTENCE_MAX: usize = 400;

#[cfg(test)]
impl NodeReport {
    /// A node that answered.
    pub(crate) fn new(server: &str, view: ModeView) -> Self {
        Self {
            server: server.to_owned(),
            said: Ok((view, Value::Null)),
        }
    }
}
