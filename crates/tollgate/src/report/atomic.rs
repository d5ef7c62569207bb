//! Files that are there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file next to its place and moves it there: whoever looks sees the old one or the new one, never a part.
///
/// What is no plain file, such as a pipe or a device, is written to directly.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    // A link stays a link; what it points to is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return OpenOptions::new()
            .write(true)
            .open(&path)?
            .write_all(content);
    }
    let (beside, mut file) = create_beside(&path)?;
    let moved = file
        .write_all(content)
        .and_then(|()| old.map_or(Ok(()), |old| file.set_permissions(old.permissions())))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&beside, &path));
    if moved.is_err() {
        // The error that matters is the first one.
        let _ = fs::remove_file(&beside);
    }
    moved
}

fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    const TRIES: u32 = 100;
    let name = path
        .file_name()
        .ok_or(io::ErrorKind::InvalidFilename)?
        .to_string_lossy();
    let mut result = Err(io::ErrorKind::AlreadyExists.into());
    for number in 0..TRIES {
        let beside = path.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
        result = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&beside)
            .map(|file| (beside, file));
        if !result
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists)
        {
            break;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("tollgate-atomic-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = folder("replace");
        let path = folder.join("report.html");
        write_whole(&path, b"old").unwrap();
        write_whole(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_failure_leaves_the_folder_as_it_was() {
        let folder = folder("failure");
        let path = folder.join("taken");
        fs::create_dir(&path).unwrap();
        assert!(write_whole(&path, b"new").is_err());
        assert!(write_whole(&folder.join("missing/report.html"), b"new").is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }
}
