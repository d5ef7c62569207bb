//! Addresses of the console: a fixed path, and what varies in the query.
//!
//! Ids stand in the query because they may be `..` or contain slashes, which no path keeps. Every address begins with
//! the
//! path of this server, so none can lead anywhere else.

use core::fmt::{self, Display, Write};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url(String);

impl Url {
    /// A page below the root, as `/console/contracts`.
    pub fn to(path: &'static str) -> Self {
        debug_assert!(path.starts_with('/') && !path.starts_with("//"), "{path}");
        Self(path.to_owned())
    }

    pub fn here(place: impl Display) -> Self {
        let mut url = Self("#".to_owned());
        url.push(place);
        url
    }

    /// Adds a field to the query.
    #[must_use]
    pub fn query(mut self, name: &'static str, value: impl Display) -> Self {
        self.0.push(if self.0.contains('?') { '&' } else { '?' });
        self.0.push_str(name);
        self.0.push('=');
        self.push(value);
        self
    }

    /// `name` is chosen by the program, such as the hash of a file.
    #[must_use]
    pub(crate) fn file(mut self, name: impl Display) -> Self {
        self.0.push('/');
        self.push(name);
        self
    }

    fn push(&mut self, value: impl Display) {
        for byte in value.to_string().bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                self.0.push(char::from(byte));
            } else {
                let _ = write!(self.0, "%{byte:02X}");
            }
        }
    }
}

impl Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_whatever_could_end_a_value() {
        let url = Url::to("/console/contract")
            .query("id", "a/b?c&d=e#f g\"")
            .query("at", "..");
        assert_eq!(
            url.to_string(),
            "/console/contract?id=a%2Fb%3Fc%26d%3De%23f%20g%22&at=.."
        );
        assert_eq!(Url::here("javascript:x").to_string(), "#javascript%3Ax");
    }
}
