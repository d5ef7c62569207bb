//! Files for their owner alone (mode 600), from before data is written.
//!
//! `SQLite` gives its log and its shared memory the mode of the database, so a file that is private when
//! opened stays so.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Opens a file to read and write, and creates it if missing.
///
/// One with a wider mode, as earlier versions left it, is made private, which is logged.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.mode(OWNER).open(path)?;
    narrow(path)?;
    Ok(file)
}

/// Removes a wider mode, by path: closing a file descriptor of `SQLite` would drop the locks of this process.
pub(crate) fn narrow(path: &Path) -> io::Result<()> {
    let mode = match fs::metadata(path) {
        Ok(found) => found.permissions().mode() & 0o777,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if mode & !OWNER == 0 {
        return Ok(());
    }
    match fs::set_permissions(path, Permissions::from_mode(mode & OWNER)) {
        // A read-only file can still be used.
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
        Err(error) => {
            let path = path.display();
            let what = format!(
                "{path} has mode {mode:o}, which lets others use it, and cannot be made private: {error}"
            );
            return Err(io::Error::new(error.kind(), what));
        }
        Ok(()) => tracing::warn!(
            path = %path.display(),
            was = format_args!("{mode:o}"),
            is = format_args!("{:o}", mode & OWNER),
            "other users of this machine could use this file; its mode is changed. Who had it open still has"
        ),
    }
    Ok(())
}

/// The text of a file, at most `most` bytes. The error is its mode, if others than its owner and its group may read it,
/// or the group may write it: orchestrators give secrets to an unprivileged process by a group.
pub fn read(path: &Path, most: u64) -> io::Result<Result<String, u32>> {
    let file = File::open(path)?;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    if mode & 0o037 != 0 {
        return Ok(Err(mode));
    }
    let mut text = String::new();
    file.take(most).read_to_string(&mut text)?;
    Ok(Ok(text))
}

/// Atomic.
pub fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let fresh = written(beside(path, ".new"), text)?;
    fs::rename(&fresh, path)?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    // The name is durable only after its folder is synced.
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Atomic; fails if the file exists.
pub fn create(path: &Path, text: &[u8]) -> io::Result<()> {
    // Of several concurrent processes one succeeds; each writes its own temporary file.
    let fresh = beside(path, &format!(".new-{}", std::process::id()));
    let fresh = written(fresh, text)?;
    // Unlike a new name, a second name never replaces another file.
    let made = fs::hard_link(&fresh, path);
    fs::remove_file(&fresh)?;
    made
}

fn written(path: PathBuf, text: &[u8]) -> io::Result<PathBuf> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(OWNER);
    let mut file = options.open(&path)?;
    file.write_all(text)?;
    file.sync_all()?;
    Ok(path)
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}

/// Read and write for the owner only.
const OWNER: u32 = 0o600;

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_wider_mode_is_taken_back_and_a_narrower_one_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        open(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
        let log = folder.path().join("a.db-wal");
        fs::write(&log, "").unwrap();
        for (path, wide) in [(&path, 0o644), (&path, 0o660), (&log, 0o666)] {
            fs::set_permissions(path, Permissions::from_mode(wide)).unwrap();
            narrow(path).unwrap();
            assert_eq!(mode(path), 0o600, "{wide:o}");
        }
    }

    #[test]
    fn a_file_is_made_once_and_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        create(&path, b"one").unwrap();
        let again = create(&path, b"two").unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        replace(&path, b"three").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), mode(&path)),
            (b"three".to_vec(), 0o600)
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
