//! `tollgate tail`: decisions of a server, as they are made.
//!
//! Not here: choosing and counting them, which the server does (`GET /v1/tail`).

pub(crate) mod options;

use std::io::{BufRead, Read, Write, stderr, stdout};

use serde_json::Value;

use crate::check::http::{Followed, ServerRequest, encoded};
use crate::check::{left, refused};
use crate::civil::Civil;
use crate::failure::Failure;
use crate::report::table::tame;
use crate::report::{Ink, Meaning, TerminalStyle, units};
use options::{TailFormat, TailOptions};

/// Prints decisions until the server or the reader ends.
pub(crate) fn run(options: &TailOptions) -> Result<(), Failure> {
    let server = &options.at.server;
    let path = path(options);
    let followed = ServerRequest::get(server, &path, options.at.token.as_deref()).follow();
    let mut lines = match followed.map_err(|error| error.failure(server))? {
        Followed::Lines(lines) => lines,
        Followed::Refused(reply) => {
            let problem = serde_json::from_slice(&reply.body).unwrap_or_default();
            return Err(refused(server, reply.status, &problem));
        }
    };
    let mut out = stdout();
    let look = TerminalStyle::of_stdout();
    loop {
        let mut text = String::new();
        let read = lines.by_ref().take(LINE_MAX).read_line(&mut text);
        let broken =
            |why: String| Failure::unavailable(format!("error: {server} broke off: {why}"));
        if read.map_err(|error| broken(error.to_string()))? == 0 {
            return Err(broken("it ended without a word".to_owned()));
        }
        let line: Value = serde_json::from_str(&text).map_err(|_| {
            Failure::protocol(format!("error: {server} sent a line that is no JSON"))
        })?;
        if options.format == TailFormat::Jsonl {
            out.write_all(text.as_bytes()).map_err(Failure::output)?;
        } else if line.get("verdict").is_some() {
            writeln!(out, "{}", decision(&line, look)).map_err(Failure::output)?;
        } else if let Some(note) = note(&line) {
            // Notes are not decisions, so they go to standard error.
            let _ = writeln!(stderr(), "{note}");
        }
        if line.get("end").is_some() {
            return Ok(());
        }
    }
}

fn path(options: &TailOptions) -> String {
    let keys = options.keys.iter().map(|key| ("key", key));
    let contract = options.contract.iter().map(|id| ("contract", id));
    let verdict = options.verdict.iter().map(|word| ("verdict", word));
    let parameters = keys.chain(contract).chain(verdict);
    let parameters = parameters.map(|(name, value)| format!("{name}={}", encoded(value)));
    format!("/v1/tail?{}", parameters.collect::<Vec<_>>().join("&"))
}

fn decision(line: &Value, look: TerminalStyle) -> String {
    let number = |name: &str| line.get(name).and_then(Value::as_u64);
    let text = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
    let (meaning, words) = match text("verdict") {
        "allow" => (Meaning::Allowed, "allowed"),
        "delay" => (Meaning::Delayed, "delayed"),
        "deny" => (Meaning::Denied, "denied"),
        "shadow_deny" => (Meaning::Allowed, "allowed, in shadow denied"),
        _ => (Meaning::Unmatched, "no decision"),
    };
    let verdict = format!("{} {words:<8}", meaning.glyph());
    let verdict = look.paint(Ink::Meaning(meaning), &verdict);
    let at = Civil::from_unix_ms(number("at_ms").unwrap_or_default()).seconds();
    let mut shown = format!("{at}  {verdict}  {}", tame(text("key"), KEY_MAX));
    if let Some(cost) = number("cost").filter(|cost| *cost != 1) {
        shown = format!("{shown}  for {}", units::exact(cost));
    }
    let mut rest = format!("  {}", tame(text("contract"), KEY_MAX));
    if !text("policy").is_empty() {
        rest = format!("{rest}/{}: {}", tame(text("policy"), KEY_MAX), left(line));
    }
    for (name, words) in [("wait_ms", "held back"), ("retry_after_ms", "again in")] {
        if let Some(span) = number(name) {
            rest = format!("{rest}, {words} {}", units::span(span));
        }
    }
    shown + &look.paint(Ink::Dim, &rest)
}

/// A note besides decisions, if there is one.
fn note(line: &Value) -> Option<String> {
    if let Some(watching) = line.get("watching") {
        let node = watching.get("node").and_then(Value::as_str);
        let node = node.map_or_else(
            || "this server".to_owned(),
            |node| format!("the node {node}"),
        );
        return Some(format!("decisions of {node}, from here on; Ctrl-C ends"));
    }
    if let Some(end) = line.get("end").and_then(Value::as_str) {
        return Some(format!("ended: {}", tame(end, KEY_MAX)));
    }
    let dropped = line.get("dropped").and_then(Value::as_u64);
    let dropped = dropped.filter(|dropped| *dropped > 0)?;
    Some(format!(
        "{} decisions are not shown so far: there were more than are shown or read in time",
        units::exact(dropped)
    ))
}

const KEY_MAX: usize = 120;
/// The longest line that a server sends.
const LINE_MAX: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_decision_is_a_line_of_words() {
        let mut line = json!({
            "at_ms": 1_794_700_800_790_u64, "door": "http", "verdict": "allow", "key": "user=42", "cost": 1,
            "contract": "users", "policy": "burst", "limit": 5, "capacity": 10, "remaining": 9, "debt": 0,
            "wait_ms": null, "retry_after_ms": null
        });
        let shown = decision(&line, TerminalStyle::PLAIN);
        assert!(
            shown.ends_with("░ allowed   user=42  users/burst: 9 left of 10, at a limit of 5"),
            "{shown}"
        );
        line["verdict"] = json!("deny");
        line["cost"] = json!(7);
        line["retry_after_ms"] = json!(1500);
        let shown = decision(&line, TerminalStyle::PLAIN);
        assert!(
            shown.contains("█ denied    user=42  for 7  users/burst: "),
            "{shown}"
        );
        assert!(shown.ends_with(", again in 1.5 s"), "{shown}");
        assert_eq!(note(&json!({ "dropped": 0 })), None);
        assert!(note(&json!({ "dropped": 3 })).is_some_and(|note| note.starts_with("3 decisions")));
    }
}
