//! Authenticates values that this server issued: HMAC-SHA-256 under a key that all servers on one database share.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ring::hmac;
use subtle::ConstantTimeEq as _;
use tollgate_kit::base64;
use tollgate_serve::settings::KeyPlace;
use tollgate_sqlite::private;

use super::keyfile::{KeyError, SigningKey};
use crate::fault::Fault;

pub(crate) struct Seal {
    /// Read again at intervals; `None` for a key that lives as long as the process.
    file: Option<PathBuf>,
    key: Mutex<Option<(Instant, hmac::Key)>>,
}

impl Seal {
    /// Creates a missing file only if the path is the server's own default; an error in a file that
    /// was configured is returned.
    pub(crate) fn at(place: KeyPlace) -> Result<Self, String> {
        let file = match place {
            KeyPlace::Given(path) => {
                let failed =
                    |error| format!("the key of sessions and links, {}: {error}", path.display());
                SigningKey::read(&path).map_err(failed)?;
                Some(path)
            }
            KeyPlace::Own(path) => {
                if let Err(error) = own(&path) {
                    let path = path.display();
                    tracing::error!(%path, %error, "sessions and signed links have no key, so that nobody can sign in to the console");
                }
                Some(path)
            }
            KeyPlace::Memory => None,
        };
        Ok(Self {
            file,
            key: Mutex::default(),
        })
    }

    /// At most a second older than the file.
    fn key(&self) -> Result<hmac::Key, Fault> {
        let mut known = self.key.lock();
        if let Some((read, key)) = &*known
            && (self.file.is_none() || read.elapsed() < READ_EVERY)
        {
            return Ok(key.clone());
        }
        let failed = |error| Fault::unavailable(format!("the key of sessions and links: {error}"));
        let key = if let Some(path) = &self.file {
            let at = |error| failed(format!("{}: {error}", path.display()));
            SigningKey::read(path).map_err(at)?
        } else {
            tracing::warn!(
                "the key of sessions and signed links is kept nowhere: they end with this process, and no other server knows \
                 them; name a `key_file` in `catalogue`, or a `data_dir`"
            );
            SigningKey::draw().map_err(|error| failed(error.to_string()))?
        };
        let key = made(&key);
        *known = Some((Instant::now(), key.clone()));
        Ok(key)
    }

    pub(crate) fn sealed(&self, purpose: &str, words: &[u8]) -> Result<String, Fault> {
        let tag = hmac::sign(&self.key()?, &bound(purpose, words));
        let (words, tag) = (base64::encode(words), base64::encode(tag.as_ref()));
        Ok(format!("{words}.{tag}"))
    }

    /// `None` if the seal does not verify; compared in constant time.
    pub(crate) fn opened(&self, purpose: &str, text: &str) -> Result<Option<Vec<u8>>, Fault> {
        let key = self.key()?;
        let open = || {
            let (words, tag) = text.split_once('.')?;
            let words = base64::decode(words, WORDS_BYTES_MAX)?;
            let tag = base64::decode(tag, 32)?;
            hmac::verify(&key, &bound(purpose, &words), &tag).ok()?;
            Some(words)
        };
        Ok(open())
    }

    /// Identifies a secret, only to holders of the key.
    pub(crate) fn mark(&self, purpose: &str, secret: &str) -> Result<SealMark, Fault> {
        let tag = hmac::sign(&self.key()?, &bound(purpose, secret.as_bytes()));
        let mut mark = [0; MARK_BYTES];
        mark.iter_mut()
            .zip(tag.as_ref())
            .for_each(|(to, from)| *to = *from);
        Ok(SealMark(mark))
    }
}

/// See [`Seal::mark`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct SealMark(pub(crate) [u8; MARK_BYTES]);

impl PartialEq for SealMark {
    /// In constant time.
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for SealMark {}

/// Creates the server's own file if it is missing, and checks that it is usable.
fn own(path: &Path) -> Result<(), KeyError> {
    match SigningKey::draw()?.create(path) {
        Ok(()) => {
            let path = path.display();
            tracing::info!(%path, "made the key of sessions and signed links");
            Ok(())
        }
        // It exists: from an earlier start, or from another server on this database.
        Err(KeyError::File(error)) if error.kind() == io::ErrorKind::AlreadyExists => {
            narrow(path).map_err(KeyError::File)?;
            SigningKey::read(path).map(drop)
        }
        Err(error) => Err(error),
    }
}

/// Removes the group's permissions: orchestrators grant them on all files of a volume when they mount it. Permissions
/// of
/// all users stay, and the file is refused.
fn narrow(path: &Path) -> io::Result<()> {
    let everybody = std::fs::metadata(path)?.permissions().mode() & 0o007;
    if everybody == 0 {
        private::open(path)?;
    }
    Ok(())
}

fn made(key: &SigningKey) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, &key.0)
}

/// A value sealed for one purpose does not verify for another.
fn bound(purpose: &str, words: &[u8]) -> Vec<u8> {
    [purpose.as_bytes(), b"\0", words].concat()
}

const WORDS_BYTES_MAX: usize = 1 << 10;
pub(crate) const MARK_BYTES: usize = 16;
/// How often the file is read.
const READ_EVERY: Duration = Duration::from_secs(1);
