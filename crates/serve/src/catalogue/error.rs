//! Why a server has no catalogue, in words that say what to do.

use std::fmt;

use tollgate_catalogue_sql::Error;

use crate::settings::CataloguePlace;
use crate::source::SourceError;

#[derive(Debug)]
pub enum CatalogueError {
    /// The database cannot be used.
    Database {
        place: CataloguePlace,
        error: Error,
    },
    /// The contract file to import is invalid.
    Import(SourceError),
    Thread(std::io::Error),
}

impl fmt::Display for CatalogueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database { place, error } => write!(
                f,
                "the catalogue {place} cannot be used: {error}; see that it is there and may be written, or serve a \
                 contract file instead of a catalogue"
            ),
            Self::Import(error) => error.fmt(f),
            Self::Thread(error) => write!(f, "no thread for the catalogue: {error}"),
        }
    }
}

impl std::error::Error for CatalogueError {}
