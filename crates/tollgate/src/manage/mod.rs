//! `tollgate contract`, `plan`, `assign`, `key` and `token`: what the management API does, from a terminal.
//!
//! Not here: the API itself (`tollgate-admin`).

mod ask;
mod attempt;
mod keys;
pub(crate) mod options;
mod put;
mod show;
mod thing;
mod tokens;

use std::io::Write;

use serde_json::{Value, json};

use crate::cli::Format;
use crate::failure::Failure;
use ask::{ServerAccess, encoded};
use options::{AssignCommand, ContractCommand, Managed, ThingCommand};
use thing::thing;

pub(crate) use keys::key;
pub(crate) use tokens::token;

pub(crate) fn contract(managed: &Managed<ContractCommand>) -> Result<(), Failure> {
    let (server, format) = (ServerAccess::of(&managed.node)?, managed.node.format);
    match &managed.command {
        ContractCommand::Thing(command) => thing(&server, "contracts", command, format),
        ContractCommand::Rollout {
            id,
            to,
            policy,
            reason,
        } => {
            let at = format!("/contracts/{}", encoded(id));
            let to = to
                .parse::<u64>()
                .map_or_else(|_| json!(to), |percent| json!(percent));
            let mut body = json!({ "to": to });
            if let Some(policy) = policy {
                body["policy"] = json!(policy);
            }
            let seen = server.version(&at)?;
            let done = server.send(
                "POST",
                &format!("{at}/rollout?reason={}", encoded(reason)),
                Some(&body),
                seen,
            )?;
            print(format, &done, written)
        }
    }
}

pub(crate) fn plan(managed: &Managed<ThingCommand>) -> Result<(), Failure> {
    let server = ServerAccess::of(&managed.node)?;
    thing(&server, "plans", &managed.command, managed.node.format)
}

pub(crate) fn assign(managed: &Managed<AssignCommand>) -> Result<(), Failure> {
    let (server, format) = (ServerAccess::of(&managed.node)?, managed.node.format);
    match &managed.command {
        AssignCommand::Thing(command) => thing(&server, "assignments", command, format),
        AssignCommand::Import { file, reason } => {
            let done = put::import(&server, file, reason)?;
            print(format, &done, |done| {
                format!("{} made, {} there before\n", done["made"], done["same"])
            })
        }
    }
}

fn delete(
    server: &ServerAccess<'_>,
    at: &str,
    reason: &str,
    format: Format,
) -> Result<(), Failure> {
    let seen = server.version(at)?;
    let done = server.send(
        "DELETE",
        &format!("{at}?reason={}", encoded(reason)),
        None,
        seen,
    )?;
    print(format, &done, written)
}

/// All pages of a list as one.
fn all(server: &ServerAccess<'_>, path: &str) -> Result<Value, Failure> {
    let (mut all, mut next) = (Vec::new(), String::new());
    loop {
        let mut page = server.get(&format!("{path}{next}"))?;
        if let Some(items) = page["items"].as_array_mut() {
            all.append(items);
        }
        match page["next"].as_str() {
            Some(after) => next = format!("&after={}", encoded(after)),
            None => return Ok(json!({ "items": all })),
        }
    }
}

fn items(value: &Value) -> &[Value] {
    value["items"].as_array().map_or(&[], Vec::as_slice)
}

/// A change's result in a line; for a dry run, what would change.
fn written(done: &Value) -> String {
    if let Some(diff) = done.get("diff") {
        return format!(
            "{} would change:\n{}",
            show::text(done.pointer("/document/id")),
            show::differences(diff)
        );
    }
    let id = show::text(done.get("id"));
    let force = if done["in_force"] == true {
        ""
    } else {
        "; not in force yet"
    };
    let what = if done["changed"] == true {
        "changed"
    } else {
        "as it was"
    };
    let note = done["note"].as_str();
    let note = note.map_or_else(String::new, |note| format!("{id}: {note}\n"));
    format!(
        "{id}: {what}, version {} of revision {}{force}\n{note}",
        done["version"], done["revision"]
    )
}

fn print(format: Format, value: &Value, human: impl Fn(&Value) -> String) -> Result<(), Failure> {
    let text = match format {
        Format::Human => human(value),
        Format::Json => format!("{value}\n"),
    };
    write!(std::io::stdout(), "{text}").map_err(Failure::output)
}
