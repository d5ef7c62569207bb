//! A small disk: a private tmpfs that a test can fill, empty, and make read-only.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::process::output;

/// A tmpfs, unmounted when dropped.
pub struct SmallDisk(TempDir);

impl SmallDisk {
    /// Needs the right to mount: as root, or in a user namespace with its own mounts.
    pub fn of(kib: u32) -> Self {
        let folder = TempDir::new().expect("a folder");
        let size = format!("size={kib}k,mode=755");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tollgate-test"]);
        if let Err(why) = output(mount.arg(folder.path())) {
            panic!(
                "this test needs a tmpfs, and none can be mounted ({why}): run it as root, or by \
                 `unshare --user --map-root-user --mount cargo test …`"
            );
        }
        Self(folder)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Uses all free space: the next write fails with ENOSPC.
    pub fn fill(&self) {
        let mut options = OpenOptions::new();
        let mut file = options
            .create(true)
            .append(true)
            .open(self.ballast())
            .expect("a file on the disk");
        loop {
            match file.write(&[0; 4096]) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Frees the space used by [`Self::fill`].
    pub fn free(&self) {
        std::fs::remove_file(self.ballast()).expect("the room that was taken");
    }

    /// From now on no file can be opened for writing (EROFS); open files stay writable.
    pub fn freeze(&self) {
        let mut mount = Command::new("mount");
        mount.args(["--bind", "-o", "ro"]).arg(self.path());
        output(mount.arg(self.path())).expect("a read-only mount");
    }

    /// Undoes [`Self::freeze`].
    pub fn thaw(&self) {
        unmount(self.path()).expect("a read-only mount to end");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Once per freeze, and once more; a running process keeps its open files.
        while unmount(self.path()).is_ok() {}
    }
}

fn unmount(path: &Path) -> Result<String, String> {
    output(Command::new("umount").arg("--lazy").arg(path))
}
