//! A door that is not one of the server's own, as that of a gateway.
//!
//! It asks the engine as the others do. The server shows what it counts, and takes no contracts that it cannot keep. Not here: any
//! such door. Whoever puts a server together sets one up, as it knows the server and not the other way round.

use tollgate_contract::Contracts;

/// A door beside those of the server.
pub trait Annex: Send + Sync {
    /// Whether it can keep these contracts; if not, why, and then those in force stay.
    fn check(&self, contracts: &Contracts) -> Result<(), String>;

    /// Reads certificates and the like again. What cannot be used changes nothing, and the text says why.
    fn reload(&self) -> Result<(), String>;

    /// What it counts, as Prometheus reads it.
    fn render(&self, out: &mut String);
}
