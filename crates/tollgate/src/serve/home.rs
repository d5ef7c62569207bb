//! The data folder of a server without settings, and its first sample.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The platform's folder for data of this user.
pub(super) fn folder(variable: impl Fn(&str) -> Option<String>) -> Result<PathBuf, Failure> {
    let absolute = |name| {
        variable(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let home = || absolute("HOME");
    let data = if cfg!(target_os = "macos") {
        home().map(|home| home.join("Library/Application Support"))
    } else {
        absolute("XDG_DATA_HOME").or_else(|| home().map(|home| home.join(".local/share")))
    };
    data.map(|data| data.join("tollgate")).ok_or_else(|| {
        Failure::usage(
            "error: neither XDG_DATA_HOME nor HOME is set; say where data goes: --data-dir FOLDER",
        )
    })
}

/// Private to its owner.
pub(super) fn make(folder: &Path) -> Result<(), Failure> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder
        .create(folder)
        .map_err(|error| Failure::file(folder, &error))
}

/// The contract file of the folder, written if missing; an existing one stays.
pub(super) fn contracts(folder: &Path) -> Result<PathBuf, Failure> {
    let path = folder.join("contracts.yaml");
    let created = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path);
    match created {
        Ok(mut file) => {
            let written = file.write_all(SAMPLE.as_bytes());
            written.map_err(|error| Failure::file(&path, &error))?;
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(Failure::file(&path, &error)),
    }
    Ok(path)
}

/// Contracts that answer the examples the server prints.
pub(super) const SAMPLE: &str = include_str!("sample.yaml");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_follows_the_platform() {
        let of = |pairs: &'static [(&str, &str)]| {
            folder(move |name| {
                let pair = pairs.iter().find(|(key, _)| *key == name);
                pair.map(|(_, value)| (*value).to_owned())
            })
        };
        if !cfg!(target_os = "macos") {
            let found = of(&[("HOME", "/users/a"), ("XDG_DATA_HOME", "/data")]).unwrap();
            assert_eq!(found, Path::new("/data/tollgate"));
            let found = of(&[("HOME", "/users/a"), ("XDG_DATA_HOME", "not-absolute")]).unwrap();
            assert_eq!(found, Path::new("/users/a/.local/share/tollgate"));
        }
        assert!(of(&[]).unwrap_err().to_string().contains("--data-dir"));
    }

    #[test]
    fn the_sample_is_good_and_never_overwrites() {
        tollgate_contract::Contracts::parse(SAMPLE).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = contracts(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), SAMPLE);
        fs::write(&path, "mine").unwrap();
        contracts(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}
