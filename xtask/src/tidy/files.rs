//! The files that tidy checks: tracked ones, and untracked ones that are not ignored.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

pub(crate) struct File {
    pub(crate) path: String,
    /// Size in bytes.
    pub(crate) size: usize,
    /// The content, unless it is binary.
    pub(crate) text: Option<String>,
}

impl File {
    pub(crate) fn rust(&self) -> Option<&str> {
        self.text.as_deref().filter(|_| self.has_extension("rs"))
    }

    pub(crate) fn markdown(&self) -> Option<&str> {
        self.text.as_deref().filter(|_| self.has_extension("md"))
    }

    fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path)
            .extension()
            .is_some_and(|found| found == extension)
    }

    #[cfg(test)]
    pub(crate) fn of(path: &str, text: &str) -> Self {
        Self {
            path: path.into(),
            size: text.len(),
            text: Some(text.into()),
        }
    }
}

/// Reads tracked files and those that are neither tracked nor ignored.
pub(crate) fn list(root: &Path) -> Result<Vec<File>> {
    let output = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(root)
        .output()
        .context("running git ls-files")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "tidy needs a git checkout: {errors}"
    );
    let names = String::from_utf8(output.stdout).context("file names are UTF-8")?;
    let mut files = Vec::new();
    for name in names.split_terminator('\0') {
        let full = root.join(name);
        // A tracked file may be deleted, and a link may point to a folder.
        if full.is_file() {
            let bytes = fs::read(&full).with_context(|| format!("reading {name}"))?;
            files.push(File {
                path: name.into(),
                size: bytes.len(),
                // Fuzz inputs are bytes, even if they look like text.
                text: text_of(bytes).filter(|_| !name.starts_with("fuzz/corpus/")),
            });
        }
    }
    Ok(files)
}

fn text_of(bytes: Vec<u8>) -> Option<String> {
    if bytes.contains(&0) {
        None
    } else {
        String::from_utf8(bytes).ok()
    }
}
