//! Who asks: the owner of a token, shown as `Authorization: Bearer` or by a session that was begun with one.
//!
//! Tokens are known as the database tells them once a second; a token that is revoked elsewhere ends here that late.
//! Where the database is away, whoever was let in lately may go on looking.

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

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The name of the token; changes are made in it.
    pub(crate) name: String,
    pub(crate) role: Role,
    /// The id of the token.
    pub(crate) token: String,
    /// What is kept of the token's secret.
    digest: String,
    /// The session, where it came by one.
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

    /// Somebody without a token, who may look; what at, others say.
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

/// Where a request comes from: an address, behind proxies whose word is taken, or a Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientOrigin(Option<IpAddr>);

impl ClientOrigin {
    /// The client of a request with these fields.
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

/// What is known of who may ask.
pub(crate) struct Access {
    /// What is kept of the secret that was preset.
    preset: Option<String>,
    guard: Guard,
    pub(crate) seal: Seal,
    hearing: Hearing,
    ended: EndedSessions,
    sign_ins: SignIns,
    /// When the database was told last that a token is used, by its id.
    touched: Mutex<BTreeMap<String, Instant>>,
}

impl Access {
    /// Nobody has asked yet.
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

    /// Whether a secret was preset.
    pub(crate) const fn is_preset(&self) -> bool {
        self.preset.is_some()
    }

    /// Forgets what the database said: a token was made or revoked.
    pub(crate) fn forget(&self) {
        self.hearing.forget();
    }

    /// Whether the database should be told that a token is used.
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

/// Who asks; why nobody is let in, otherwise.
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

/// What is said where nobody can have a token.
pub(crate) const NOBODY: &str =
    "no token is known here: start the server with TOLLGATE_ADMIN_TOKEN, or with a catalogue";

/// The caller with a secret. A wrong one is a guess: it is counted, and written down.
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
        // It may have been made on another server in this second.
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

/// Tells the database that a token is used, behind the answer.
fn touch(database: &Database, id: &str) {
    let (database, id) = (database.clone(), id.to_owned());
    tokio::spawn(async move {
        if let Err(error) = database.touch_token(&id).await {
            tracing::debug!(%error, "when a token was used could not be written");
        }
    });
}

/// Whoever runs the server, by what is kept of the secret.
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

/// The name and id of the secret that whoever runs the server chose.
const PRESET: &str = "preset";
/// How often the database is told that a token is used.
const TOUCH_EVERY: Duration = Duration::from_mins(1);
/// The most tokens of which it is remembered.
const TOUCHED_MAX: usize = 10_000;
