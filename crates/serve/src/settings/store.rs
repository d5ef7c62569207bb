//! The store that many nodes share: its address, deadline, and the secret that keys are named by.
//!
//! Not here: the engines behind the addresses (`store::connect`).

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    pub url: StoreUrl,
    /// How long to wait for an answer.
    pub deadline: Duration,
    /// A file whose content is the secret that keys are named by, the same on all nodes; the address's password if
    /// absent.
    pub secret_file: Option<PathBuf>,
    /// The certificate authority of the store, in PEM; the usual ones if absent.
    pub ca_file: Option<PathBuf>,
    /// Our certificate and its key, in PEM, if the store asks for one.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Limit on concurrent batches.
    pub batches: usize,
}

impl StoreSettings {
    pub const fn new(url: StoreUrl) -> Self {
        Self {
            url,
            deadline: Duration::from_millis(20),
            secret_file: None,
            ca_file: None,
            identity: None,
            batches: BATCHES,
        }
    }
}

/// The address of a store; its password is never shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct StoreUrl(String);

impl StoreUrl {
    /// All supported schemes.
    pub const SCHEMES: [&'static str; 8] = [
        "redis",
        "rediss",
        "redis-cluster",
        "rediss-cluster",
        "redis-sentinel",
        "rediss-sentinel",
        "postgres",
        "sqlite",
    ];

    /// The part before `://`.
    pub fn scheme(&self) -> &str {
        self.0.split_once(':').map_or("", |(scheme, _)| scheme)
    }

    /// The whole address, with its password.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Whether it can use TLS.
    pub fn has_tls(&self) -> bool {
        self.scheme().starts_with("rediss") || self.scheme().starts_with("postgres")
    }

    pub fn password(&self) -> Option<&str> {
        let who = self.who()?;
        let password = match who.split_once(':') {
            Some((_, password)) => password,
            // Redis takes user information without a user as the password.
            None if self.scheme().starts_with("redis") => who,
            None => return None,
        };
        Some(password).filter(|password| !password.is_empty())
    }

    /// The user information before the hosts.
    fn who(&self) -> Option<&str> {
        let (_, rest) = self.0.split_once("://")?;
        let place = rest.split('/').next()?;
        place.rsplit_once('@').map(|(who, _)| who)
    }
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url = Self(text.to_owned());
        let is_known = Self::SCHEMES.contains(&url.scheme()) || url.scheme() == "postgresql";
        if is_known && text.len() <= URL_BYTES_MAX {
            return Ok(url);
        }
        let schemes = Self::SCHEMES.join(", ");
        Err(format!(
            "no store that is known; write for example redis://127.0.0.1:6379 (there are {schemes})"
        ))
    }
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.0.clone();
        if let (Some(who), Some(password)) = (self.who(), self.password()) {
            let user = who.strip_suffix(password).unwrap_or_default();
            text = text.replacen(&format!("{who}@"), &format!("{user}***@"), 1);
        }
        // Passwords can be there, too.
        match text.split_once('?') {
            Some((place, query)) if SECRET.iter().any(|name| query.contains(name)) => {
                write!(f, "{place}?***")
            }
            Some(_) | None => f.write_str(&text),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

pub(super) fn readable(path: &Path) -> Result<(), String> {
    let opened = File::open(path).and_then(|file| file.metadata());
    let is_folder = opened.map_err(|error| error.to_string())?.is_dir();
    if is_folder {
        return Err("a folder, not a file".to_owned());
    }
    Ok(())
}

pub(super) fn certificates(path: &Path) -> Result<(), String> {
    readable(path)?;
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(found) if !found.is_empty() => Ok(()),
        Ok(_) | Err(_) => Err("there is no certificate in it".to_owned()),
    }
}

pub(super) fn private_key(path: &Path) -> Result<(), String> {
    readable(path)?;
    let read = PrivateKeyDer::from_pem_file(path).map(drop);
    read.map_err(|_| "there is no private key in it".to_owned())
}

/// Options that are not shown.
const SECRET: [&str; 2] = ["password=", "sentinel="];
const BATCHES: usize = 16;
const URL_BYTES_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let url: StoreUrl = "redis://me:s3cret@db:6379/1".parse().unwrap();
        assert_eq!(url.password(), Some("s3cret"));
        assert_eq!(url.scheme(), "redis");
        let shown = format!("{url} {url:?} {:?}", StoreSettings::new(url.clone()));
        assert!(!shown.contains("s3cret"), "{shown}");
        assert_eq!(url.to_string(), "redis://me:***@db:6379/1");
    }

    #[test]
    fn nor_is_one_in_an_unusual_place() {
        for (text, shown) in [
            ("redis://s3cret@db", "redis://***@db"),
            ("redis://me:s3@cret@db", "redis://me:***@db"),
            (
                "redis-sentinel://me:s3cret@a/main?sentinel=me:s3cret",
                "redis-sentinel://me:***@a/main?***",
            ),
            (
                "postgres://me@db/x?password=s3cret",
                "postgres://me@db/x?***",
            ),
            (
                "postgres://me@db/x?sslmode=require",
                "postgres://me@db/x?sslmode=require",
            ),
        ] {
            let url: StoreUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_store_is_refused() {
        for text in ["", "redis", "http://x", "mysql://x"] {
            assert!(text.parse::<StoreUrl>().is_err(), "{text}");
        }
    }
}
