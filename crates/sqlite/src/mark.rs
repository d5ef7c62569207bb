//! Distinguishes files that had the same name.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Identifies a file regardless of its name. Inode numbers are reused; the birth time distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileMark {
    device: u64,
    inode: u64,
    born: Option<SystemTime>,
}

impl FileMark {
    pub(crate) fn of(path: &Path) -> io::Result<Option<Self>> {
        let mark = |metadata: Metadata| Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            born: metadata.created().ok(),
        };
        match std::fs::metadata(path) {
            Ok(metadata) => Ok(Some(mark(metadata))),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// A database, and the two files beside it, as far as they exist.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub(crate) database: Option<FileMark>,
    beside: [Option<FileMark>; 2],
}

impl Marks {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let [log, index] = beside(path);
        Ok(Self {
            database: FileMark::of(path)?,
            beside: [FileMark::of(&log)?, FileMark::of(&index)?],
        })
    }

    /// Whether the files that existed still exist.
    pub(crate) fn are_in(&self, now: &Self) -> bool {
        let mut both = self.beside.iter().zip(&now.beside);
        self.database == now.database && both.all(|(was, is)| was.is_none() || was == is)
    }

    /// Removes the side files of the old database: they would corrupt a new one.
    pub(crate) fn remove_beside(&self, path: &Path) -> io::Result<()> {
        for (file, mark) in beside(path).iter().zip(self.beside) {
            if mark.is_some() && FileMark::of(file)? == mark {
                std::fs::remove_file(file)?;
            }
        }
        Ok(())
    }
}

pub(crate) fn beside(path: &Path) -> [PathBuf; 2] {
    ["-wal", "-shm"].map(|suffix| named(path, suffix))
}

pub(crate) fn named(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
