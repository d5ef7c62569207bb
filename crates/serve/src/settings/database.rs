//! The shared database for durable state, instead of a file per server.
//!
//! Not here: connecting, and its tables (`database`).

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use tollgate_contract::file::quote;

/// The database of durable counts, if they are not in a file in the data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSettings {
    pub url: DatabaseUrl,
    /// The certificate authority of the database, in PEM; the usual ones if absent.
    pub ca_file: Option<PathBuf>,
    /// The name of our rows outside a cluster; in one it is the node's name.
    pub seat: Option<WriterName>,
}

impl DatabaseSettings {
    pub const fn new(url: DatabaseUrl) -> Self {
        Self {
            url,
            ca_file: None,
            seat: None,
        }
    }
}

/// The address of a `PostgreSQL` database; its password is never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// The whole address, with its password.
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl FromStr for DatabaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_known = ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| text.starts_with(scheme));
        if is_known && text.len() <= URL_BYTES_MAX {
            return Ok(Self(text.to_owned()));
        }
        Err(
            "no database that is known; write postgres://user:password@host/database, or nothing to keep counts in \
             SQLite in the data directory"
                .to_owned(),
        )
    }
}

impl fmt::Display for DatabaseUrl {
    /// Without password and options, which may contain one as well.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((scheme, rest)) = self.0.split_once("://") else {
            return Ok(());
        };
        let rest = rest.split('?').next().unwrap_or_default();
        let (user, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        match user.split_once(':') {
            Some((user, _)) => write!(f, "{scheme}://{user}:***@{place}"),
            None if user.is_empty() => write!(f, "{scheme}://{place}"),
            None => write!(f, "{scheme}://{user}@{place}"),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

/// The name under which rows are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriterName(String);

impl WriterName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for WriterName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_fit =
            (1..=SEAT_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control);
        if is_fit {
            return Ok(Self(text.to_owned()));
        }
        let shown = quote(text);
        Err(format!(
            "{shown} is no seat; write a name of 1 to {SEAT_BYTES_MAX} bytes"
        ))
    }
}

const URL_BYTES_MAX: usize = 4096;
/// Longer than any name in practice.
const SEAT_BYTES_MAX: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for (text, shown) in [
            (
                "postgres://me:s3cret@db:5432/x",
                "postgres://me:***@db:5432/x",
            ),
            ("postgres://me:s3c@ret@db/x", "postgres://me:***@db/x"),
            (
                "postgresql://me@db/x?password=s3cret",
                "postgresql://me@db/x",
            ),
            ("postgres://db/x", "postgres://db/x"),
        ] {
            let url: DatabaseUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(url.secret(), text);
            let shown = format!("{:?}", DatabaseSettings::new(url));
            assert!(!shown.contains("s3c"), "{shown}");
        }
    }

    #[test]
    fn what_is_no_database_or_seat_is_refused() {
        for text in ["", "postgres", "redis://x", "sqlite:x", "http://x"] {
            assert!(text.parse::<DatabaseUrl>().is_err(), "{text}");
        }
        for text in ["", "a\nb", &"x".repeat(129)] {
            assert!(text.parse::<WriterName>().is_err(), "{text}");
        }
    }
}
