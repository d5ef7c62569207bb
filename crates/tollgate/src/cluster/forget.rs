//! `tollgate cluster forget`: removes a dead node from the list of missing ones.

use serde_json::{Value, json};

use super::options::ForgetOptions;
use super::status::{asked, detail};
use crate::failure::Failure;
use crate::report::table::tame;

/// Has a node forget a name, and report that to the others.
pub(super) fn run(options: &ForgetOptions) -> Result<(), Failure> {
    let (server, name) = (&options.at.server, &options.name);
    let body = json!({ "name": name }).to_string();
    let path = "/v1/cluster/forget";
    let (status, text) = asked(&options.at, "POST", path, Some(body.as_bytes()))?;
    match status {
        200 => {
            let said: Value = serde_json::from_str(&text).unwrap_or_default();
            let told = said["told"].as_u64().unwrap_or(0);
            println!(
                "{} is forgotten; {told} other members are told",
                tame(name, NAME_MAX)
            );
            Ok(())
        }
        404 | 409 => Err(Failure::found(format!("error: {server}{}", detail(&text)))),
        status => Err(Failure::protocol(format!(
            "error: {server} does not forget nodes (status {status}{}); is it a Tollgate?",
            detail(&text)
        ))),
    }
}

const NAME_MAX: usize = 64;
