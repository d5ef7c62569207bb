//! Signed links: whoever has one sees the limits and the usage of one identity, until a time, and nothing else.
//!
//! A link has a version of its secret, the end of its time and the identity, sealed; nothing is kept of it. Making the
//! secret another one ends all links at once.

use core::fmt;

use tollgate_catalogue::Identity;
use tollgate_catalogue_sql::Error;

use super::seal::{Seal, opened, sealed};
use crate::admin::Books;

/// Makes links and reads them.
#[derive(Default)]
pub(crate) struct Links(Seal);

/// Why a link does not open anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkError {
    /// It was not made here, or was changed.
    Tampered,
    /// Its time is up.
    Expired,
    /// The secret cannot be learnt.
    Away(Error),
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tampered => f.write_str("this link is not whole; ask for it again"),
            Self::Expired => f.write_str("the time of this link is up; ask for another"),
            Self::Away(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for LinkError {}

impl Links {
    /// The last part of a link's path.
    pub(crate) async fn make(
        &self,
        books: &Books,
        identity: &Identity,
        expires_ns: u64,
    ) -> Result<String, Error> {
        let key = self.0.key(books, KEY).await?;
        let mut words = vec![VERSION];
        words.extend_from_slice(&expires_ns.to_be_bytes());
        words.extend_from_slice(identity.to_string().as_bytes());
        Ok(sealed(key, PURPOSE, &words))
    }

    /// Whose link it is.
    pub(crate) async fn open(
        &self,
        books: &Books,
        text: &str,
        now_ns: u64,
    ) -> Result<Identity, LinkError> {
        let key = self.0.key(books, KEY).await.map_err(LinkError::Away)?;
        let words = opened(key, PURPOSE, text).ok_or(LinkError::Tampered)?;
        let read = || {
            let (version, rest) = words.split_first()?;
            let (expires, identity) = rest.split_first_chunk::<8>()?;
            let identity = std::str::from_utf8(identity).ok()?;
            let identity = Identity::parse(identity).ok()?;
            (*version == VERSION).then_some((u64::from_be_bytes(*expires), identity))
        };
        let (expires, identity) = read().ok_or(LinkError::Tampered)?;
        if now_ns >= expires {
            return Err(LinkError::Expired);
        }
        Ok(identity)
    }
}

const PURPOSE: &str = "link";
/// Which form a link has, and which secret.
const VERSION: u8 = 1;
const KEY: &str = "link-key-1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_opens_for_its_identity_until_its_time_and_unchanged() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (links, books) = (Links::default(), Books::File(None));
            let acme = Identity::parse("tenant=a <b> & 'c'").unwrap();
            let link = links.make(&books, &acme, 1000).await.unwrap();
            assert_eq!(links.open(&books, &link, 999).await, Ok(acme.clone()));
            assert_eq!(
                links.open(&books, &link, 1000).await,
                Err(LinkError::Expired)
            );
            for place in 0..link.len() {
                let mut other = link.clone().into_bytes();
                other[place] = if other[place] == b'A' { b'B' } else { b'A' };
                let other = String::from_utf8(other).unwrap();
                assert_eq!(
                    links.open(&books, &other, 1).await,
                    Err(LinkError::Tampered),
                    "{place}"
                );
            }
            for other in [
                "",
                ".",
                "a.b",
                &link[1..],
                &link[..link.len() - 1],
                &format!("{link}A"),
            ] {
                assert_eq!(
                    links.open(&books, other, 1).await,
                    Err(LinkError::Tampered),
                    "{other}"
                );
            }
            let elsewhere = Links::default();
            assert_eq!(
                elsewhere.open(&books, &link, 1).await,
                Err(LinkError::Tampered)
            );
        });
    }
}
