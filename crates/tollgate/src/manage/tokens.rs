//! `tollgate token`: tokens and their roles.

use serde_json::json;

use super::ask::{ServerAccess, encoded};
use super::options::{Managed, TokenCommand};
use super::{items, print, show};
use crate::failure::Failure;

pub(crate) fn token(managed: &Managed<TokenCommand>) -> Result<(), Failure> {
    let (server, format) = (ServerAccess::of(&managed.node)?, managed.node.format);
    match &managed.command {
        TokenCommand::List => {
            let told = server.get("/tokens")?;
            let columns = [
                ("id", "/id"),
                ("name", "/name"),
                ("role", "/role"),
                ("created", "/created"),
                ("expires", "/expires"),
                ("used", "/used"),
                ("valid", "/valid"),
            ];
            print(format, &told, |told| show::table(items(told), &columns))
        }
        TokenCommand::Create {
            name,
            role,
            expires,
        } => {
            let mut body = json!({ "name": name, "role": role });
            if let Some(expires) = expires {
                body["expires"] = json!(expires);
            }
            let made = server.send("POST", "/tokens", Some(&body), None)?;
            print(format, &made, |made| {
                let (id, secret) = (
                    show::text(made.pointer("/token/id")),
                    show::text(made.get("secret")),
                );
                format!("{id} was made; its secret is shown this once:\n\n    {secret}\n")
            })
        }
        TokenCommand::Revoke { id } => {
            let done = server.send("DELETE", &format!("/tokens/{}", encoded(id)), None, None)?;
            print(format, &done, |_| "revoked\n".to_owned())
        }
    }
}
