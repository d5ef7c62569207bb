//! The store that many nodes share: where it is, how long it is waited for, and the secret that keys are named by.
//!
//! Not here: the engines behind the addresses (`store::connect`).

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_contract::ErrorKind;
use tollgate_contract::file::{Problem, Text, given};

use super::file::Check;

/// The store, and how it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// Where it is.
    pub url: StoreUrl,
    /// How long an answer is waited for.
    pub deadline: Duration,
    /// A file whose content names keys, the same on all nodes; the password of the address where absent.
    pub secret_file: Option<PathBuf>,
    /// Who must have signed the store's certificate, in PEM; the usual authorities where absent.
    pub ca_file: Option<PathBuf>,
    /// The most batches under way at a time.
    pub batches: usize,
    /// How many keys are remembered for when the store does not answer.
    pub remembered: usize,
}

impl StoreSettings {
    /// A store at this address.
    pub const fn new(url: StoreUrl) -> Self {
        Self {
            url,
            deadline: Duration::from_millis(20),
            secret_file: None,
            ca_file: None,
            batches: BATCHES,
            remembered: REMEMBERED,
        }
    }
}

/// The address of a store; its password is shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(String);

impl StoreUrl {
    /// Every kind of address there is.
    pub const SCHEMES: [&'static str; 7] = [
        "redis",
        "rediss",
        "redis-cluster",
        "rediss-cluster",
        "redis-sentinel",
        "postgres",
        "sqlite",
    ];

    /// What comes before `://`.
    pub fn scheme(&self) -> &str {
        self.0.split_once(':').map_or("", |(scheme, _)| scheme)
    }

    /// The whole address, with its password.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// The password, where there is one.
    pub fn password(&self) -> Option<&str> {
        let (_, rest) = self.0.split_once("://")?;
        let (user, _) = rest.split_once('@')?;
        let (_, password) = user.split_once(':')?;
        Some(password).filter(|password| !password.is_empty())
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
        match self.password() {
            Some(password) => f.write_str(&self.0.replacen(&format!(":{password}@"), ":***@", 1)),
            None => f.write_str(&self.0),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({self})")
    }
}

/// An engine that many servers share, for contracts under `coordination: store`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Store")]
pub(crate) struct RawStore {
    /// Where it is: redis://, rediss://, redis-cluster://, redis-sentinel://, postgres://, sqlite:.
    #[schemars(with = "String")]
    url: Text,
    /// How long an answer is waited for; 20ms where absent.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "String")]
    deadline: Option<Text>,
    /// A file whose content names keys, the same on all servers; the password of the address where absent.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "String")]
    secret_file: Option<Text>,
    /// Who must have signed the store's certificate, in PEM.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "String")]
    ca_file: Option<Text>,
    /// The most batches under way at a time; 16 where absent.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "u32")]
    batches: Option<Text>,
    /// How many keys are remembered for when the store does not answer; 16384 where absent.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "u32")]
    remembered: Option<Text>,
}

impl Check<'_> {
    /// The store's section.
    pub(super) fn store(&mut self, raw: RawStore) -> Option<StoreSettings> {
        let text = raw.url;
        let wrong = |what| Problem::new(ErrorKind::BadValue, text.place, what);
        let url = self.problems.keep(text.value.parse().map_err(wrong))?;
        let mut settings = StoreSettings::new(url);
        self.duration(raw.deadline, &mut settings.deadline);
        settings.secret_file = raw.secret_file.map(|text| self.under(&text.value));
        settings.ca_file = raw.ca_file.map(|text| self.under(&text.value));
        self.count(raw.batches, ("batches", (1, 1024)), &mut settings.batches);
        let remembered = ("remembered", (1, 1 << 24));
        self.count(raw.remembered, remembered, &mut settings.remembered);
        Some(settings)
    }
}

const BATCHES: usize = 16;
const REMEMBERED: usize = 1 << 14;
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
    fn what_is_no_store_is_refused() {
        for text in ["", "redis", "http://x", "mysql://x"] {
            assert!(text.parse::<StoreUrl>().is_err(), "{text}");
        }
    }
}
