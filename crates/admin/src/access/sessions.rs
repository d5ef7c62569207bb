//! Sessions of the console: begun with a token, carried by a cookie, ended with the token.
//!
//! A session is a sealed value and not stored, so that any server on the same database and key accepts it. It records
//! when
//! it began and was last used, and a mark of the secret that it began with: the server ends it when it
//! is too old, was not used for too long, or its token has another secret or is gone. A change must also
//! carry a value that only pages of this server have (`csrf`). Logging out ends a session here at once, and on other
//! servers
//! within a second: the database has the numbers of sessions that were ended early.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::COOKIE;
use parking_lot::Mutex;
use tollgate_kit::Reader;

use super::heard::heard;
use super::seal::{Seal, SealMark};
use super::{Caller, PRESET, preset_caller};
use crate::admin::{Books, Office};
use crate::fault::Fault;
use crate::time::{SECOND_NS, now_ns};

/// A valid session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    token: String,
    begun_ns: u64,
    /// Last use, accurate to about [`RENEW_S`].
    used_ns: u64,
    /// Unique.
    number: u64,
    /// Of the secret that it began with.
    mark: SealMark,
}

/// Sessions that were ended here early, with their regular end.
#[derive(Default)]
pub(crate) struct EndedSessions(Mutex<BTreeMap<u64, u64>>);

impl EndedSessions {
    fn add(&self, session: &Session) {
        let (mut ended, now) = (self.0.lock(), now_ns());
        ended.retain(|_, until| *until > now);
        if ended.len() < ENDED_MAX {
            ended.insert(session.number, session.until_ns());
        }
    }

    fn has(&self, session: &Session) -> bool {
        self.0.lock().contains_key(&session.number)
    }
}

impl Session {
    fn name(&self) -> String {
        format!("{:016x}", self.number)
    }

    /// Its end, regardless of use.
    const fn until_ns(&self) -> u64 {
        self.begun_ns.saturating_add(LASTS_S * SECOND_NS)
    }

    /// Whether it is neither too old, nor unused for too long, nor from the future.
    fn holds(&self, now_ns: u64) -> bool {
        let unused = self.used_ns.saturating_add(UNUSED_S * SECOND_NS);
        let soon = now_ns.saturating_add(APART_S * SECOND_NS);
        now_ns < self.until_ns() && now_ns < unused && self.begun_ns <= soon && self.used_ns <= soon
    }

    fn words(&self) -> Vec<u8> {
        let numbers = [self.begun_ns, self.used_ns, self.number].map(u64::to_be_bytes);
        [numbers.as_flattened(), &self.mark.0, self.token.as_bytes()].concat()
    }

    fn read(words: &[u8]) -> Option<Self> {
        let mut reader = Reader(words);
        Some(Self {
            begun_ns: u64::from_be_bytes(reader.array()?),
            used_ns: u64::from_be_bytes(reader.array()?),
            number: u64::from_be_bytes(reader.array()?),
            mark: SealMark(reader.array()?),
            token: std::str::from_utf8(reader.0).ok()?.to_owned(),
        })
    }

    fn cookie(&self, seal: &Seal, is_sealed: bool) -> Result<String, Fault> {
        let left = self.until_ns().saturating_sub(now_ns()) / SECOND_NS;
        let value = seal.sealed(PURPOSE, &self.words())?;
        Ok(set(&value, left.min(UNUSED_S), is_sealed))
    }
}

/// For a caller with a token. Returns the value of `Set-Cookie`.
pub(crate) fn begin(office: &Office, caller: &Caller, is_sealed: bool) -> Result<String, Fault> {
    let seal = &office.access.seal;
    let number = getrandom::u64().map_err(|why| Fault::unavailable(why.to_string()))?;
    let now = now_ns();
    let session = Session {
        token: caller.token.clone(),
        begun_ns: now,
        used_ns: now,
        number,
        mark: seal.mark(SECRET, &caller.digest)?,
    };
    session.cookie(seal, is_sealed)
}

/// The value of `Set-Cookie` that updates the last use; `None` if that is recent.
pub(crate) fn renewed(office: &Office, session: &Session, is_sealed: bool) -> Option<String> {
    let now = now_ns();
    if now < session.used_ns.saturating_add(RENEW_S * SECOND_NS) {
        return None;
    }
    let used = Session {
        used_ns: now,
        ..session.clone()
    };
    used.cookie(&office.access.seal, is_sealed).ok()
}

/// Returns the value of `Set-Cookie` that removes the cookie.
pub(crate) async fn end(office: &Office, session: &Session, is_sealed: bool) -> String {
    office.access.ended.add(session);
    if let Books::Database(database) = &office.books {
        let name = session.name();
        if let Err(error) = database.end_session(&name, session.until_ns()).await {
            tracing::warn!(%error, "a session was ended here, and other nodes could not be told");
        }
    }
    set("", 0, is_sealed)
}

fn set(value: &str, seconds: u64, is_sealed: bool) -> String {
    let secure = if is_sealed { "; Secure" } else { "" };
    format!("{COOKIE_NAME}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

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

pub(super) async fn caller(office: &Office, text: &str) -> Result<Caller, Fault> {
    let over = || Fault::unauthorized("the session is over; log in again");
    let access = &office.access;
    let session = access.seal.opened(PURPOSE, text)?;
    let session = session.and_then(|words| Session::read(&words));
    let now = now_ns();
    let session = session.filter(|session| session.holds(now) && !access.ended.has(session));
    let session = session.ok_or_else(over)?;
    let heard = heard(office).await;
    let mut caller = if session.token == PRESET {
        // Operators can sign in without a database; its last result still applies.
        let last = heard.ok().or_else(|| access.hearing.last());
        if last.is_some_and(|last| last.has_ended(&session.name())) {
            return Err(over());
        }
        access.preset.as_deref().map(preset_caller)
    } else {
        let heard = heard?;
        let token = heard.by_id(&session.token);
        let token = token.filter(|token| token.is_valid(now) && !heard.has_ended(&session.name()));
        token.map(Caller::of)
    }
    .ok_or_else(over)?;
    // A token of that name with another secret is another token.
    if access.seal.mark(SECRET, &caller.digest)? != session.mark {
        return Err(over());
    }
    caller.session = Some(session);
    Ok(caller)
}

/// The value that pages of this session put into forms, and scripts into [`CSRF_LINE`].
pub(crate) fn csrf(office: &Office, session: &Session) -> Result<String, Fault> {
    office
        .access
        .seal
        .sealed(CSRF, &session.number.to_be_bytes())
}

/// Refuses requests that were not sent by a page of this server.
pub(crate) fn check_csrf(
    office: &Office,
    session: &Session,
    shown: Option<&str>,
) -> Result<(), Fault> {
    let number = match shown {
        Some(text) => office.access.seal.opened(CSRF, text)?,
        None => None,
    };
    if number.as_deref() == Some(&session.number.to_be_bytes()[..]) {
        return Ok(());
    }
    Err(Fault::forbidden(
        "this did not come from a page of this console; load the page again",
    ))
}

/// The header field in which scripts send the value.
pub(crate) const CSRF_LINE: &str = "tollgate-csrf";
const COOKIE_NAME: &str = "tollgate_session";
const PURPOSE: &str = "session";
const CSRF: &str = "csrf";
const SECRET: &str = "secret";
const LASTS_S: u64 = 12 * 3600;
/// An unused session ends after this. An open page counts as use.
const UNUSED_S: u64 = 3600;
/// The use of a session is recorded at most this often.
const RENEW_S: u64 = 60;
/// Tolerance between the clocks of servers on one database.
const APART_S: u64 = 300;
/// Bound on sessions that were ended early.
const ENDED_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_by_its_age_and_when_it_is_not_used() {
        let at = |seconds: u64| seconds * SECOND_NS;
        let session = |begun, used| Session {
            token: "a token".to_owned(),
            begun_ns: at(begun),
            used_ns: at(used),
            number: 7,
            mark: SealMark([3; 16]),
        };
        let read = Session::read(&session(1, 2).words()).unwrap();
        assert_eq!(read, session(1, 2));
        let day = 24 * 3600;
        let holds = |begun, used| session(day - begun, day - used).holds(at(day));
        assert!(holds(LASTS_S - 1, 0) && holds(0, 0) && holds(UNUSED_S - 1, UNUSED_S - 1));
        assert!(!holds(LASTS_S, 0) && !holds(UNUSED_S, UNUSED_S));
        // A clock that was ahead must not make a session last longer.
        assert!(session(day + APART_S, day).holds(at(day)));
        assert!(!session(day + APART_S + 1, day).holds(at(day)));
        assert!(!session(day, day + APART_S + 1).holds(at(day)));
    }
}
