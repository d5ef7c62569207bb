//! Signed links: its holder sees the limits and the usage of one identity, until a time, and nothing else.
//!
//! A link is a format version, its expiry and the identity, sealed; nothing is stored. Another key
//! ends all links at once.

use tollgate_catalogue::Identity;

use super::seal::Seal;
use crate::fault::Fault;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkError {
    /// Made under another key, or changed.
    Tampered,
    Expired,
}

impl LinkError {
    pub(crate) const fn told(self) -> &'static str {
        match self {
            Self::Tampered => "this link is not whole; ask for it again",
            Self::Expired => "the time of this link is up; ask for another",
        }
    }
}

/// Returns the last part of the link's path.
pub(crate) fn make(seal: &Seal, identity: &Identity, expires_ns: u64) -> Result<String, Fault> {
    let mut words = vec![VERSION];
    words.extend_from_slice(&expires_ns.to_be_bytes());
    words.extend_from_slice(identity.to_string().as_bytes());
    seal.sealed(PURPOSE, &words)
}

pub(crate) fn open(
    seal: &Seal,
    text: &str,
    now_ns: u64,
) -> Result<Result<Identity, LinkError>, Fault> {
    let words = seal.opened(PURPOSE, text)?;
    let read = || {
        let words = words?;
        let (version, rest) = words.split_first()?;
        let (expires, identity) = rest.split_first_chunk::<8>()?;
        let identity = std::str::from_utf8(identity).ok()?;
        let identity = Identity::parse(identity).ok()?;
        (*version == VERSION).then_some((u64::from_be_bytes(*expires), identity))
    };
    Ok(match read() {
        None => Err(LinkError::Tampered),
        Some((expires, _)) if now_ns >= expires => Err(LinkError::Expired),
        Some((_, identity)) => Ok(identity),
    })
}

const PURPOSE: &str = "link";
const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use tollgate_serve::settings::KeyPlace;

    use super::*;

    #[test]
    fn a_link_opens_for_its_identity_until_its_time_and_unchanged() {
        let seal = Seal::at(KeyPlace::Memory).unwrap();
        let acme = Identity::parse("tenant=a <b> & 'c'").unwrap();
        let link = make(&seal, &acme, 1000).unwrap();
        let opened = |link: &str, now| open(&seal, link, now).unwrap();
        assert_eq!(opened(&link, 999), Ok(acme.clone()));
        assert_eq!(opened(&link, 1000), Err(LinkError::Expired));
        for place in 0..link.len() {
            let mut other = link.clone().into_bytes();
            other[place] = if other[place] == b'A' { b'B' } else { b'A' };
            let other = String::from_utf8(other).unwrap();
            assert_eq!(opened(&other, 1), Err(LinkError::Tampered), "{place}");
        }
        for other in [
            "",
            ".",
            "a.b",
            &link[1..],
            &link[..link.len() - 1],
            &format!("{link}A"),
        ] {
            assert_eq!(opened(other, 1), Err(LinkError::Tampered), "{other}");
        }
        let elsewhere = Seal::at(KeyPlace::Memory).unwrap();
        let there = open(&elsewhere, &link, 1).unwrap();
        assert_eq!(there, Err(LinkError::Tampered));
    }
}
