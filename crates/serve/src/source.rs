//! Reading contracts from where the settings say they are.

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tollgate_contract::{Contracts, TEXT_BYTES_MAX, decode};

use crate::settings::ContractSource;

/// Why there are no contracts.
#[derive(Debug)]
pub enum SourceError {
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The text is wrong: every mistake with its place, ready to be shown.
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
    /// The file that is read, where there is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::None | Self::Text(_) | Self::Xds(_) => None,
            Self::File(path) | Self::Within(path) => Some(path),
        }
    }

    /// Reads the contracts as they are there now.
    pub fn read(&self) -> Result<Contracts, SourceError> {
        let (name, parsed) = match self {
            Self::None => return Ok(Contracts::default()),
            // They come later.
            Self::Xds(source) => {
                source.parts().map_err(SourceError::Wrong)?;
                return Ok(Contracts::default());
            }
            Self::Text(text) => ("contracts".to_owned(), Contracts::parse_any(text)),
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

/// A file's bytes, but no more than one beyond what a contract file may have.
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
