//! Who asks: the owner of a token, shown as `Authorization: Bearer` or by a session that was begun with one.
//!
//! Of a token that was found good, this node asks the database again after a second; a token that is revoked elsewhere ends
//! here that late. Where the database is away, whoever was let in lately may go on looking.

pub(crate) mod first;
pub(crate) mod guard;
pub(crate) mod links;
mod seal;
pub(crate) mod sessions;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use parking_lot::Mutex;
use ring::digest::{SHA256, digest};
use subtle::ConstantTimeEq;
use tollgate_catalogue_sql::{Database, Role, Token};
use tollgate_serve::shared::Peer;

use crate::admin::{Books, Office};
use crate::fault::Fault;
use crate::time::now_ns;
use guard::Guard;
use links::Links;
use sessions::Sessions;

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The name of the token; changes are made in it.
    pub(crate) name: String,
    pub(crate) role: Role,
    /// The id of the token.
    pub(crate) token: String,
    /// The session, where it came by one.
    pub(crate) session: Option<sessions::Session>,
}

impl Caller {
    fn of(token: &Token) -> Self {
        Self {
            name: token.name.clone(),
            role: token.role,
            token: token.id.clone(),
            session: None,
        }
    }
}

/// What is known of who may ask.
pub(crate) struct Access {
    preset: Option<[u8; 32]>,
    pub(crate) guard: Guard,
    pub(crate) sessions: Sessions,
    pub(crate) links: Links,
    found: Mutex<BTreeMap<[u8; 32], Found>>,
}

/// A token that the database knew.
#[derive(Clone)]
struct Found {
    token: Token,
    asked: Instant,
    touched: Option<Instant>,
}

impl Access {
    /// Nobody has asked yet.
    pub(crate) fn new(preset: Option<String>) -> Result<Self, String> {
        if preset
            .as_ref()
            .is_some_and(|secret| secret.len() < SECRET_BYTES_MIN)
        {
            return Err(format!(
                "TOLLGATE_ADMIN_TOKEN must have at least {SECRET_BYTES_MIN} bytes"
            ));
        }
        Ok(Self {
            preset: preset.map(|secret| hashed(&secret)),
            guard: Guard::new()?,
            sessions: Sessions::default(),
            links: Links::default(),
            found: Mutex::default(),
        })
    }

    /// Whether a secret was preset.
    pub(crate) const fn is_preset(&self) -> bool {
        self.preset.is_some()
    }

    /// Forgets what was found: a token was revoked.
    pub(crate) fn forget(&self) {
        self.found.lock().clear();
        self.sessions.forget();
    }

    /// What is remembered of a token, where it is not older than that.
    fn remembered(&self, hash: &[u8; 32], age: Duration) -> Option<Token> {
        let found = self.found.lock();
        let found = found.get(hash).filter(|found| found.asked.elapsed() <= age);
        found.map(|found| found.token.clone())
    }

    /// Remembers a token; whether the database should be told that it is used.
    fn remember(&self, hash: [u8; 32], token: &Token) -> bool {
        let now = Instant::now();
        let mut found = self.found.lock();
        if found.len() >= FOUND_MAX {
            found.clear();
        }
        let before = found.get(&hash).and_then(|found| found.touched);
        let is_due = before.is_none_or(|touched| touched.elapsed() >= TOUCH_EVERY);
        let touched = if is_due { Some(now) } else { before };
        let token = token.clone();
        found.insert(
            hash,
            Found {
                token,
                asked: now,
                touched,
            },
        );
        is_due
    }
}

/// Who asks; why nobody is let in, otherwise.
pub(crate) async fn caller(
    office: &Office,
    headers: &HeaderMap,
    peer: &Peer,
) -> Result<Caller, Fault> {
    if let Some(line) = headers.get(AUTHORIZATION) {
        let secret = line.to_str().ok().and_then(bearer);
        return by_secret(office, secret.unwrap_or_default(), peer).await;
    }
    if let Some(text) = sessions::cookie(headers) {
        return sessions::caller(office, text).await;
    }
    let nobody = matches!(office.books, Books::File(_)) && !office.access.is_preset();
    Err(Fault::unauthorized(if nobody {
        "no token is known here: start the server with TOLLGATE_ADMIN_TOKEN, or with a catalogue"
    } else {
        "this needs a token: `Authorization: Bearer ...`"
    }))
}

/// Whoever knows a secret. Whoever guesses is counted, and after too many guesses nothing is looked at for a while.
pub(crate) async fn by_secret(office: &Office, secret: &str, peer: &Peer) -> Result<Caller, Fault> {
    let (access, hash) = (&office.access, hashed(secret));
    if access.remembered(&hash, TRUST_WITHOUT).is_some() {
        // It was no guess a while ago, so that many of them at once are none now.
        access.guard.look(peer).map_err(Fault::guessing)?;
        let found = match access.remembered(&hash, ASK_EVERY) {
            Some(token) => admitted(&token),
            None => found(office, secret, hash).await?,
        };
        return found.ok_or_else(stranger);
    }
    let attempt = access.guard.begin(peer).map_err(Fault::guessing)?;
    let found = found(office, secret, hash).await;
    if !matches!(found, Ok(None)) {
        access.guard.forgive(&attempt);
    }
    found?.ok_or_else(stranger)
}

fn stranger() -> Fault {
    Fault::unauthorized("nobody is known by this token, or it was revoked, or its time is up")
}

fn admitted(token: &Token) -> Option<Caller> {
    token.is_valid(now_ns()).then(|| Caller::of(token))
}

async fn found(office: &Office, secret: &str, hash: [u8; 32]) -> Result<Option<Caller>, Fault> {
    let access = &office.access;
    if let Some(preset) = &access.preset
        && bool::from(preset.ct_eq(&hash))
    {
        return Ok(Some(preset_caller()));
    }
    let Books::Database(database) = &office.books else {
        return Ok(None);
    };
    let token = match database.token(secret).await {
        Ok(Some(token)) => {
            if access.remember(hash, &token) {
                touch(database, &token.id);
            }
            token
        }
        Ok(None) => return Ok(None),
        Err(error) => {
            let known = access.remembered(&hash, TRUST_WITHOUT);
            known.ok_or_else(|| Fault::from(error))?
        }
    };
    Ok(admitted(&token))
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

/// Whoever runs the server.
pub(crate) fn preset_caller() -> Caller {
    Caller {
        name: PRESET.to_owned(),
        role: Role::Admin,
        token: PRESET.to_owned(),
        session: None,
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, secret) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

fn hashed(secret: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    hash
}

/// The name and id of the secret that whoever runs the server chose.
pub(crate) const PRESET: &str = "preset";
const SECRET_BYTES_MIN: usize = 16;
/// How often the database is asked about a token.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// For how long a token is believed while the database is away.
const TRUST_WITHOUT: Duration = Duration::from_mins(10);
/// How often the database is told that a token is used.
const TOUCH_EVERY: Duration = Duration::from_mins(1);
/// The most tokens remembered.
const FOUND_MAX: usize = 10_000;
