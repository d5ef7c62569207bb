//! Where contracts are live data: the database of the catalogue.
//!
//! Not here: the catalogue itself (`catalogue`), and contract files, which are the other source of contracts.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::{DatabaseUrl, Settings};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogueSettings {
    pub at: CataloguePlace,
    /// The certificate authority of the database, in PEM; the usual ones if absent.
    pub ca_file: Option<PathBuf>,
    /// How long a request waits for the look-up of its key's terms.
    pub deadline: Duration,
    /// The key of sessions and signed links, for servers that share the database; see [`KeyPlace`].
    pub key_file: Option<PathBuf>,
}

/// Where the key is that seals sessions and signed links: never in the database, which others may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// In a file that must exist.
    Given(PathBuf),
    /// In a file that this server creates if missing.
    Own(PathBuf),
    /// In memory only.
    Memory,
}

impl Settings {
    /// The key of sessions and signed links is in the configured file, or else beside the catalogue's file, or else in
    /// the data directory.
    pub fn key_place(&self) -> KeyPlace {
        let catalogue = self.keeping.catalogue.as_ref();
        if let Some(file) = catalogue.and_then(|catalogue| catalogue.key_file.clone()) {
            return KeyPlace::Given(file);
        }
        if let Some(CataloguePlace::File(path)) = catalogue.map(|catalogue| &catalogue.at) {
            let mut name = path.as_os_str().to_owned();
            name.push(".key");
            return KeyPlace::Own(name.into());
        }
        let own = self.data_dir.as_ref().map(|folder| folder.join(KEY));
        own.map_or(KeyPlace::Memory, KeyPlace::Own)
    }
}

impl CatalogueSettings {
    pub const fn new(at: CataloguePlace) -> Self {
        Self {
            at,
            ca_file: None,
            // Ten times what the slowest of a hundred look-ups takes on a busy machine.
            deadline: Duration::from_millis(100),
            key_file: None,
        }
    }
}

/// A file of `SQLite`, or a database of `PostgreSQL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CataloguePlace {
    /// Created if missing.
    File(PathBuf),
    /// Its password is never shown.
    Database(DatabaseUrl),
}

impl FromStr for CataloguePlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("write a path, or postgres://user:password@host/database".to_owned());
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        if path.contains("://") {
            return text.parse().map(Self::Database);
        }
        Ok(Self::File(path.into()))
    }
}

impl fmt::Display for CataloguePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Database(url) => url.fmt(f),
        }
    }
}

/// The file of the key in a data directory.
const KEY: &str = "console.key";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_in_the_named_file_or_beside_what_it_belongs_to() {
        let mut settings = Settings::default();
        assert_eq!(settings.key_place(), KeyPlace::Memory);
        settings.data_dir = Some("data".into());
        let own = |path: &str| KeyPlace::Own(path.into());
        assert_eq!(settings.key_place(), own("data/console.key"));
        let mut catalogue = CatalogueSettings::new("postgres://db/x".parse().unwrap());
        settings.keeping.catalogue = Some(catalogue.clone());
        assert_eq!(settings.key_place(), own("data/console.key"));
        catalogue.at = CataloguePlace::File("a/b.db".into());
        settings.keeping.catalogue = Some(catalogue.clone());
        assert_eq!(settings.key_place(), own("a/b.db.key"));
        catalogue.key_file = Some("given".into());
        settings.keeping.catalogue = Some(catalogue);
        assert_eq!(settings.key_place(), KeyPlace::Given("given".into()));
    }

    #[test]
    fn a_place_is_a_path_or_an_address_whose_password_is_not_shown() {
        let place = |text: &str| text.parse::<CataloguePlace>();
        let file = |path: &str| Ok(CataloguePlace::File(path.into()));
        assert_eq!(place("a/b.db"), file("a/b.db"));
        assert_eq!(place("sqlite:b.db"), file("b.db"));
        let database = place("postgres://me:s3cret@db/x").unwrap();
        assert_eq!(database.to_string(), "postgres://me:***@db/x");
        assert!(!format!("{database:?}").contains("s3cret"));
        assert!(place("").is_err() && place("mysql://x").is_err());
    }
}
