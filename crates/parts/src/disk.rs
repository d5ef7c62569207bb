//! A small disk: a tmpfs of its own that a test can fill, empty, and make read-only.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::process::output;

/// A tmpfs, unmounted when dropped.
pub struct SmallDisk(TempDir);

impl SmallDisk {
    /// A disk of so many KiB. It needs the right to mount: that of root, or of a user namespace with mounts of its own.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    fn ballast(&self) -> PathBuf {
        self.path().join("ballast")
    }

    /// Takes all the room that is left: the next write fails with ENOSPC.
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

    /// Gives the room back.
    pub fn free(&self) {
        std::fs::remove_file(self.ballast()).expect("the room that was taken");
    }

    /// From now on no file can be opened for writing (EROFS); files that are open stay so.
    pub fn freeze(&self) {
        let mut mount = Command::new("mount");
        mount.args(["--bind", "-o", "ro"]).arg(self.path());
        output(mount.arg(self.path())).expect("a read-only mount");
    }

    /// Ends that.
    pub fn thaw(&self) {
        unmount(self.path()).expect("a read-only mount to end");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // As often as it was frozen, and once more; a process that is still there keeps what is open.
        while unmount(self.path()).is_ok() {}
    }
}

fn unmount(path: &Path) -> Result<String, String> {
    output(Command::new("umount").arg("--lazy").arg(path))
}
