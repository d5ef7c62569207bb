//! A door that is not one of the server's own, as that of a gateway.
//!
//! It asks the engine as the others do. The server shows what it counts, and takes no contracts that it cannot keep.
//! Not here: any such door. Whoever puts a server together sets one up, as it knows the server and not the other way
//! round.

mod delays;
mod view;

use std::path::Path;

use tollgate_contract::Contracts;

use crate::meter::Exposition;

pub use delays::{Delays, DelaysView};
pub use view::GatewayView;

/// A door beside those of the server.
pub trait Annex: Send + Sync {
    /// Whether it can keep these contracts; if not, why, and then those in force stay.
    fn check(&self, contracts: &Contracts) -> Result<(), String>;

    /// Reads certificates and the like again. What cannot be used changes nothing, and the text says why.
    fn reload(&self) -> Result<(), String>;

    /// A file of its own that is read again when it changes, where it has one.
    fn watched(&self) -> Option<&Path> {
        None
    }

    /// That file has changed. One that cannot be used changes nothing, and the text says why.
    fn changed(&self) -> Result<(), String> {
        Ok(())
    }

    /// Adds what it counts, for Prometheus.
    fn render(&self, text: &mut Exposition);

    /// How it stands, as `/v1/gateway` shows it.
    fn view(&self) -> GatewayView;
}
