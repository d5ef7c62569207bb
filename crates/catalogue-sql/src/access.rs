//! Tokens and roles.
//!
//! A secret is stored only as SHA-256; it has 256 random bits, so a slow hash is not needed. Not here: listeners.

use ring::digest::{SHA256, digest};
use serde::Serialize;

use crate::connection::{SqlRow, SqlValue};
use crate::database::{Database, now_ns};
use crate::error::Error;
use crate::shapes::hex;

/// Ordered: each role includes the rights of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads.
    Viewer,
    /// Acts on keys.
    Operator,
    /// Changes everything.
    Admin,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Viewer, Self::Operator, Self::Admin];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// A token, without its secret. Times are nanoseconds since the UNIX epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AdminToken {
    /// Never reused.
    pub id: String,
    pub name: String,
    pub role: Role,
    pub created_ns: u64,
    /// `None` does not expire.
    pub expires_ns: Option<u64>,
    pub revoked_ns: Option<u64>,
    /// Last use, to about a minute.
    pub used_ns: Option<u64>,
    /// See [`digest_of`]; must not be shown.
    #[serde(skip)]
    pub digest: String,
}

impl AdminToken {
    /// Neither expired nor revoked.
    pub fn is_valid(&self, now_ns: u64) -> bool {
        self.revoked_ns.is_none() && self.expires_ns.is_none_or(|expires| now_ns < expires)
    }
}

/// A new token; its secret is shown once and not stored.
#[derive(Clone)]
pub struct NewToken {
    pub token: AdminToken,
    /// What to send as `Authorization: Bearer`.
    pub secret: String,
}

impl core::fmt::Debug for NewToken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("NewToken")
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

impl Database {
    /// `secret` is preset, at least 16 bytes; `None` draws a random one.
    pub async fn add_token(
        &self,
        name: &str,
        role: Role,
        expires_ns: Option<u64>,
        secret: Option<String>,
    ) -> Result<NewToken, Error> {
        const ADD: &str = "
            INSERT INTO catalogue_token (id, name, role, digest, created_ns, expires_ns) VALUES ($1, $2, $3, $4, $5, $6)
                ON CONFLICT (digest) DO NOTHING";
        check_words(name, secret.as_deref())?;
        let secret = match secret {
            Some(secret) => secret,
            None => format!("tg_{}", chance(32)?),
        };
        let token = AdminToken {
            id: chance(8)?,
            name: name.to_owned(),
            role,
            created_ns: now_ns(),
            expires_ns,
            revoked_ns: None,
            used_ns: None,
            digest: digest_of(&secret),
        };
        let values = vec![
            token.id.as_str().into(),
            token.name.as_str().into(),
            role.name().into(),
            token.digest.as_str().into(),
            token.created_ns.into(),
            expires_ns.into(),
        ];
        if self.execute(ADD, values).await? == 0 {
            return Err(Error::wrong("there is already a token with this secret"));
        }
        Ok(NewToken { token, secret })
    }

    /// Also returns tokens that are expired or revoked.
    pub async fn token(&self, secret: &str) -> Result<Option<AdminToken>, Error> {
        const OF: &str = "
            SELECT id, name, role, created_ns, expires_ns, revoked_ns, used_ns, digest
                FROM catalogue_token WHERE digest = $1";
        let tokens = self.tokens_by(OF, vec![digest_of(secret).into()]).await?;
        Ok(tokens.into_iter().next())
    }

    /// All tokens, oldest first; at most a thousand.
    pub async fn tokens(&self) -> Result<Vec<AdminToken>, Error> {
        const ALL: &str = "
            SELECT id, name, role, created_ns, expires_ns, revoked_ns, used_ns, digest
                FROM catalogue_token ORDER BY created_ns, id LIMIT 1000";
        self.tokens_by(ALL, Vec::new()).await
    }

    /// At most ten thousand, newest first.
    pub async fn valid_tokens(&self) -> Result<Vec<AdminToken>, Error> {
        const VALID: &str = "
            SELECT id, name, role, created_ns, expires_ns, revoked_ns, used_ns, digest
                FROM catalogue_token WHERE revoked_ns IS NULL AND (expires_ns IS NULL OR expires_ns > $1)
                ORDER BY created_ns DESC, id LIMIT $2";
        self.tokens_by(VALID, vec![now_ns().into(), VALID_MAX.into()])
            .await
    }

    /// Returns whether it was valid before.
    pub async fn revoke_token(&self, id: &str) -> Result<bool, Error> {
        const REVOKE: &str = "
            UPDATE catalogue_token SET revoked_ns = $2 WHERE id = $1 AND revoked_ns IS NULL";
        Ok(self
            .execute(REVOKE, vec![id.into(), now_ns().into()])
            .await?
            > 0)
    }

    /// Stores the time of use. Call it rarely.
    pub async fn touch_token(&self, id: &str) -> Result<(), Error> {
        const TOUCH: &str = "
            UPDATE catalogue_token SET used_ns = $2 WHERE id = $1 AND (used_ns IS NULL OR used_ns < $3)";
        let now = now_ns();
        let values = vec![id.into(), now.into(), now.saturating_sub(MINUTE_NS).into()];
        self.execute(TOUCH, values).await?;
        Ok(())
    }

    async fn execute(&self, statement: &'static str, values: Vec<SqlValue>) -> Result<u64, Error> {
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let count = taken.execute(statement, values).await?;
            taken.done();
            Ok(count)
        })
        .await
    }

    async fn tokens_by(
        &self,
        statement: &'static str,
        values: Vec<SqlValue>,
    ) -> Result<Vec<AdminToken>, Error> {
        self.in_time(async {
            let mut taken = self.pool.take().await?;
            let rows = taken.rows(statement, values).await?;
            taken.done();
            rows.iter().map(token).collect()
        })
        .await
    }
}

fn token(row: &SqlRow) -> Result<AdminToken, Error> {
    let role = row.text(2)?;
    let role = Role::from_name(&role).ok_or_else(|| Error::Broken(format!("no role `{role}`")))?;
    Ok(AdminToken {
        id: row.text(0)?,
        name: row.text(1)?,
        role,
        created_ns: row.number(3)?,
        expires_ns: row.number_if_any(4)?,
        revoked_ns: row.number_if_any(5)?,
        used_ns: row.number_if_any(6)?,
        digest: row.text(7)?,
    })
}

fn check_words(name: &str, secret: Option<&str>) -> Result<(), Error> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(Error::wrong(
            "a token's name has 1 to 256 bytes and no control character",
        ));
    }
    if secret.is_some_and(|secret| secret.len() < SECRET_BYTES_MIN) {
        return Err(Error::wrong("a secret has at least 16 bytes"));
    }
    Ok(())
}

/// SHA-256 in hexadecimal.
pub fn digest_of(secret: &str) -> String {
    hex(digest(&SHA256, secret.as_bytes()).as_ref())
}

fn chance(bytes: usize) -> Result<String, Error> {
    let mut drawn = vec![0; bytes];
    getrandom::fill(&mut drawn).map_err(|why| Error::Away(why.to_string()))?;
    Ok(hex(&drawn))
}

const NAME_BYTES_MAX: usize = 256;
const SECRET_BYTES_MIN: usize = 16;
/// Bound of [`Database::valid_tokens`].
const VALID_MAX: u64 = 10_000;
const MINUTE_NS: u64 = 60_000_000_000;
