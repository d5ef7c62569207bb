//! The data directory: created if missing, private, and locked by one process at a time.
//!
//! The system's lock ends with its process, however that ends. The holder of a database lease is recorded beside it:
//! the next process with the lock knows that this holder has ended.

use std::fs::{DirBuilder, File, Metadata, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use tollgate_sqlite::private;

use super::StoreError;

/// A data directory that stays locked until this is dropped.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Holds the lock.
    lock: File,
}

impl Folder {
    /// Creates the directory if missing, and locks it.
    pub fn take(path: &Path) -> Result<Self, StoreError> {
        let failed = |error| StoreError::File(path.into(), error);
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(path).map_err(failed)?;
        warn_of_company(path).map_err(failed)?;
        let lock = lock(path)?;
        Ok(Self {
            path: path.into(),
            lock,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// Creates and locks the directory or its lock file again if removed, unless another process has it now.
    pub(super) fn hold(&mut self) -> Result<(), StoreError> {
        let path = self.path.join(LOCK);
        let number = |found: Metadata| (found.dev(), found.ino());
        let ours = self.lock.metadata().map(number);
        let ours = ours.map_err(|error| StoreError::File(path.clone(), error))?;
        if std::fs::metadata(&path).map(number).ok() != Some(ours) {
            let mut again = Self::take(&self.path)?;
            std::mem::swap(&mut self.lock, &mut again.lock);
        }
        Ok(())
    }

    /// The former lease holder that used this directory and therefore has ended; `None` if the directory is a copy or
    /// the machine was restarted.
    pub(super) fn holder(&self) -> Option<i64> {
        let text = std::fs::read_to_string(self.path.join(SEAT)).ok()?;
        let (holder, place) = text.trim().split_once(' ')?;
        let holder = holder.parse().ok()?;
        (place == self.place()?).then_some(holder)
    }

    /// Records the lease holder that uses this directory.
    pub(super) fn set_holder(&self, holder: i64) -> Result<(), StoreError> {
        let path = self.path.join(SEAT);
        let place = self.place().unwrap_or_default();
        let written = private::open(&path).and_then(|mut file| {
            file.set_len(0)?;
            writeln!(file, "{holder} {place}")
        });
        written.map_err(|error| StoreError::File(path, error))
    }

    /// Identifies the directory on this boot of the machine; a copy differs.
    fn place(&self) -> Option<String> {
        let start = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let file = self.lock.metadata().ok()?;
        Some(format!("{} {} {}", start.trim(), file.dev(), file.ino()))
    }
}

impl Drop for Folder {
    /// Closing is not enough: a process that another thread is starting has a copy of the descriptor until its `exec`.
    fn drop(&mut self) {
        // If this fails, closing must do.
        let _ = self.lock.unlock();
    }
}

/// Files here are private, but any user who can write to their folder can replace them. Group access is deliberate, as
/// volumes have it.
fn warn_of_company(folder: &Path) -> io::Result<()> {
    let mode = std::fs::metadata(folder)?.mode() & 0o1777;
    let is_sticky = mode & 0o1000 != 0;
    if mode & 0o002 != 0 && !is_sticky {
        let folder = folder.display();
        tracing::warn!(
            %folder,
            mode = format_args!("{mode:o}"),
            "every user of this machine can replace files of the data directory; `chmod o-w` it"
        );
    }
    Ok(())
}

fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK);
    let failed = |error| StoreError::File(path.clone(), error);
    let mut file = private::open(&path).map_err(failed)?;
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

/// What the holder wrote, as far as it is readable.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(HOLDER_MAX).read_to_string(&mut text);
    let text = text.trim();
    if read.is_err() || text.is_empty() {
        return "another process".into();
    }
    text.into()
}

pub(super) const DATABASE: &str = "tollgate.db";
const LOCK: &str = "lock";
const SEAT: &str = "seat";
/// Bytes read from a lock file.
const HOLDER_MAX: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_known_to_be_gone_in_its_own_directory_and_in_no_copy() {
        let (first, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = Folder::take(first.path()).unwrap();
        assert_eq!(folder.holder(), None);
        folder.set_holder(-7).unwrap();
        let inherited = folder.lock.try_clone().unwrap();
        drop(folder);
        assert_eq!(Folder::take(first.path()).unwrap().holder(), Some(-7));
        drop(inherited);
        std::fs::copy(first.path().join(SEAT), copy.path().join(SEAT)).unwrap();
        assert_eq!(Folder::take(copy.path()).unwrap().holder(), None);
        std::fs::write(first.path().join(SEAT), "7").unwrap();
        assert_eq!(Folder::take(first.path()).unwrap().holder(), None);
    }
}
