//! Sessions of the console: begun with a token, told by a cookie, over when the token is.
//!
//! A session is sealed words and kept nowhere, so that any node on the same database knows it. What changes something must also
//! show a value that only pages of ours have (`csrf`). Whoever logs out ends the session here at once, and on other nodes within a
//! second: of sessions that were ended before their time the database has the numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderMap;
use http::header::COOKIE;
use parking_lot::Mutex;
use tollgate_catalogue_sql::{Error, Token};

use super::seal::{Seal, opened, sealed};
use super::{ASK_EVERY, Caller, PRESET, TRUST_WITHOUT, preset_caller};
use crate::admin::{Books, Office};
use crate::fault::Fault;
use crate::time::{SECOND_NS, now_ns};

/// A session that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    /// The token it was begun with.
    token: String,
    expires_ns: u64,
    /// Tells it from every other.
    number: u64,
}

/// What is known of sessions.
#[derive(Default)]
pub(crate) struct Sessions {
    seal: Seal,
    /// What the database said last, and when.
    heard: Mutex<Option<(Instant, Arc<Heard>)>>,
    /// Sessions that were ended here before their time, with when that is.
    ended: Mutex<BTreeMap<u64, u64>>,
}

/// What the database knows of sessions.
#[derive(Default)]
struct Heard {
    tokens: Vec<Token>,
    /// Sessions that were ended on any node.
    ended: BTreeSet<String>,
}

impl Sessions {
    /// Asks for tokens again, before anybody is let in.
    pub(crate) fn forget(&self) {
        *self.heard.lock() = None;
    }

    fn remembered(&self, age: Duration) -> Option<Arc<Heard>> {
        let heard = self.heard.lock();
        let heard = heard.as_ref().filter(|(asked, _)| asked.elapsed() <= age);
        heard.map(|(_, heard)| Arc::clone(heard))
    }

    fn end(&self, session: &Session) {
        let (mut ended, now) = (self.ended.lock(), now_ns());
        ended.retain(|_, until| *until > now);
        if ended.len() < ENDED_MAX {
            ended.insert(session.number, session.expires_ns);
        }
    }

    fn is_ended(&self, session: &Session) -> bool {
        self.ended.lock().contains_key(&session.number)
    }
}

impl Session {
    /// What the database calls it.
    fn name(&self) -> String {
        format!("{:016x}", self.number)
    }

    fn words(&self) -> Vec<u8> {
        let mut words = self.expires_ns.to_be_bytes().to_vec();
        words.extend_from_slice(&self.number.to_be_bytes());
        words.extend_from_slice(self.token.as_bytes());
        words
    }

    fn read(words: &[u8]) -> Option<Self> {
        let (expires, rest) = words.split_first_chunk::<8>()?;
        let (number, token) = rest.split_first_chunk::<8>()?;
        Some(Self {
            token: std::str::from_utf8(token).ok()?.to_owned(),
            expires_ns: u64::from_be_bytes(*expires),
            number: u64::from_be_bytes(*number),
        })
    }
}

/// Begins a session of whoever showed a token: the value of `Set-Cookie`.
pub(crate) async fn begin(
    office: &Office,
    caller: &Caller,
    is_sealed: bool,
) -> Result<String, Fault> {
    let number = getrandom::u64().map_err(|why| Fault::unavailable(why.to_string()))?;
    let session = Session {
        token: caller.token.clone(),
        expires_ns: now_ns().saturating_add(LASTS_S * SECOND_NS),
        number,
    };
    let key = office.access.sessions.seal.key(&office.books, KEY).await?;
    let value = sealed(key, PURPOSE, &session.words());
    Ok(set(&value, LASTS_S, is_sealed))
}

/// Ends a session: the value of `Set-Cookie` that takes the cookie away.
pub(crate) async fn end(office: &Office, session: &Session, is_sealed: bool) -> String {
    office.access.sessions.end(session);
    if let Books::Database(database) = &office.books {
        let name = session.name();
        if let Err(error) = database.end_session(&name, session.expires_ns).await {
            tracing::warn!(%error, "a session was ended here, and other nodes could not be told");
        }
    }
    set("", 0, is_sealed)
}

fn set(value: &str, seconds: u64, is_sealed: bool) -> String {
    let secure = if is_sealed { "; Secure" } else { "" };
    format!("{COOKIE_NAME}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

/// The text of a session in the head of a request.
pub(super) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut pairs = pairs.filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(name, _)| *name == COOKIE_NAME)
        .map(|(_, value)| value)
}

/// Whoever has a session.
pub(super) async fn caller(office: &Office, text: &str) -> Result<Caller, Fault> {
    let over = || Fault::unauthorized("the session is over; log in again");
    let sessions = &office.access.sessions;
    let key = sessions.seal.key(&office.books, KEY).await?;
    let session = opened(key, PURPOSE, text).and_then(|words| Session::read(&words));
    let now = now_ns();
    let session = session.filter(|session| now < session.expires_ns && !sessions.is_ended(session));
    let session = session.ok_or_else(over)?;
    let heard = heard(office).await;
    let is_ended = |heard: &Heard| heard.ended.contains(&session.name());
    let mut caller = if session.token == PRESET && office.access.is_preset() {
        // Whoever runs the server gets in without a database; what it said last still counts.
        let last = heard.ok().or_else(|| sessions.remembered(Duration::MAX));
        if last.is_some_and(|last| is_ended(&last)) {
            return Err(over());
        }
        preset_caller()
    } else {
        let heard = heard?;
        let token = heard.tokens.iter().find(|token| token.id == session.token);
        let token = token.filter(|token| token.is_valid(now) && !is_ended(&heard));
        token.map(Caller::of).ok_or_else(over)?
    };
    caller.session = Some(session);
    Ok(caller)
}

/// What the database knows of sessions, at most a second old while it answers.
async fn heard(office: &Office) -> Result<Arc<Heard>, Fault> {
    let sessions = &office.access.sessions;
    let Books::Database(database) = &office.books else {
        return Ok(Arc::default());
    };
    if let Some(heard) = sessions.remembered(ASK_EVERY) {
        return Ok(heard);
    }
    let asked = async {
        Ok::<_, Error>(Heard {
            tokens: database.tokens().await?,
            ended: database.ended_sessions().await?.into_iter().collect(),
        })
    };
    match asked.await {
        Ok(heard) => {
            let heard = Arc::new(heard);
            *sessions.heard.lock() = Some((Instant::now(), Arc::clone(&heard)));
            Ok(heard)
        }
        Err(error) => {
            let heard = sessions.remembered(TRUST_WITHOUT);
            heard.ok_or_else(|| Fault::from(error))
        }
    }
}

/// What pages of this session put into forms, and scripts into [`CSRF_LINE`].
pub(crate) async fn csrf(office: &Office, session: &Session) -> Result<String, Fault> {
    let key = office.access.sessions.seal.key(&office.books, KEY).await?;
    Ok(sealed(key, CSRF, &session.number.to_be_bytes()))
}

/// Refuses what was not sent by a page of ours.
pub(crate) async fn check_csrf(
    office: &Office,
    session: &Session,
    shown: Option<&str>,
) -> Result<(), Fault> {
    let key = office.access.sessions.seal.key(&office.books, KEY).await?;
    let number = shown.and_then(|text| opened(key, CSRF, text));
    if number.as_deref() == Some(&session.number.to_be_bytes()[..]) {
        return Ok(());
    }
    Err(Fault::forbidden(
        "this did not come from a page of this console; load the page again",
    ))
}

/// The header field in which scripts show the value.
pub(crate) const CSRF_LINE: &str = "tollgate-csrf";
const COOKIE_NAME: &str = "tollgate_session";
const PURPOSE: &str = "session";
const CSRF: &str = "csrf";
const KEY: &str = "session-key-1";
/// How long a session lasts.
const LASTS_S: u64 = 12 * 3600;
/// The most sessions remembered that were ended before their time.
const ENDED_MAX: usize = 10_000;
