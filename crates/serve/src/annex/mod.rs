//! A listener from outside this crate, such as a gateway.
//!
//! It asks the engine as the others do. The server shows its counts, and rejects contracts that it cannot enforce. Not
//! here: any such listener; the crate that builds a server sets one up, so that the server does not depend on it.

mod delays;
mod view;

use std::path::Path;

use tollgate_contract::Contracts;

use crate::meter::Exposition;

pub use delays::{Delays, DelaysView};
pub use view::GatewayView;

pub trait Annex: Send + Sync {
    /// Whether it can enforce these contracts; on error, those in force stay.
    fn check(&self, contracts: &Contracts) -> Result<(), String>;

    /// Reads certificates and the like again. On error nothing changes.
    fn reload(&self) -> Result<(), String>;

    /// A file of its own that is read again when it changes, if it has one.
    fn watched(&self) -> Option<&Path> {
        None
    }

    /// That file has changed. If it cannot be used, nothing changes.
    fn changed(&self) -> Result<(), String> {
        Ok(())
    }

    fn render(&self, text: &mut Exposition);

    fn view(&self) -> GatewayView;
}
