//! Why a server has no catalogue, in words that say what to do.

use std::fmt;

use tollgate_catalogue_sql::Error;

use crate::settings::CataloguePlace;
use crate::source::SourceError;

/// Why there is no catalogue.
#[derive(Debug)]
pub enum CatalogueError {
    /// The database cannot be used.
    Database {
        /// Which one.
        place: CataloguePlace,
        /// Why.
        error: Error,
    },
    /// The contract file that was to be imported cannot be used.
    Import(SourceError),
    /// The system gives no threads.
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
