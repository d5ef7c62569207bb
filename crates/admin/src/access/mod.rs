//! The caller: the owner of a token, sent as `Authorization: Bearer` or by a session that began with one.
//!
//! Tokens are read from the database once a second; a revocation on another server takes effect here within that time.
//! While the database is unavailable, recent callers can continue to read.

pub(crate) mod first;
mod heard;
mod keyfile;
pub(crate) mod links;
pub(crate) mod origin;
pub(crate) mod seal;
pub(crate) mod sessions;
pub(crate) mod signins;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use parking_lot::Mutex;
use subtle::ConstantTimeEq;
use tollgate_catalogue_sql::{AdminToken, Database, Role, digest_of};
use tollgate_serve::access::client;
use tollgate_serve::guard::Guard;
use tollgate_serve::settings::{KeyPlace, TOKEN_BYTES_MIN};
use tollgate_serve::shared::Peer;

use crate::admin::{Books, Office};
use crate::fault::Fault;
use crate::time::now_ns;
use heard::{Hearing, heard};
use seal::Seal;
use sessions::EndedSessions;
use signins::SignIns;

pub use keyfile::{KeyError, SigningKey};

#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The name of the token; it is the author of changes.
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) token: String,
    digest: String,
    /// `None` if the request had a token instead.
    pub(crate) session: Option<sessions::Session>,
}

impl Caller {
    fn of(token: &AdminToken) -> Self {
        Self {
            name: token.name.clone(),
            role: token.role,
            token: token.id.clone(),
            digest: token.digest.clone(),
            session: None,
        }
    }

    /// A read-only caller without a token; the route limits what it may read.
    pub(crate) fn looking(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            role: Role::Viewer,
            token: String::new(),
            digest: String::new(),
            session: None,
        }
    }
}

/// The address of the client, behind trusted proxies, or a Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientOrigin(Option<IpAddr>);

impl ClientOrigin {
    pub(crate) fn of(office: &Office, peer: &Peer, headers: &HeaderMap) -> Self {
        let lines = headers.get_all(office.proxies.header.name()).into_iter();
        let lines = lines.map(HeaderValue::as_bytes);
        Self(client(&office.proxies, peer, lines))
    }
}

impl fmt::Display for ClientOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => address.fmt(f),
            None => f.write_str("unix"),
        }
    }
}

/// State of authentication.
pub(crate) struct Access {
    /// Digest of the preset secret.
    preset: Option<String>,
    guard: Guard,
    pub(crate) seal: Seal,
    hearing: Hearing,
    ended: EndedSessions,
    sign_ins: SignIns,
    /// When the last use of a token was last stored, by its id.
    touched: Mutex<BTreeMap<String, Instant>>,
}

impl Access {
    pub(crate) fn new(preset: Option<&str>, key: KeyPlace) -> Result<Self, String> {
        if preset.is_some_and(|secret| secret.len() < TOKEN_BYTES_MIN) {
            return Err(format!(
                "TOLLGATE_ADMIN_TOKEN must have at least {TOKEN_BYTES_MIN} bytes; `openssl rand -hex 16` makes one"
            ));
        }
        Ok(Self {
            preset: preset.map(digest_of),
            guard: Guard::new()?,
            seal: Seal::at(key)?,
            hearing: Hearing::default(),
            ended: EndedSessions::default(),
            sign_ins: SignIns::default(),
            touched: Mutex::default(),
        })
    }

    pub(crate) const fn is_preset(&self) -> bool {
        self.preset.is_some()
    }

    /// Call after a token is created or revoked.
    pub(crate) fn forget(&self) {
        self.hearing.forget();
    }

    /// Whether to store that a token is used.
    fn is_due(&self, id: &str) -> bool {
        let now = Instant::now();
        let mut touched = self.touched.lock();
        if touched
            .get(id)
            .is_some_and(|last| last.elapsed() < TOUCH_EVERY)
        {
            return false;
        }
        if touched.len() >= TOUCHED_MAX {
            touched.clear();
        }
        touched.insert(id.to_owned(), now);
        true
    }
}

/// The caller, or why it is refused.
pub(crate) async fn caller(
    office: &Office,
    headers: &HeaderMap,
    client: ClientOrigin,
) -> Result<Caller, Fault> {
    if let Some(line) = headers.get(AUTHORIZATION) {
        let secret = line.to_str().ok().and_then(bearer);
        return by_secret(office, secret.unwrap_or_default(), client).await;
    }
    if let Some(text) = sessions::cookie(headers) {
        return sessions::caller(office, text).await;
    }
    Err(Fault::unauthorized(if office.lets_in() {
        "this needs a token: `Authorization: Bearer ...`"
    } else {
        NOBODY
    }))
}

/// The message if no tokens can exist.
pub(crate) const NOBODY: &str =
    "no token is known here: start the server with TOLLGATE_ADMIN_TOKEN, or with a catalogue";

/// A wrong secret is a guess: it is counted and audited.
pub(crate) async fn by_secret(
    office: &Office,
    secret: &str,
    client: ClientOrigin,
) -> Result<Caller, Fault> {
    let found = look_up(office, secret, client).await;
    if let Err(fault) = &found
        && fault.status().is_client_error()
    {
        signins::refused(office, client).await;
    }
    found
}

async fn look_up(office: &Office, secret: &str, client: ClientOrigin) -> Result<Caller, Fault> {
    let (access, digest) = (&office.access, digest_of(secret));
    if let Some(preset) = &access.preset
        && bool::from(preset.as_bytes().ct_eq(digest.as_bytes()))
    {
        return Ok(preset_caller(preset));
    }
    let heard = heard(office).await?;
    let known = heard.by_digest(&digest);
    if let (Some(token), Books::Database(database)) = (known, &office.books)
        && token.is_valid(now_ns())
    {
        if access.is_due(&token.id) {
            touch(database, &token.id);
        }
        return Ok(Caller::of(token));
    }
    let attempt = access.guard.begin(client.0).map_err(Fault::guessing)?;
    let found = match &office.books {
        // It may have been created on another server within the last second.
        Books::Database(database) => database.token(secret).await,
        Books::File(_) => Ok(None),
    };
    let found = match found {
        Ok(token) => token.filter(|token| token.is_valid(now_ns())),
        Err(error) => {
            access.guard.forgive(&attempt);
            return Err(error.into());
        }
    };
    let Some(token) = found else {
        let what = "nobody is known by this token, or it was revoked, or its time is up";
        return Err(Fault::unauthorized(what));
    };
    access.guard.forgive(&attempt);
    Ok(Caller::of(&token))
}

/// Stores that a token is used, without delaying the answer.
fn touch(database: &Database, id: &str) {
    let (database, id) = (database.clone(), id.to_owned());
    tokio::spawn(async move {
        if let Err(error) = database.touch_token(&id).await {
            tracing::debug!(%error, "when a token was used could not be written");
        }
    });
}

/// The operator, by the digest of the preset secret.
fn preset_caller(digest: &str) -> Caller {
    Caller {
        name: PRESET.to_owned(),
        role: Role::Admin,
        token: PRESET.to_owned(),
        digest: digest.to_owned(),
        session: None,
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// The name and id of the secret preset by the operator.
const PRESET: &str = "preset";
/// How often the use of a token is stored.
const TOUCH_EVERY: Duration = Duration::from_mins(1);
/// Bound on tokens in `touched`.
const TOUCHED_MAX: usize = 10_000;
