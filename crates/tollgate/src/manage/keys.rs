//! `tollgate key`: why a key is refused, and what helps it.

use serde_json::{Map, json};
use tollgate_load::KeyParts;

use super::ask::{ServerAccess, encoded};
use super::options::{KeyCommand, KeyOptions, Managed};
use super::{delete, print, show, written};
use crate::cli::Format;
use crate::failure::Failure;

pub(crate) fn key(managed: &Managed<KeyCommand>) -> Result<(), Failure> {
    let (server, format) = (ServerAccess::of(&managed.node)?, managed.node.format);
    match &managed.command {
        KeyCommand::Explain(options) => {
            let key = match parts(&options.key)? {
                KeyParts::Bare(value) => format!("key={}", encoded(&value)),
                KeyParts::Entries(entries) => {
                    let entry = |(name, value): &(String, String)| {
                        format!("key={}", encoded(&format!("{name}={value}")))
                    };
                    entries.iter().map(entry).collect::<Vec<_>>().join("&")
                }
            };
            let contract = options
                .contract
                .as_deref()
                .map(|id| format!("&contract={}", encoded(id)));
            let told = server.get(&format!(
                "/keys/explain?{key}&cost={}{}",
                options.cost,
                contract.unwrap_or_default()
            ))?;
            print(format, &told, show::explanation)
        }
        KeyCommand::Reset(options) => act(&server, "reset", options, format),
        KeyCommand::Charge(options) => act(&server, "charge", options, format),
        KeyCommand::Refund(options) => act(&server, "refund", options, format),
        KeyCommand::Ban {
            identity,
            until,
            reason,
        } => {
            let mut ban = json!({ "identity": identity });
            for (name, value) in [("until", until.as_deref()), ("reason", Some(&**reason))] {
                if let Some(value) = value.filter(|value| !value.is_empty()) {
                    ban[name] = json!(value);
                }
            }
            let at = format!("/bans/{}", encoded(identity));
            let seen = server.version(&at)?.unwrap_or(0);
            let done = server.send(
                "PUT",
                &format!("{at}?reason={}", encoded(reason)),
                Some(&ban),
                Some(seen),
            )?;
            print(format, &done, written)
        }
        KeyCommand::Unban { identity, reason } => delete(
            &server,
            &format!("/bans/{}", encoded(identity)),
            reason,
            format,
        ),
    }
}

fn act(
    server: &ServerAccess<'_>,
    verb: &str,
    options: &KeyOptions,
    format: Format,
) -> Result<(), Failure> {
    let key = match parts(&options.key)? {
        KeyParts::Bare(value) => json!(value),
        KeyParts::Entries(entries) => {
            let entries = entries
                .into_iter()
                .map(|(name, value)| (name, value.into()));
            entries.collect::<Map<_, _>>().into()
        }
    };
    let mut body = json!({ "key": key, "cost": options.cost });
    if let Some(contract) = &options.contract {
        body["contract"] = json!(contract);
    }
    let done = server.send(
        "POST",
        &format!("/keys/{verb}?reason={}", encoded(&options.reason)),
        Some(&body),
        None,
    )?;
    print(format, &done, |done| {
        let words = if done["applied"] == true {
            "done"
        } else {
            "nothing to do: no contract binds this key"
        };
        format!("{words}\n")
    })
}

fn parts(key: &str) -> Result<KeyParts, Failure> {
    tollgate_load::parts(key).map_err(|error| Failure::usage(format!("error: {error}")))
}
