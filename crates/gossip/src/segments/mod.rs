//! Busy-period segments with silent shares.

use crate::replica::Design;
use crate::setup::Setup;

/// A node's part.
pub(crate) fn build(setup: Setup) -> Box<dyn Design> {
    Box::new(crate::alone::Alone::new(setup.bucket))
}
