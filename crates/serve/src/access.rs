//! Authorization: bearer tokens with scopes, and client certificates. Tokens are compared in constant time.
//!
//! What each operation needs is one table ([`Operation::scope`]) for all listeners. Not here: how a listener answers
//! unauthorized callers, and limits.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use subtle::ConditionallySelectable as _;
use tollgate_http::{ClientAddress, Trust};

use crate::engine::RequestSender;
use crate::guard::Guard;
use crate::settings::{Scopes, Token, TokenScope, Tokens};
use crate::shared::Peer;

/// What a caller may be authorized for, on any listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Check,
    Peek,
    /// Tokens are taken now and settled later.
    Reserve,
    /// Settles a reservation by its receipt or id, at the real cost or at zero.
    Settle,
    Lease,
    Quota,
    /// Takes tokens without a decision.
    Charge,
    /// Returns tokens.
    Refund,
    Reset,
    Metrics,
    Top,
    Tail,
    Explain,
    Cluster,
    /// Removes a dead node from the cluster.
    Forget,
    Gateway,
    /// Connection set-up and everything that reveals nothing about keys.
    Greet,
}

impl Operation {
    /// The scope a token must have; `None` if any valid token will do.
    pub const fn scope(self) -> Option<TokenScope> {
        match self {
            Self::Check | Self::Peek | Self::Reserve | Self::Settle | Self::Lease | Self::Quota => {
                Some(TokenScope::Check)
            }
            Self::Charge | Self::Refund | Self::Reset | Self::Forget => Some(TokenScope::Write),
            Self::Metrics
            | Self::Top
            | Self::Tail
            | Self::Explain
            | Self::Cluster
            | Self::Gateway => Some(TokenScope::Observe),
            Self::Greet => None,
        }
    }

    pub fn is_within(self, scopes: Scopes) -> Result<(), Denied> {
        match self.scope() {
            Some(scope) if !scopes.has(scope) => Err(Denied::Scope(scope)),
            Some(_) | None => Ok(()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    Missing,
    /// The token is unknown or expired.
    Wrong,
    /// Unknown or expired, and too many such attempts came from this address; the next is allowed in this many seconds.
    Guessing(u64),
    /// The token lacks this scope.
    Scope(TokenScope),
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("This needs a token: `Authorization: Bearer ...`."),
            Self::Wrong => {
                f.write_str("This token is none of those that are set, or its time is up.")
            }
            Self::Guessing(seconds) => write!(
                f,
                "This token is wrong, and too many wrong ones came from this address; try again in {seconds} s, or at once with a right one."
            ),
            Self::Scope(scope) => write!(
                f,
                "This token is not for that: it lacks the scope `{}`.",
                scope.name()
            ),
        }
    }
}

/// What a caller may do, by the tokens that were set when it was granted.
#[derive(Clone, Copy, Debug)]
pub struct AccessGrant {
    scopes: Scopes,
    expires_ns: Option<u64>,
    caller: u64,
    /// Version of the token set; see [`Callers`].
    set: u64,
}

impl AccessGrant {
    pub const fn scopes(&self) -> Scopes {
        self.scopes
    }

    /// The sender whose reservations and receipts the caller may settle.
    pub const fn sender(&self) -> RequestSender {
        RequestSender {
            caller: self.caller,
            settles_all: self.scopes.has(TokenScope::Write),
        }
    }
}

/// A long-lived caller: what it presented, and what it may do while that stays valid.
#[derive(Clone, Debug)]
pub struct Pass {
    peer: Peer,
    shown: Option<Token>,
    grant: Option<AccessGrant>,
}

impl Pass {
    /// A caller that presented no token, at most a certificate.
    pub fn new(callers: &Callers, peer: Peer) -> Self {
        Self {
            peer,
            shown: None,
            grant: callers.grant(&peer, None),
        }
    }

    /// Presents a token, as in [`Callers::admit`]; a wrong one changes nothing.
    pub fn show(
        &mut self,
        callers: &Callers,
        shown: Option<Token>,
        from: impl FnOnce(&Peer) -> Option<IpAddr>,
    ) -> Result<Scopes, Denied> {
        let grant = callers.admit(&self.peer, shown.as_ref(), from)?;
        (self.shown, self.grant) = (shown, Some(grant));
        Ok(grant.scopes)
    }

    /// The sender whose reservations and receipts the caller may settle, by the token it was admitted with.
    pub fn sender(&self) -> RequestSender {
        self.grant
            .as_ref()
            .map_or(RequestSender::NOBODY, AccessGrant::sender)
    }

    /// Whether the caller was admitted and has not been found invalid since.
    pub const fn is_known(&self) -> bool {
        self.grant.is_some()
    }

    /// What the caller may do now; `None` if nothing (any more).
    pub fn scopes(&mut self, callers: &Callers) -> Option<Scopes> {
        if !callers.holds(self.grant.as_ref()?) {
            self.grant = callers.grant(&self.peer, self.shown.as_ref());
        }
        self.grant.map(|grant| grant.scopes)
    }
}

/// The accepted tokens, and the guard against guessing.
#[derive(Debug)]
pub struct Callers {
    tokens: ArcSwap<Tokens>,
    /// Incremented at every replacement; grants of an older set are checked again.
    set: AtomicU64,
    /// Counts wrong tokens; made at the first one.
    guard: OnceLock<Option<Guard>>,
}

impl Callers {
    pub fn new(tokens: &Tokens) -> Self {
        Self {
            tokens: ArcSwap::from_pointee(tokens.clone()),
            set: AtomicU64::new(0),
            guard: OnceLock::new(),
        }
    }

    /// Accepts exactly these tokens from now on. Returns whether they differ from before; fails if that would admit
    /// everyone.
    pub(crate) fn adopt(&self, tokens: Tokens) -> Result<bool, String> {
        if **self.tokens.load() == tokens {
            return Ok(false);
        }
        if tokens.is_empty() {
            let what =
                "there were tokens, and none is left: start the server again to let everybody in";
            return Err(what.to_owned());
        }
        self.tokens.store(tokens.into());
        self.set.fetch_add(1, Ordering::Release);
        Ok(true)
    }

    pub(crate) fn tokens(&self) -> Tokens {
        Tokens::clone(&self.tokens.load())
    }

    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.tokens.load().file().map(PathBuf::from)
    }

    /// The numbers of the callers, including the one for callers without a token.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let tokens = self.tokens.load();
        tokens.iter().map(Token::caller).chain([0]).collect()
    }

    /// Whether callers must present a token.
    pub fn are_asked(&self) -> bool {
        !self.tokens.load().is_empty()
    }

    /// What a peer may do with this token or without one; `None` if the token is wrong.
    ///
    /// If no token is set, everyone may do everything, and so may peers with a trusted certificate.
    pub fn grant(&self, peer: &Peer, shown: Option<&Token>) -> Option<AccessGrant> {
        // Loaded before the tokens, so that a grant never claims a newer set than it was made from.
        let set = self.set.load(Ordering::Acquire);
        let tokens = self.tokens.load();
        let grant = |scopes, expires_ns, caller| AccessGrant {
            scopes,
            expires_ns,
            caller,
            set,
        };
        if tokens.is_empty() || peer.certified {
            return Some(grant(Scopes::ALL, None, 0));
        }
        let known = known(&tokens, shown?)?;
        let grant = grant(known.scopes(), known.expires_ns(), known.caller());
        self.holds(&grant).then_some(grant)
    }

    /// Whether granting again now would give the same.
    pub fn holds(&self, grant: &AccessGrant) -> bool {
        self.set.load(Ordering::Acquire) == grant.set
            && grant.expires_ns.is_none_or(|expires| now_ns() < expires)
    }

    /// What a caller may do with this token or without one. Wrong tokens are counted by address.
    pub fn admit(
        &self,
        peer: &Peer,
        shown: Option<&Token>,
        from: impl FnOnce(&Peer) -> Option<IpAddr>,
    ) -> Result<AccessGrant, Denied> {
        match self.grant(peer, shown) {
            Some(grant) => Ok(grant),
            None if shown.is_none() => Err(Denied::Missing),
            None => Err(self.guessed(from(peer))),
        }
    }

    #[cold]
    fn guessed(&self, from: Option<IpAddr>) -> Denied {
        let guard = self.guard.get_or_init(|| {
            let made = Guard::new();
            made.inspect_err(|error| tracing::error!(%error, "guesses of tokens are not counted"))
                .ok()
        });
        match guard.as_ref().map(|guard| guard.begin(from)) {
            Some(Err(seconds)) => Denied::Guessing(seconds),
            Some(Ok(_)) | None => Denied::Wrong,
        }
    }
}

/// The client's address: behind trusted proxies from the lines of their header, otherwise the peer's; `None` for a Unix
/// socket.
pub fn client<'h>(
    proxies: &ClientAddress,
    peer: &Peer,
    lines: impl DoubleEndedIterator<Item = &'h [u8]>,
) -> Option<IpAddr> {
    let near = peer.address.map(|address| address.ip().to_canonical());
    if proxies.trust == Trust::Nobody {
        return near;
    }
    let near = near.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    Some(proxies.of_lines(near, lines))
}

/// The token in either the bare secret or the value of an `Authorization` field.
pub fn shown(value: &[u8]) -> Token {
    Token::of(bearer(value))
}

/// The secret in the value of an `Authorization` field; the value itself if it names no scheme.
fn bearer(value: &[u8]) -> &[u8] {
    match value.split_at_checked(SCHEME.len()) {
        Some((scheme, secret)) if scheme.eq_ignore_ascii_case(SCHEME) => secret.trim_ascii(),
        _ => value,
    }
}

/// The configured token that matches. Compares with every token, so that the time reveals neither the match's position
/// nor how much of a guess fits.
fn known<'t>(tokens: &'t Tokens, shown: &Token) -> Option<&'t Token> {
    let (mut found, mut number) = (0_u32, 0_u32);
    for token in tokens.iter() {
        number += 1;
        found.conditional_assign(&number, token.is(shown));
    }
    let place = usize::try_from(found.checked_sub(1)?).ok()?;
    tokens.iter().nth(place)
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

const SCHEME: &[u8] = b"bearer ";

#[cfg(test)]
mod tests {
    use super::*;

    const STRANGER: Peer = Peer {
        address: None,
        certified: false,
        is_sealed: false,
        connection: 1,
    };

    fn guarded() -> Callers {
        let tokens = [
            Token::new("first-token"),
            Token::new("second-token").scoped([TokenScope::Check].into_iter().collect()),
            Token::new("ended-token").until(1),
        ];
        Callers::new(&tokens.to_vec().into())
    }

    fn admit(callers: &Callers, shown: Option<&[u8]>) -> Result<Scopes, Denied> {
        let shown = shown.map(super::shown);
        let admitted = callers.admit(&STRANGER, shown.as_ref(), |_| None);
        admitted.map(|grant| grant.scopes())
    }

    #[test]
    fn everybody_may_ask_where_no_token_is_set() {
        let open = Callers::new(&Tokens::default());
        assert_eq!(admit(&open, None), Ok(Scopes::ALL));
        assert_eq!(admit(&open, Some(b"Bearer x")), Ok(Scopes::ALL));
    }

    #[test]
    fn any_of_the_tokens_opens_in_every_spelling_of_the_scheme() {
        let shown: [&[u8]; 5] = [
            b"Bearer first-token",
            b"bearer second-token",
            b"BEARER  second-token ",
            b"first-token",
            b"second-token",
        ];
        for value in shown {
            assert!(admit(&guarded(), Some(value)).is_ok(), "{value:?}");
        }
    }

    #[test]
    fn nothing_else_opens_and_a_right_one_does_after_any_number_of_wrong_ones() {
        let shown: [&[u8]; 8] = [
            b"",
            b"Bearer",
            b"Bearer ",
            b"Bearer first-toke",
            b"Bearer first-token2",
            b"Bearer ended-token",
            b"Basic first-token",
            b"\xff\xfe",
        ];
        let callers = guarded();
        for value in shown {
            assert_eq!(
                admit(&callers, Some(value)),
                Err(Denied::Wrong),
                "{value:?}"
            );
        }
        assert_eq!(admit(&callers, None), Err(Denied::Missing));
        let wrong = (0..100).map(|_| admit(&callers, Some(b"guess")));
        let looked_at = wrong.filter(|denied| *denied == Err(Denied::Wrong)).count();
        assert_eq!(looked_at, 20 - shown.len());
        assert!(matches!(
            admit(&callers, Some(b"guess")),
            Err(Denied::Guessing(1..=15))
        ));
        assert!(admit(&callers, Some(b"first-token")).is_ok());
        assert_eq!(admit(&callers, None), Err(Denied::Missing));
    }

    #[test]
    fn a_token_is_for_its_scopes_alone() {
        let scopes = admit(&guarded(), Some(b"second-token")).unwrap();
        assert_eq!(Operation::Settle.is_within(scopes), Ok(()));
        assert_eq!(Operation::Greet.is_within(scopes), Ok(()));
        for (operation, scope) in [
            (Operation::Refund, TokenScope::Write),
            (Operation::Forget, TokenScope::Write),
            (Operation::Metrics, TokenScope::Observe),
        ] {
            assert_eq!(operation.is_within(scopes), Err(Denied::Scope(scope)));
            assert_eq!(operation.is_within(Scopes::ALL), Ok(()));
        }
    }

    #[test]
    fn other_tokens_end_what_was_granted_and_none_at_all_are_refused() {
        let callers = guarded();
        let grant = callers
            .grant(&STRANGER, Some(&Token::new("first-token")))
            .unwrap();
        assert!(callers.holds(&grant));
        assert_eq!(callers.adopt(callers.tokens()), Ok(false));
        assert!(callers.holds(&grant));
        assert!(callers.adopt(Tokens::default()).is_err());
        assert_eq!(
            callers.adopt(vec![Token::new("third-token")].into()),
            Ok(true)
        );
        assert!(!callers.holds(&grant));
        assert_eq!(admit(&callers, Some(b"first-token")), Err(Denied::Wrong));
        assert!(admit(&callers, Some(b"third-token")).is_ok());
    }

    #[test]
    fn a_trusted_certificate_opens_by_itself() {
        let certified = Peer {
            certified: true,
            ..STRANGER
        };
        assert!(guarded().admit(&certified, None, |_| None).is_ok());
    }
}
