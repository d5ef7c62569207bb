//! The file of the key by which sessions and signed links are sealed.
//!
//! It is text that only its owner may read, so that a reader of the database, or another user of the machine, can forge
//! neither:
//!
//! ```text
//! # comments and empty lines are skipped
//! key: <base64 of 32 bytes>
//! ```
//!
//! All servers on one database have the same file. Another key ends all sessions and links. Not here: sealing (`seal`).

use core::fmt;
use std::io;
use std::path::Path;

use tollgate_kit::base64;
use tollgate_sqlite::private;

pub struct SigningKey(pub(super) [u8; KEY_BYTES]);

/// Why a key file cannot be used. No variant holds a key.
#[derive(Debug)]
pub enum KeyError {
    File(io::Error),
    /// Its mode, which lets others than its owner read or write it.
    Open(u32),
    /// It has no line `key: …` of 32 bytes in base64, or more than one.
    Malformed,
    /// The system gives no randomness.
    Random,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Open(mode) => write!(
                f,
                "mode {mode:o} lets other users of this machine read it; make it 600, and another key where they may have: \
                 `tollgate config key rotate FILE`"
            ),
            Self::Malformed => f.write_str(
                "expected one line `key: …` with 32 bytes in base64; `tollgate config key new FILE` writes such a file",
            ),
            Self::Random => f.write_str("the system gives no randomness"),
        }
    }
}

impl core::error::Error for KeyError {}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

impl SigningKey {
    pub fn draw() -> Result<Self, KeyError> {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).map_err(|_| KeyError::Random)?;
        Ok(Self(key))
    }

    /// Refuses a file that others than its owner and its group may read.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let text = private::read(path, FILE_BYTES_MAX).map_err(KeyError::File)?;
        let text = text.map_err(KeyError::Open)?;
        let lines = text.lines().map(str::trim);
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let key = match (lines.next(), lines.next()) {
            (Some(line), None) => line.strip_prefix("key:"),
            _ => None,
        };
        let bytes = key.and_then(|key| base64::decode(key.trim(), KEY_BYTES));
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(KeyError::Malformed)
    }

    /// Fails if the file exists.
    pub fn create(&self, path: &Path) -> Result<(), KeyError> {
        private::create(path, self.text().as_bytes()).map_err(KeyError::File)
    }

    /// Replaces an existing file.
    pub fn replace(&self, path: &Path) -> Result<(), KeyError> {
        private::replace(path, self.text().as_bytes()).map_err(KeyError::File)
    }

    fn text(&self) -> String {
        format!("{COMMENT}\nkey: {}\n", base64::encode(&self.0))
    }
}

const COMMENT: &str = "# Seals the sessions and signed links of a Tollgate console. Whoever has it can sign in as an administrator.";
pub(super) const KEY_BYTES: usize = 32;
/// Bound on the size of a key file.
const FILE_BYTES_MAX: u64 = 4096;

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn what_is_written_is_read_by_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let (key, other) = (SigningKey::draw().unwrap(), SigningKey::draw().unwrap());
        key.create(&path).unwrap();
        assert_eq!(SigningKey::read(&path).unwrap().0, key.0);
        assert!(matches!(other.create(&path), Err(KeyError::File(_))));
        other.replace(&path).unwrap();
        assert_eq!(SigningKey::read(&path).unwrap().0, other.0);
        set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(
            SigningKey::read(&path),
            Err(KeyError::Open(0o644))
        ));
        for text in ["", "key: short\n", "key: a\nkey: b\n", "secret: x\n"] {
            private::replace(&path, text.as_bytes()).unwrap();
            assert!(
                matches!(SigningKey::read(&path), Err(KeyError::Malformed)),
                "{text}"
            );
        }
    }
}
