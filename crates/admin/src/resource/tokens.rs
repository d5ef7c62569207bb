//! Tokens and their roles. A secret is shown only when it is created.

use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tollgate_catalogue_sql::{AdminToken, Role};

use crate::answer::Reply;
use crate::call::Call;
use crate::fault::Fault;
use crate::time;

/// `GET /tokens`.
pub(crate) async fn list(call: &Call) -> Result<Reply, Fault> {
    let tokens = call.database()?.tokens().await?;
    let items: Vec<Told<'_>> = tokens.iter().map(Told::of).collect();
    Ok(Reply::json(&json!({ "items": items, "next": null })))
}

/// `POST /tokens`.
pub(crate) async fn create(call: &Call) -> Result<Reply, Fault> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body {
        name: String,
        role: String,
        expires: Option<String>,
    }
    let database = call.database()?;
    let Body {
        name,
        role,
        expires,
    } = call.json()?;
    let known = Role::ALL.into_iter().map(Role::name);
    let role = Role::from_name(&role).ok_or_else(|| Fault::unknown("role", &role, known))?;
    let expires = expires.map(|text| expiry(&text)).transpose()?;
    let made = database.add_token(&name, role, expires, None).await?;
    call.office.access.forget();
    call.audit("create token", &made.token.id, role.name())
        .await;
    let told = json!({ "token": Told::of(&made.token), "secret": made.secret });
    Ok(Reply::json(&told).with(StatusCode::CREATED))
}

fn expiry(text: &str) -> Result<u64, Fault> {
    let time = time::read(text).filter(|time| *time <= i64::MAX.unsigned_abs());
    let time =
        time.ok_or_else(|| Fault::invalid("`expires` is a time, as `2026-12-31T23:00:00Z`"))?;
    if time <= time::now_ns() {
        return Err(Fault::invalid("`expires` is over already"));
    }
    Ok(time)
}

/// `DELETE /tokens/{id}`.
pub(crate) async fn revoke(call: &Call) -> Result<Reply, Fault> {
    let database = call.database()?;
    if !database.revoke_token(call.name()).await? {
        return Err(Fault::not_found(
            "there is no such token, or it was revoked before",
        ));
    }
    call.office.access.forget();
    call.audit("revoke token", call.name(), "revoked").await;
    Ok(Reply::json(&json!({ "id": call.name(), "revoked": true })))
}

#[derive(Serialize)]
struct Told<'a> {
    id: &'a str,
    name: &'a str,
    role: Role,
    created: String,
    expires: Option<String>,
    revoked: Option<String>,
    used: Option<String>,
    valid: bool,
}

impl<'a> Told<'a> {
    fn of(token: &'a AdminToken) -> Self {
        Self {
            id: &token.id,
            name: &token.name,
            role: token.role,
            created: time::told(token.created_ns),
            expires: token.expires_ns.map(time::told),
            revoked: token.revoked_ns.map(time::told),
            used: token.used_ns.map(time::told),
            valid: token.is_valid(time::now_ns()),
        }
    }
}
