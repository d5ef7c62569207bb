//! How databases are opened.
//!
//! Not here: timeouts of statements, which the callers set.

use std::path::Path;
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

/// With a write-ahead log. `is_synced`: commits are on the disk when they return, otherwise only in the
/// operating system. `busy`: how long to wait for locks.
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

/// Address and TLS settings of a `PostgreSQL` database.
#[derive(Clone, Copy, Debug)]
pub struct PostgresAddress<'a> {
    /// `postgres://user:password@host/database?sslmode=verify-full`; must not be logged.
    pub url: &'a str,
    /// Certificate authorities in PEM; `None` for the usual ones.
    pub ca: Option<&'a Path>,
    /// Client certificate and key, in PEM.
    pub identity: Option<(&'a Path, &'a Path)>,
}

impl PostgresAddress<'_> {
    /// The error about the address does not contain the password. With certificates there is no
    /// fallback: neither to plain TCP, nor to a server with another name.
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
            // Like other clients: with a CA, the host name is verified.
            PgSslMode::Require if self.ca.is_some() => options.ssl_mode(PgSslMode::VerifyCa),
            PgSslMode::Require | PgSslMode::VerifyCa | PgSslMode::VerifyFull => options,
        })
    }
}
