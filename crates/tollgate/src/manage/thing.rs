//! Commands that contracts, plans and assignments share.

use serde_json::{Value, json};

use super::ask::{ServerAccess, encoded};
use super::options::ThingCommand;
use super::{all, attempt, delete, items, print, put, show, written};
use crate::cli::Format;
use crate::failure::Failure;

pub(super) fn thing(
    server: &ServerAccess<'_>,
    plural: &str,
    command: &ThingCommand,
    format: Format,
) -> Result<(), Failure> {
    let at = |id: &str| format!("/{plural}/{}", encoded(id));
    match command {
        ThingCommand::List { prefix, plan } => {
            let plan = plan
                .as_deref()
                .map(|plan| format!("&plan={}", encoded(plan)));
            let all = all(
                server,
                &format!(
                    "/{plural}?limit=1000&prefix={}{}",
                    encoded(prefix),
                    plan.unwrap_or_default()
                ),
            )?;
            let columns = columns(plural);
            print(format, &all, |all| show::table(items(all), columns))
        }
        ThingCommand::Get { id } => print(format, &server.get(&at(id))?, |item| {
            let document = serde_json::to_string_pretty(&item["document"]).unwrap_or_default();
            format!("version {}\n{document}\n", item["version"])
        }),
        ThingCommand::Put {
            file,
            dry_run,
            seen,
            reason,
        } => {
            let how = put::How {
                dry_run: *dry_run,
                seen: *seen,
                reason,
            };
            let done = put::put(server, plural, file, &how)?;
            print(format, &done, |done| {
                done.as_array().into_iter().flatten().map(written).collect()
            })
        }
        ThingCommand::Try(options) => {
            let tried = attempt::attempt(server, plural, options)?;
            print(format, &tried, attempt::shown)
        }
        ThingCommand::Delete { id, reason } => delete(server, &at(id), reason, format),
        ThingCommand::History { id } => history(server, &at(id), format),
        ThingCommand::Diff { id, from, to } => {
            let told = diff(server, &at(id), *from, *to)?;
            print(format, &told, |told| {
                let diff = show::differences(&told["diff"]);
                format!("{} -> {}\n{diff}", told["from"], told["to"])
            })
        }
        ThingCommand::Rollback { id, to, reason } => {
            let body = json!({ "to": to, "reason": reason });
            let seen = server.version(&at(id))?;
            let done = server.send("POST", &format!("{}/rollback", at(id)), Some(&body), seen)?;
            print(format, &done, written)
        }
    }
}

fn history(server: &ServerAccess<'_>, at: &str, format: Format) -> Result<(), Failure> {
    let all = all(server, &format!("{at}/history?limit=1000"))?;
    let columns = [
        ("version", "/version"),
        ("at", "/at"),
        ("author", "/author"),
        ("reason", "/reason"),
    ];
    print(format, &all, |all| show::table(items(all), &columns))
}

fn columns(plural: &str) -> &'static [(&'static str, &'static str)] {
    match plural {
        "assignments" => &[
            ("id", "/id"),
            ("plan", "/document/plan"),
            ("overrides", "/document/overrides"),
            ("contract", "/document/contract"),
            ("until", "/document/until"),
            ("version", "/version"),
        ],
        "plans" => &[
            ("id", "/id"),
            ("follows", "/document/follows"),
            ("policies", "/document/policies"),
            ("version", "/version"),
        ],
        _ => &[
            ("id", "/id"),
            ("key", "/document/key"),
            ("plan", "/document/plan"),
            ("policies", "/document/policies"),
            ("version", "/version"),
        ],
    }
}

fn diff(
    server: &ServerAccess<'_>,
    at: &str,
    from: Option<u64>,
    to: Option<u64>,
) -> Result<Value, Failure> {
    let given = [("from", from), ("to", to)].into_iter();
    let given = given.filter_map(|(name, version)| Some(format!("{name}={}", version?)));
    server.get(&format!(
        "{at}/diff?{}",
        given.collect::<Vec<_>>().join("&")
    ))
}
