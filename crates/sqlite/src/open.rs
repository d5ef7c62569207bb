//! How databases are opened.
//!
//! Not here: how long statements may take, which those who ask say.

use std::path::Path;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

/// How a file is opened: with a log beside it, and commits that are on the disk when they return, or only with the
/// system; others who lock it are waited for that long.
pub fn file_options(path: &Path, is_synced: bool, busy: Duration) -> SqliteConnectOptions {
    let synchronous = if is_synced {
        SqliteSynchronous::Full
    } else {
        SqliteSynchronous::Normal
    };
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(synchronous)
        .busy_timeout(busy)
        .disable_statement_logging()
}

/// Where a database of `PostgreSQL` is, and what proves who is who.
#[derive(Clone, Copy, Debug)]
pub struct PostgresAddress<'a> {
    /// `postgres://user:password@host/database?sslmode=verify-full`; never logged.
    pub url: &'a str,
    /// Who must have signed its certificate, in PEM; the usual authorities where absent.
    pub ca: Option<&'a Path>,
    /// Our certificate and its key, in PEM.
    pub identity: Option<(&'a Path, &'a Path)>,
}

impl PostgresAddress<'_> {
    /// How it is reached, or what is wrong with the address, without its password. With certificates there is no way
    /// back: neither in clear, nor to whoever is there instead.
    pub fn options(&self) -> Result<PgConnectOptions, String> {
        let options = self.url.parse::<PgConnectOptions>();
        let malformed = |_| "the address of the database is malformed".to_owned();
        let options = options.map_err(malformed)?.application_name("tollgate");
        let mut options = options.disable_statement_logging();
        if let Some(ca) = self.ca {
            options = options.ssl_root_cert(ca);
        }
        if let Some((certificate, key)) = self.identity {
            options = options.ssl_client_cert(certificate).ssl_client_key(key);
        }
        if self.ca.is_none() && self.identity.is_none() {
            return Ok(options);
        }
        Ok(match options.get_ssl_mode() {
            PgSslMode::Disable => {
                return Err("sslmode=disable, and certificates are given".to_owned());
            }
            PgSslMode::Allow | PgSslMode::Prefer => options.ssl_mode(PgSslMode::VerifyFull),
            // As other clients read it: who is named is meant.
            PgSslMode::Require if self.ca.is_some() => options.ssl_mode(PgSslMode::VerifyCa),
            PgSslMode::Require | PgSslMode::VerifyCa | PgSslMode::VerifyFull => options,
        })
    }
}
