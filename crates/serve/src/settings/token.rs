//! A secret that callers show. Only its digest is kept, so that no log and no core file can give it away.

use std::fmt;

use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use subtle::{Choice, ConstantTimeEq};

/// A secret that callers show.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    digest: [u8; SHA256_OUTPUT_LEN],
}

impl Token {
    /// The token with this text.
    pub fn new(text: &str) -> Self {
        Self::of(text.as_bytes())
    }

    /// What somebody showed, to be compared with [`Self::is`].
    pub fn of(shown: &[u8]) -> Self {
        let mut bytes = [0; SHA256_OUTPUT_LEN];
        bytes.copy_from_slice(digest(&SHA256, shown).as_ref());
        Self { digest: bytes }
    }

    /// Whether both are the same; takes the same time whatever they are.
    pub fn is(&self, other: &Self) -> Choice {
        self.digest.ct_eq(&other.digest)
    }
}

impl From<&str> for Token {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_text_is_the_same_token() {
        let token = Token::new("open sesame");
        assert!(bool::from(token.is(&Token::of(b"open sesame"))));
        for other in ["", "open", "open sesame ", "Open sesame"] {
            assert!(!bool::from(token.is(&Token::new(other))), "{other}");
        }
    }

    #[test]
    fn a_token_is_never_shown() {
        assert!(!format!("{:?}", Token::new("open sesame")).contains("sesame"));
    }
}
