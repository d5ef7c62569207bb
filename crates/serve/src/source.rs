//! Reads contracts from where the settings say they are.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tollgate_contract::{ContractErrors, Contracts, TEXT_BYTES_MAX, decode, envoy};

use crate::settings::ContractSource;

#[derive(Debug)]
pub enum SourceError {
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The text is wrong: every error with its place, ready to be shown.
    Wrong(String),
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, error } => {
                write!(f, "cannot read {}: {error}", path.display())
            }
            Self::Wrong(text) => f.write_str(text.trim_end()),
        }
    }
}

impl std::error::Error for SourceError {}

impl ContractSource {
    /// The file that is read, if there is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::None | Self::Text(_) | Self::Xds(_) => None,
            Self::File(path) | Self::Within(path) => Some(path),
        }
    }

    pub fn read(&self) -> Result<Contracts, SourceError> {
        let (name, parsed) = match self {
            Self::None => return Ok(Contracts::default()),
            // They come later.
            Self::Xds(source) => {
                source.parts().map_err(SourceError::Wrong)?;
                return Ok(Contracts::default());
            }
            Self::Text(text) => ("contracts".to_owned(), Contracts::parse_any(text)),
            Self::File(path) if path.is_dir() => (shown(path), folder(path)?),
            Self::File(path) => (shown(path), Contracts::parse_any_bytes(&read(path)?)),
            Self::Within(path) => {
                let bytes = read(path)?;
                (
                    shown(path),
                    decode(&bytes).and_then(Contracts::parse_within),
                )
            }
        };
        parsed.map_err(|errors| SourceError::Wrong(errors.render(&name)))
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The rules of all descriptor files in a folder, together.
fn folder(path: &Path) -> Result<Result<Contracts, ContractErrors>, SourceError> {
    let unreadable = |error| SourceError::Unreadable {
        path: path.to_owned(),
        error,
    };
    let mut files = Vec::new();
    for file in files_of(path).map_err(unreadable)? {
        let bytes = read(&file)?;
        let name = shown(&file);
        let text = decode(&bytes).map_err(|errors| SourceError::Wrong(errors.render(&name)))?;
        files.push((name, text.to_owned()));
    }
    if files.is_empty() {
        let what =
            "there is no descriptor file in the folder; their names end in .yaml, .yml or .json";
        return Err(SourceError::Wrong(format!("{}: {what}", path.display())));
    }
    Ok(envoy::parse_files(&files).map(Contracts::from))
}

/// The descriptor files of a folder, by name; those whose names begin with a dot are ignored.
pub(crate) fn files_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let end = path.extension().and_then(|end| end.to_str());
        if !name.starts_with(b".") && matches!(end, Some("yaml" | "yml" | "json")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// A file's bytes, up to one more than a contract file may have.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    let limit = TEXT_BYTES_MAX as u64 + 1;
    std::fs::File::open(path)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(|error| SourceError::Unreadable {
            path: path.to_owned(),
            error,
        })?;
    Ok(bytes)
}
