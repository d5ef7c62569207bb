//! Who may ask: bearer tokens and client certificates, compared in a time that tells nothing.
//!
//! Not here: what a door answers to those who may not, and the limits everybody has.

use std::net::{IpAddr, Ipv4Addr};

use subtle::Choice;
use tollgate_client::{ClientAddress, Trust};

use crate::settings::{Settings, Token};
use crate::shared::Peer;

/// Whether a caller may ask.
///
/// `authorization` is the secret itself, or the value of an `Authorization` field with it. Where no token is set everybody
/// may; whoever showed a trusted certificate need not show a token as well.
pub fn allows(settings: &Settings, peer: &Peer, authorization: Option<&[u8]>) -> bool {
    if settings.tokens.is_empty() || peer.certified {
        return true;
    }
    authorization.is_some_and(|value| is_known(&settings.tokens, bearer(value)))
}

/// The address that a request comes from: that of the client behind proxies whose word is taken, by the lines of their header, or
/// else that of the peer; `None` for a Unix socket.
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

/// The secret in the value of an `Authorization` field; the value itself where it names no scheme.
fn bearer(value: &[u8]) -> &[u8] {
    match value.split_at_checked(SCHEME.len()) {
        Some((scheme, secret)) if scheme.eq_ignore_ascii_case(SCHEME) => secret.trim_ascii(),
        _ => value,
    }
}

/// Every token is compared, whichever matches: the time tells neither how many there are before it nor how much fits.
fn is_known(tokens: &[Token], secret: &[u8]) -> bool {
    let shown = Token::of(secret);
    let none = Choice::from(0);
    let known = tokens
        .iter()
        .fold(none, |known, token| known | token.is(&shown));
    known.into()
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

    fn guarded() -> Settings {
        Settings {
            tokens: vec![Token::new("first-token"), Token::new("second-token")],
            ..Settings::default()
        }
    }

    #[test]
    fn everybody_may_ask_where_no_token_is_set() {
        assert!(allows(&Settings::default(), &STRANGER, None));
        assert!(allows(&Settings::default(), &STRANGER, Some(b"Bearer x")));
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
            assert!(allows(&guarded(), &STRANGER, Some(value)), "{value:?}");
        }
    }

    #[test]
    fn nothing_else_opens() {
        let shown: [&[u8]; 7] = [
            b"",
            b"Bearer",
            b"Bearer ",
            b"Bearer first-toke",
            b"Bearer first-token2",
            b"Basic first-token",
            b"\xff\xfe",
        ];
        for value in shown {
            assert!(!allows(&guarded(), &STRANGER, Some(value)), "{value:?}");
        }
        assert!(!allows(&guarded(), &STRANGER, None));
    }

    #[test]
    fn a_trusted_certificate_opens_by_itself() {
        let certified = Peer {
            certified: true,
            ..STRANGER
        };
        assert!(allows(&guarded(), &certified, None));
    }
}
