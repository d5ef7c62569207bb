//! What every engine that decides for Tollgate must pass in full.
//!
//! An engine's test file is a few lines: it starts the engine and calls [`all`]. Each part is a function of its own as
//! well. Whatever is random comes from the seed of the [`SuitePlan`], and an [`EngineFault`] names part, seed and step,
//! so that it can be run again. Judges are `tollgate-oracle`, which shares no code with the product, and answers worked
//! out by hand.
//!
//! Deliberately absent: engines, how they are started, and their failures.

#![allow(missing_docs, reason = "internal: comments say why, not what")]
#![allow(
    clippy::expect_used,
    reason = "only tests use this crate, and a broken set-up must stop them"
)]

mod batches;
mod changes;
mod compare;
mod crowd;
mod examples;
mod extremes;
mod fault;
mod fresh;
mod kit;
mod ledgers;
mod plan;
mod staged;
mod trace;

use std::sync::Arc;

use tollgate_store::Engine;

pub use batches::batches;
pub use changes::changes;
pub use crowd::crowd;
pub use examples::examples;
pub use extremes::extremes;
pub use fault::EngineFault;
pub use fresh::fresh;
pub use ledgers::ledgers;
pub use plan::SuitePlan;
pub use staged::staged;
pub use trace::{algorithms, contracts};

/// Runs all parts in order; ends at the first failure.
pub async fn all(engine: &Arc<impl Engine>, plan: &SuitePlan) -> Result<(), EngineFault> {
    examples(engine, plan).await?;
    algorithms(engine, plan).await?;
    contracts(engine, plan).await?;
    staged(engine, plan).await?;
    changes(engine, plan).await?;
    fresh(engine, plan).await?;
    extremes(engine, plan).await?;
    batches(engine, plan).await?;
    crowd(&[Arc::clone(engine)], plan).await
}
