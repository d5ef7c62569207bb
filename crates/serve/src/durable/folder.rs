//! The data directory: made where there is none, readable by nobody else, and held by one process at a time.
//!
//! The lock is the system's own, so that it is gone when its holder is, however it went.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::StoreError;

/// A data directory that is ours while this lives.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Holds the lock.
    _lock: File,
}

impl Folder {
    /// Makes the directory where there is none, and takes it.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        let failed = |error| StoreError::File(path.into(), error);
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(path).map_err(failed)?;
        let lock = lock(path)?;
        let folder = Self {
            path: path.into(),
            _lock: lock,
        };
        make_private(&folder.database())?;
        Ok(folder)
    }

    /// Where the database is.
    pub(super) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }
}

/// Makes a file that only its owner may read, before anything secret is in it.
fn make_private(file: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::File(file.into(), error);
    let opened = private(file).map_err(failed)?;
    let permissions = opened.metadata().map_err(failed)?.permissions();
    if permissions.mode() & 0o077 != 0 {
        let mode = std::fs::Permissions::from_mode(0o600);
        opened.set_permissions(mode).map_err(failed)?;
    }
    Ok(())
}

fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK);
    let failed = |error| StoreError::File(path.clone(), error);
    let mut file = private(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(StoreError::Taken {
                folder: folder.into(),
                holder: holder(&mut file),
            });
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    file.set_len(0).map_err(failed)?;
    writeln!(file, "process {}", std::process::id()).map_err(failed)?;
    Ok(file)
}

/// What the holder wrote, as far as it makes sense.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(HOLDER_MAX).read_to_string(&mut text);
    let text = text.trim();
    if read.is_err() || text.is_empty() {
        return "another process".into();
    }
    text.into()
}

fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).open(path)
}

/// The database, in the data directory.
pub(super) const DATABASE: &str = "tollgate.db";
const LOCK: &str = "lock";
/// Bytes of a lock file that are looked at.
const HOLDER_MAX: u64 = 64;
